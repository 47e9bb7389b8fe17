// What is inserted into a transcript, appended to its messages or put in the place of a result is not lost, however
// short it is and however much it looks like a label.

import fc from 'fast-check'
import t, { type Test } from 'tap'
import { flattenedCoverage } from '../../src/summary/flattened.ts'
import { readRequest } from '../helpers/chat-requests.ts'
import type { Message } from '../helpers/conversation.ts'
import { holds } from '../helpers/property.ts'
import { flattenings, groupEnds, introduction, turns, type Flattening } from '../helpers/transcripts.ts'

const system: Message = { role: 'system', content: 'You work in a shared folder.' }

/** What a transcript tells: the messages that were recorded, changed. */
interface Telling {
  readonly flattening: Flattening
  readonly recorded: readonly Message[]
  readonly told: readonly Message[]
  readonly note: string
}

function occurrences(note: string, flattening: Flattening, messages: readonly Message[]): number {
  return flattening.parts(messages).join('\n\n').split(note).length - 1
}

/** How many messages the head keeps, and how often the note stands neither in the head nor in the directive. */
function lost({ flattening, recorded, told, note }: Telling): { turns: number, missing: number } {
  const parts = ['Here is what was said:\n\n', ...flattening.parts(told), '\n\nWrite all of it down.']
  const content = parts.length > 3 ? parts.map((text) => ({ type: 'text', text })) : parts.join('')
  const coverage = flattenedCoverage(
    readRequest({ messages: [system, ...recorded] }),
    readRequest({ messages: [{ role: 'system', content: 'You condense talks.' }, { role: 'user', content }] }))
  if (!coverage.covered) return { turns: 0, missing: 0 }
  const turns = coverage.headLength - 1
  const kept = coverage.text!.split(note).length - 1 + occurrences(note, flattening, recorded.slice(0, turns))
  return { turns, missing: occurrences(note, flattening, told) - kept }
}

function holdsWhatIsTold(t: Test, tellings: fc.Arbitrary<Telling>, runs: number): void {
  let claimed = 0
  holds(t, fc.property(tellings, (telling) => {
    const { turns, missing } = lost(telling)
    claimed += turns
    if (missing > 0) throw new Error(`lost ${missing} of ${telling.note}`)
  }), runs)
  t.ok(claimed > runs, `${claimed} messages in heads`)
}

const inserted = (messages: readonly Message[], at: number, role: Message['role'], note: string): Message[] => {
  const ends = groupEnds(messages)
  return messages.toSpliced(ends[at % ends.length]!, 0, { role, content: note })
}

/** A note of its own line at the end of a message that says something. */
function appended(messages: readonly Message[], at: number, note: string): Message[] {
  const saying = messages.flatMap(({ content }, i) => (content ? [i] : []))
  const place = saying[at % saying.length]!
  return messages.with(place, { ...messages[place]!, content: `${messages[place]!.content}\n${note}` })
}

function withResult(messages: readonly Message[], at: number, note: string): Message[] {
  const results = messages.flatMap(({ role }, i) => (role === 'tool' ? [i] : []))
  const place = results[at % results.length]
  return place === undefined ? [...messages] : messages.with(place, { ...messages[place]!, content: note })
}

/** None that is also the name of a call or a word of its arguments: such words are counted where the calls stand. */
const notes = [
  '👍', '✅ ✅', '???', '!', '42', '-1', '+1', '$5', '漢', 'No.', 'yes', 'ok?', 'Keep it.',
  'error', 'result: false', 'the output is 7',
]
/** Shaped like labels, so that they are told from one only where a whole message of them is told. */
const shaped = ['tool', 'user', 'id 7', '3 lines', 'line 12', 'success', '(success)', '**success**', '"success"', '...', '?']

for (const [name, flattening] of Object.entries(flattenings)) {
  const talks = flattening.ownLabels ? turns.map((messages) => [...introduction, ...messages]) : turns
  const telling = (change: (messages: readonly Message[], at: number, note: string) => Message[], choice: readonly string[]): fc.Arbitrary<Telling> =>
    fc.tuple(talks, fc.nat(), fc.constantFrom(...choice)).map(([recorded, at, note]) => ({ flattening, recorded, told: change(recorded, at, note), note }))

  t.test(`${name}: a message that was not recorded is kept`, async (t) => {
    holdsWhatIsTold(t, telling((messages, at, note) => inserted(messages, at >> 1, at % 2 === 0 ? 'user' : 'assistant', note), [...notes, ...shaped]), 150)
  })

  t.test(`${name}: what a recorded message says more is kept`, async (t) => {
    holdsWhatIsTold(t, telling(appended, notes), 150)
  })

  if (flattening.results === 'blank') continue
  t.test(`${name}: what stands in the place of a result is kept`, async (t) => {
    holdsWhatIsTold(t, telling(withResult, [...notes, ...shaped]), 150)
  })
}

const call = (number: number): Message[] => [
  { role: 'assistant', content: `Step ${number}: I look at what the cache does.`, tool_calls: [{ id: `call_${number}`, type: 'function', function: { name: 'read_file', arguments: JSON.stringify({ path: `src/cache/blocks-${number}.ts` }) } }] },
  { role: 'tool', tool_call_id: `call_${number}`, content: `Blocks ${number} are read before they are written, which takes ${number * 17} ms at every start.` },
]
const talk: readonly Message[] = [{ role: 'user', content: 'Please look into the cache: it drops every record.' }, ...call(1), ...call(2), ...call(3), { role: 'assistant', content: 'It is repaired. All tests pass.' }]

for (const name of ['JSON', 'brackets, pretty JSON']) {
  const flattening = flattenings[name]!
  for (const note of ['success', '3 lines', '👍']) {
    t.test(`${name}: the head ends in front of a result that says ${note} in the place of the recorded one`, async (t) => {
      const told = talk.with(6, { ...talk[6]!, content: note })
      const found = lost({ flattening, recorded: talk, told, note })
      t.equal(found.missing, 0)
      t.ok(found.turns <= 5, `${found.turns} turns`)
    })
  }
}
