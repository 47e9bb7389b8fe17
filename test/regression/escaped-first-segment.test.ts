import t from 'tap'
import { flattenedCoverage } from '../../src/summary/flattened.ts'
import { readRequest } from '../helpers/chat-requests.ts'

t.test('a first segment whose end is escaped is no earlier summary: the message that the transcript skips is not claimed', async (t) => {
  const long = `${'The build was mended step by step, and each step was noted here. '.repeat(4)}Use <b> and {"k": 1} as before, then go on.`
  const messages = [
    { role: 'user', content: 'A question that the transcript leaves out, with words of its own.' },
    { role: 'assistant', content: long },
    { role: 'user', content: 'Second question, kept.' },
    { role: 'assistant', content: 'Second answer, kept.' },
  ]
  const escaped = long.replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  const text = `Sum it up.\n<message type="ai">\n  <content>${escaped}</content>\n</message>\n` +
    '<message type="human">Second question, kept.</message>\n<message type="ai">\n  <content>Second answer, kept.</content>\n</message>'
  const coverage = flattenedCoverage(
    readRequest({ messages: [{ role: 'system', content: 'You work.' }, ...messages] }),
    readRequest({ messages: [{ role: 'system', content: 'You condense.' }, { role: 'user', content: text }] }))
  t.equal(coverage.covered, false)
})
