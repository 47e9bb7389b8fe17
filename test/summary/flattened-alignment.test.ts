// Properties of the alignment over generated conversations, written in every style that agents were seen to use.

import fc from 'fast-check'
import t from 'tap'
import { flattenedCoverage } from '../../src/summary/flattened.ts'
import { hasOpenGroup } from '../../src/summary/tool-groups.ts'
import { readRequest } from '../helpers/chat-requests.ts'
import type { Message } from '../helpers/conversation.ts'
import { holds } from '../helpers/property.ts'
import { flattenings, groupEnds, introduction, turns, uniqueWords, type Flattening } from '../helpers/transcripts.ts'

const system: Message = { role: 'system', content: 'You work in a shared folder.' }
const instruction = 'Write down what happened above, so that another can go on. Keep names and numbers.'

/** A summary request that holds so many of the messages as one text. */
function flattened(flattening: Flattening, messages: readonly Message[], around: { before?: string, after?: string } = {}): object {
  const parts = [around.before ?? 'Here is what was said:\n\n<conversation>\n', ...flattening.parts(messages), around.after ?? `\n</conversation>\n\n${instruction}`]
  const content = parts.length > 3 ? parts.map((text) => ({ type: 'text', text })) : parts.join('')
  return { messages: [{ role: 'system', content: 'You condense talks.' }, { role: 'user', content }] }
}

/** Messages of the conversation that the head keeps, and what the directive says. */
function covered(messages: readonly Message[], request: object): { turns: number, directive: string } {
  const evidence = readRequest({ messages: [system, ...messages] })
  const coverage = flattenedCoverage(evidence, readRequest(request))
  if (!coverage.covered) return { turns: 0, directive: JSON.stringify(request) }
  if (hasOpenGroup(evidence.chat.messages.slice(0, coverage.headLength)) || evidence.chat.messages[coverage.headLength]?.role === 'tool') throw new Error('the head ends inside a tool group')
  return { turns: coverage.headLength - 1, directive: coverage.text! }
}

function lost(request: object, messages: readonly Message[], { turns, directive }: { turns: number, directive: string }): string[] {
  const there = JSON.stringify(messages.slice(0, turns)) + directive
  return uniqueWords(JSON.stringify(request)).filter((word) => !there.includes(word))
}

for (const [name, flattening] of Object.entries(flattenings)) {
  const talks = flattening.ownLabels ? turns.map((messages) => [...introduction, ...messages]) : turns
  /** With a length at which no tool group is cut. */
  const cutConversation = fc.tuple(talks, fc.nat()).map(([messages, at]) => {
    const ends = groupEnds(messages)
    return { messages, length: ends[at % ends.length]! }
  })

  t.test(`${name}: the head is what the transcript holds, no text is lost, no tail is claimed`, async (t) => {
    holds(t, fc.property(cutConversation, ({ messages, length }) => {
      const request = flattened(flattening, messages.slice(0, length))
      const found = covered(messages, request)
      if (found.turns > length) throw new Error(`claims ${found.turns} messages of ${length}`)
      const missing = lost(request, messages, found)
      if (missing.length > 0) throw new Error(`lost ${missing}`)
    }))
  })

  t.test(`${name}: a transcript that holds the beginning is found whole`, async (t) => {
    let whole = 0
    let all = 0
    fc.assert(fc.property(cutConversation, ({ messages, length }) => {
      // Blank outputs at the end are proven only where the request ends with them.
      const around = flattening.results === 'blank' ? { before: `${instruction}\n\nConversation:\n`, after: '\n' } : {}
      const found = covered(messages, flattened(flattening, messages.slice(0, length), around))
      // One message alone proves no beginning, and labels of its own must have come again.
      if (length < (flattening.ownLabels ? introduction.length : 2)) return
      all++
      if (found.turns === length) whole++
    }), { numRuns: 100 })
    t.ok(whole >= all * 0.95, `${whole} of ${all}`)
  })

  t.test(`${name}: a message that the transcript skips ends the head before it`, async (t) => {
    holds(t, fc.property(talks, fc.nat(), fc.nat(), (messages, at, size) => {
      const ends = [0, ...groupEnds(messages)]
      const from = at % (ends.length - 1)
      const to = Math.min(ends.length - 1, from + 1 + size % 3)
      const request = flattened(flattening, [...messages.slice(0, ends[from]), ...messages.slice(ends[to])])
      const found = covered(messages, request)
      if (found.turns > ends[from]!) throw new Error(`claims ${found.turns}, skipped from ${ends[from]} to ${ends[to]}`)
      const missing = lost(request, messages, found)
      if (missing.length > 0) throw new Error(`lost ${missing}`)
    }))
  })

  t.test(`${name}: what only the transcript says stays in the directive`, async (t) => {
    holds(t, fc.property(talks, fc.array(fc.nat(), { maxLength: 3 }), (messages, places) => {
      const noted = places.reduce<Message[]>((list, place, i) => {
        const ends = [0, ...groupEnds(list)]
        return list.toSpliced(ends[place % ends.length]!, 0, { role: 'assistant', content: `unote${i}x1 stands in the transcript alone, unote${i}x2.` })
      }, [...messages])
      const request = flattened(flattening, noted)
      const missing = lost(request, messages, covered(messages, request))
      if (missing.length > 0) throw new Error(`lost ${missing}`)
    }), 100)
  })
}

/** A request that tells messages in another way: calls as text, results of another role. */
function retold(messages: readonly Message[]): object {
  const told = messages.map(({ role, content, tool_calls: calls = [] }) => ({
    role: role === 'tool' ? 'user' : role,
    content: [content, ...calls.map(({ id, function: { name, arguments: args } }) => `@${name}(${id}): ${args}`)].filter((text) => text).join('\n'),
  }))
  return { messages: [{ role: 'system', content: 'You condense talks.' }, ...told, { role: 'user', content: instruction }] }
}

t.test('messages told in another way: the head is what they tell, no text is lost, none that is skipped is claimed', async (t) => {
  let claimed = 0
  holds(t, fc.property(turns, fc.nat(), fc.nat(), (messages, at, size) => {
    const ends = [0, ...groupEnds(messages)]
    const from = at % (ends.length - 1)
    const to = Math.min(ends.length - 1, from + size % 3)
    const request = retold([...messages.slice(0, ends[from]), ...messages.slice(ends[to])])
    const found = covered(messages, request)
    claimed += found.turns
    if (to > from && found.turns > ends[from]!) throw new Error(`claims ${found.turns}, skipped from ${ends[from]} to ${ends[to]}`)
    const missing = lost(request, messages, found)
    if (missing.length > 0) throw new Error(`lost ${missing}`)
  }))
  t.ok(claimed > 500, `${claimed} messages`)
})
