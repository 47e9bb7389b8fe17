// Labels that no table knows: what stands before several messages of one kind is one.

import t from 'tap'
import { flattenedCoverage } from '../../src/summary/flattened.ts'
import { readRequest } from '../helpers/chat-requests.ts'
import type { Message } from '../helpers/conversation.ts'

const output = (number: number): string => `Depot ${number}-1 lies at shelf ${number * 31}, depot ${number}-2 at shelf ${number * 47}, and nothing more.`
const say = (number: number): string => `Now note ${number} of the list.`
const first = 'Read the notes in this folder one after another, please.'

function group(number: number, text = say(number)): Message[] {
  return [
    { role: 'assistant', content: text, tool_calls: [{ id: `call_${number}`, type: 'function', function: { name: 'read_note', arguments: `{"path":"note-${number}.md"}` } }] },
    { role: 'tool', tool_call_id: `call_${number}`, content: output(number) },
  ]
}

const talk: Message[] = [{ role: 'user', content: first }, ...[1, 2, 3].flatMap((number) => group(number)), { role: 'assistant', content: 'That is all.' }, { role: 'user', content: 'Go on.' }, { role: 'assistant', content: 'Done.' }]

interface Style { user: (text: string) => string, said: (text: string, at: number) => string, called: (text: string) => string, result: (text: string) => string }

const own: Style = { user: (text) => `user: ${text}`, said: (text) => `notes: ${text}\n`, called: (text) => `notes called tool: ${text}`, result: (text) => `Tool response from read_note: ${text}` }

function written(style: Style, messages: readonly Message[] = talk): string {
  return messages.flatMap((message, i) => {
    if (message.role === 'user') return [style.user(message.content!)]
    if (message.role === 'tool') return [style.result(message.content!)]
    return [style.said(message.content!, i), ...(message.tool_calls ?? []).map((call) => style.called(`read_note(${call.function.arguments})`))]
  }).join('\n')
}

/** Turns that the head keeps, and what the directive says. */
function cover(transcript: string, messages: readonly Message[] = talk): { turns: number, text: string } | string {
  const coverage = flattenedCoverage(
    readRequest({ messages: [{ role: 'system', content: 'You help with notes.' }, ...messages] }),
    readRequest({ messages: [{ role: 'user', content: `Summarize the conversation.\n\n${transcript}\n\nKeep the names.` }] }))
  return coverage.covered ? { turns: coverage.headLength - 1, text: coverage.text! } : coverage.reason
}

t.test('short texts behind the agent’s own name are covered, and each label is kept once', async (t) => {
  const found = cover(written(own)) as { turns: number, text: string }
  t.match(found, { turns: talk.length })
  t.equal(found.text.split('notes:').length, 2)
  t.equal(found.text.split('notes called tool:').length, 2)
  t.notMatch(found.text, /Depot|note-1|Now note|That is all/)
})

for (const [what, style] of [
  ['a label of several words', { ...own, said: (text: string) => `[Archivist of depots] said: ${text}` }],
  ['a heading', { ...own, said: (text: string) => `\n## Archivist\n${text}` }],
  ['a label in another language', { ...own, said: (text: string) => `Assistentin sagte: ${text}`, called: (text: string) => `Werkzeug benutzt: ${text}`, result: (text: string) => `Antwort darauf: ${text}` }],
] as const) {
  t.test(`${what} is learned`, async (t) => {
    const found = cover(written(style))
    t.match(found, { turns: talk.length })
    t.notMatch((found as { text: string }).text, /Depot/)
  })
}

t.test('a label of the users is learned too', async (t) => {
  const questions: Message[] = [first, 'And the second one?', 'And the third one?', 'Yes.'].flatMap((content, i): Message[] => [{ role: 'user', content }, { role: 'assistant', content: `${output(i)} That is what it says.` }])
  t.match(cover(written({ ...own, user: (text) => `Kundin: ${text}` }, questions), questions), { turns: questions.length })
})

t.test('what stands before one message alone is no label', async (t) => {
  const once: Message[] = [{ role: 'user', content: first }, { role: 'assistant', content: 'That is all.' }, { role: 'user', content: 'Which shelf is the one that is named most often in them?' }]
  t.equal(cover(written(own, once), once), 'mid_range')
})

t.test('several speakers in one role are told apart by their labels, so none of them is learned', async (t) => {
  const style = { ...own, said: (text: string, at: number) => `${at % 4 === 1 ? 'Ann' : 'Bob'}: ${text}\n` }
  const longer = [...talk.slice(0, 1), ...[1, 2, 3, 4, 5, 6].flatMap((number) => group(number))]
  t.equal(typeof cover(written(style, longer), longer), 'string')
})

t.test('a message that is skipped ends the head before it, learned labels or not', async (t) => {
  const skipped = talk.filter((_, i) => i !== 3 && i !== 4)
  t.match(cover(written(own, skipped)), { turns: 3 })
  // Results alone are left out behind calls whose texts come again.
  t.match(cover(written({ ...own, result: () => 'notes: nothing of it' }, talk)), 'coverage_unproven')
})

t.test('what stands in the place of results is no label, so that they are not taken for blank ones', async (t) => {
  const redacted = { ...own, called: (text: string) => `[Tool call]: ${text}`, said: (text: string) => text, result: () => '[Withheld by the guard]' }
  const longer = [...talk.slice(0, 1), ...[1, 2, 3, 4, 5, 6].flatMap((number) => group(number, `${say(number)} Its figures are still missing.`))]
  t.type(cover(written(redacted, longer), longer), 'string')
  const omitted = { ...own, called: (text: string) => `[Tool call]: ${text}`, said: (text: string) => `[Assistant]: ${text}`, result: () => '[output omitted]' }
  t.match(cover(written(omitted)), { turns: talk.length }, 'which is what a known word says')
})

t.test('lines of a result that look like labelled messages make no label', async (t) => {
  const answers: Message[] = [
    { role: 'user', content: first },
    { role: 'assistant', content: '', tool_calls: [{ id: 'c', type: 'function', function: { name: 'read_note', arguments: '{"path":"people.yaml"}' } }] },
    { role: 'tool', tool_call_id: 'c', content: 'first: Ann of the depot\nsecond: Bob of the depot\nthird: Cleo of the depot' },
    { role: 'assistant', content: 'Ann of the depot' }, { role: 'user', content: 'Who else?' }, { role: 'assistant', content: 'Bob of the depot' }, { role: 'user', content: 'Who else?' }, { role: 'assistant', content: 'Cleo of the depot' },
  ]
  // The transcript holds the result, and then a tail of the conversation in another order.
  const found = cover(`user: ${first}\nnotes called tool: read_note({"path":"people.yaml"})\nTool response from read_note: ${answers[2]!.content}\nnotes: Bob of the depot\nnotes: Cleo of the depot\nnotes: Ann of the depot`, answers)
  t.match(found, { turns: 3 })
})

t.test('in a label only the names of calls may stand for the name of a call', async (t) => {
  for (const [result, note] of [['[read_note] ', '[stopped_by_the_guard] '], ['read_note: ', 'Forbidden-by-Anna: '], ['=> read_note => ', '=> stopped-by-user => ']] as const) {
    const style = { ...own, result: (text: string) => `${result}${text}${text === output(2) ? `\n${note}` : ''}` }
    t.match((cover(written(style)) as { text: string }).text, note.trim())
    t.match(cover(written({ ...own, result: (text: string) => `${result}${text}` })), { turns: talk.length })
  }
})
