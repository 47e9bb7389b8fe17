// Results that are JSON, in a transcript that prints what Python read them into.

import t from 'tap'
import { flattenedCoverage } from '../../src/summary/flattened.ts'
import { readRequest } from '../helpers/chat-requests.ts'
import type { Message } from '../helpers/conversation.ts'

const note = (number: number): string => `# Note ${number}\n${Array.from({ length: 8 }, (_, i) => `Depot ${number}-${i}: the "old" part's crate, shelf ${number * 31 + i}.`).join('\n')}`
const said = (number: number): string => `Note ${number} of the list comes next, its figures are still missing.`

const messages: Message[] = [
  { role: 'system', content: 'You help with notes.' },
  { role: 'user', content: 'Read the notes in this folder one after another.' },
  ...[1, 2].flatMap((number): Message[] => [
    { role: 'assistant', content: said(number), tool_calls: [{ id: `call_${number}`, type: 'function', function: { name: 'read_note', arguments: `{"path":"note-${number}.md"}` } }] },
    { role: 'tool', tool_call_id: `call_${number}`, content: JSON.stringify({ result: note(number) }) },
  ]),
]

const repr = (text: string): string => `'${text.replaceAll('\n', '\\n').replaceAll("'", "\\'")}'`
const transcript = (result: (number: number) => string): string => [1, 2].map((number) =>
  `notes: ${said(number)}\nnotes called tool: read_note({'path': 'note-${number}.md'})\nTool response from read_note: ${result(number)}`).join('\n')

function covered(results: (number: number) => string) {
  const content = `Please summarize the conversation so far.\n\nuser: ${messages[1]!.content}\n${transcript(results)}`
  const coverage = flattenedCoverage(readRequest({ messages }), readRequest({ messages: [{ role: 'user', content }] }))
  return coverage.covered ? coverage : null
}

t.test('a JSON result printed as a Python object is covered', async t => {
  const coverage = covered((number) => `{'result': ${repr(note(number))}}`)
  t.equal(coverage?.headLength, messages.length)
  t.notMatch(coverage?.text, /Depot/, 'no result stands in the directive')
})

t.test('a JSON result printed so and cut is covered', async t => {
  const coverage = covered((number) => `{'result': ${repr(note(number)).slice(0, 200)}... [truncated 230 chars]`)
  t.equal(coverage?.headLength, messages.length)
  t.notMatch(coverage?.text, /Depot/)
})

t.test('another result is not', async t => {
  t.equal(covered((number) => `{'result': ${repr(note(number + 5))}}`)?.headLength, undefined)
})
