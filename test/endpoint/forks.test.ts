// The property of every endpoint's forks: what is sent reads as what is proven, and holds the conversation's own bytes.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { asFollowing } from '../../src/fork/build.ts'
import type { ForkParts } from '../../src/fork/parts.ts'
import { withBridge } from '../../src/fork/plan.ts'
import { readsAsPlanned } from '../../src/fork/read-back.ts'
import { optionsAgainstFork } from '../../src/fork/options.ts'
import { structuredCoverage } from '../../src/summary/coverage.ts'
import { directive } from '../../src/summary/directive.ts'
import { hasOpenGroup } from '../../src/summary/tool-groups.ts'
import { conversation, type Message } from '../helpers/conversation.ts'
import { overEndpoints } from '../helpers/endpoints/all.ts'
import type { ChatBody } from '../helpers/endpoints/spoken.ts'
import { holds } from '../helpers/property.ts'

const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }).map((text) => `t${text}`)

/** A conversation, and a request that asks for a summary of it or of a part, and brings more. */
const sessions = fc.record({
  seed: fc.stringMatching(/^[0-9a-f]{4}$/),
  groups: fc.integer({ min: 1, max: 4 }),
  callsPerGroup: fc.integer({ min: 1, max: 3 }),
  reasoning: fc.constantFrom(undefined, 'reasoning' as const),
  finished: fc.boolean(),
  /** How many of the turns the summary holds; the others it leaves out. */
  held: fc.integer({ min: 1, max: 20 }),
  /** A turn that it holds otherwise. */
  changed: fc.option(fc.integer({ min: 0, max: 12 })),
  more: fc.array(text, { maxLength: 3 }),
  instruction: text,
  foreign: fc.boolean(),
  tools: fc.constantFrom('same' as const, 'none' as const),
  answer: fc.record({ max_tokens: fc.constantFrom(undefined, 100), temperature: fc.constantFrom(undefined, 0.5), stream: fc.boolean() }),
  space: fc.constantFrom(undefined, 1, '\t'),
  maxTokens: fc.constantFrom(null, 77),
  toolChoiceNone: fc.boolean(),
})

type Session = typeof sessions extends fc.Arbitrary<infer S> ? S : never

function bodies({ seed, groups, callsPerGroup, reasoning, finished, held, changed, more, instruction, foreign, tools, answer }: Session): { main: ChatBody, summary: ChatBody } {
  const made = conversation({ seed, groups, callsPerGroup, outputTokens: 30, finished, ...(reasoning ? { reasoning } : {}) })
  const [system, ...turns] = made.messages
  const kept = turns.slice(0, held).map((message, i) => (i === changed && message.role !== 'assistant' ? { ...message, content: 'It was pruned.' } : message))
  const own: Message[] = foreign ? [{ role: 'system', content: 'You write summaries.' }] : [system!]
  const further = more.map((content, i): Message => ({ role: i % 2 === 0 ? 'assistant' : 'user', content }))
  return {
    main: { model: 'm', messages: made.messages, tools: made.tools },
    summary: { model: 'm', messages: [...own, ...kept, ...further, { role: 'user', content: instruction }], ...(tools === 'same' ? { tools: made.tools } : {}), ...answer },
  }
}

overEndpoints(t, async (t, { endpoint, write }) => {
  t.test('a fork reads as it was planned, holds the bytes of the conversation, and is the same every time', async (t) => {
    let covered = 0
    holds(t, fc.property(sessions, (session) => {
      const { main, summary } = bodies(session)
      const read = (body: ChatBody) => endpoint.read(Buffer.from(JSON.stringify(write(body), null, session.space)))!
      const [evidence, asked] = [read(main), read(summary)]
      assert.equal(optionsAgainstFork(evidence, asked), null)
      const coverage = structuredCoverage(evidence, asked, true)
      if (!coverage.covered) return
      covered++
      const parts: ForkParts = {
        evidence, summary: asked, headLength: coverage.headLength, following: asFollowing(asked, coverage.following),
        directive: directive(asked.chat.body, coverage.foreignFront, coverage.instruction)!,
      }
      assert.ok(!hasOpenGroup(evidence.chat.messages.slice(0, parts.headLength)), 'the head ends at a complete tool group')
      assert.ok(readsAsPlanned(parts))
      const bridged = withBridge(parts)
      assert.ok(bridged === null || readsAsPlanned(bridged))
      const { toolChoiceNone, maxTokens } = session
      const body = endpoint.forkBody(parts, { toolChoiceNone, maxTokens })
      assert.ok(body.equals(endpoint.forkBody(parts, { toolChoiceNone, maxTokens })), 'the same bytes every time')
      JSON.parse(body.toString('utf8'))
      const end = evidence.itemsEnd[parts.headLength - 1]!
      assert.ok(body.includes(evidence.body.subarray(evidence.items[0]!.start, evidence.items[end - 1]!.end)), "the head is the conversation's own bytes")
      const sent = endpoint.read(body)!
      const limit = sent.chat.members.find(({ key }) => key === 'max_tokens' || key === 'max_completion_tokens')?.value
      if (maxTokens !== null) assert.equal(limit && sent.chat.body.toString('utf8', limit.start, limit.end), String(maxTokens))
    }), 300)
    t.ok(covered > 150, `${covered} were covered`)
  })
})
