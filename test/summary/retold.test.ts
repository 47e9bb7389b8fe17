// A request that writes the conversation's messages in another way is told as one text, if all of it can be told.

import t from 'tap'
import { flattenedCoverage } from '../../src/summary/flattened.ts'
import { readRequest } from '../helpers/chat-requests.ts'

const words = 'the session store drops the oldest entry before it is flushed, unless a lock is held by the writer'
const turns = [1, 2, 3, 4].flatMap((n) => [
  { role: 'user', content: `Part ${n}: say why ${words}.` },
  { role: 'assistant', content: `Answer ${n}: since ${words}, number ${n} is gone.` },
])
const evidence = readRequest({ model: 'm', messages: [{ role: 'system', content: 'You help.' }, ...turns] })
const asking = { role: 'user', content: 'Summarize the conversation above.' }

/** The same messages, each text as parts: written in another way. */
const rewritten: Record<string, unknown>[] = turns.map(({ role, content }) => ({ role, content: [{ type: 'text', text: content }] }))

const coverageOf = (messages: readonly object[]) => flattenedCoverage(evidence, readRequest({ model: 'm', messages: [...messages, asking] }))

t.test('messages with parts for strings are covered', async (t) => {
  t.match(coverageOf(rewritten), { covered: true, isRetold: true })
})

const more: Record<string, object> = {
  'a speaker’s name': { name: 'ann' },
  'a refusal': { refusal: 'That I will not say.' },
  'a call of the old form': { function_call: { name: 'look', arguments: '{}' } },
  'a call of free text': { tool_calls: [{ id: 'c1', type: 'custom', custom: { name: 'write', input: 'a secret of its own' } }] },
}

for (const [what, members] of Object.entries(more)) {
  t.test(`${what} cannot be told, so nothing is covered`, async (t) => {
    t.strictSame(coverageOf(rewritten.with(1, { ...rewritten[1], ...members })), { covered: false, reason: 'coverage_unproven' })
  })
}

t.test('a member that is null says nothing', async (t) => {
  t.match(coverageOf(rewritten.with(1, { ...rewritten[1], refusal: null, function_call: null })), { covered: true })
})
