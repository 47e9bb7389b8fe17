import assert from 'node:assert/strict'
import t from 'tap'
import { chat } from '../../src/endpoint/chat.ts'
import { readTail } from '../../src/endpoint/tail.ts'

function delta(content: string, finish: string | null = null): object {
  return { choices: [{ index: 0, delta: { content }, finish_reason: finish }] }
}

function stream(...events: unknown[]): Buffer {
  return Buffer.from(events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join(''))
}

t.test('a finish without an end mark, and an end mark without a finish, are told apart [case 5]', async (t) => {
  t.match(readTail(chat.reply, stream(delta('a', 'stop')), true), { finish: 'stop', done: false })
  t.match(readTail(chat.reply, stream(delta('a'), '[DONE]'), true), { finish: null, done: true })
  t.match(readTail(chat.reply, stream({ choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: '{"a' } }] } }] }), true), { finish: null, done: false, toolCalls: true })
  t.match(readTail(chat.reply, stream(delta('data: [DONE]\n\n')), true), { finish: null, done: false })
})

t.test('the end is read alike from any tail that holds the last events [case 1]', async (t) => {
  const end = stream(delta('', 'tool_calls'), { choices: [], usage: { prompt_tokens: 5, completion_tokens: 1 } }, '[DONE]')
  const whole = Buffer.concat([stream(delta('漢é'), { choices: [{ delta: { content: 'x'.repeat(300) } }] }), Buffer.from(': ping\r\n\r\n'), end])
  const wanted = readTail(chat.reply, whole, true)
  t.match(wanted, { finish: 'tool_calls', done: true, usage: { promptTokens: 5 } })
  // The first event of a tail is taken for cut, so it must begin before the one that matters.
  for (let from = 1; from < whole.length - end.length; from++) {
    const { finish, done, usage, error, severalChoices } = readTail(chat.reply, whole.subarray(from), false)
    assert.deepEqual({ finish, done, usage, error, severalChoices }, { finish: 'tool_calls', done: true, usage: wanted.usage, error: false, severalChoices: false }, `from ${from}`)
  }
})

t.test('half an event at the front of a tail is never taken for a whole one', async (t) => {
  // Cut here, the rest of the line reads as an event of its own.
  const tail = Buffer.from('data: {"choices":[{"index":0,"finish_reason":"stop"}]}\n\ndata: {"choices":[]}\n\n')
  t.equal(readTail(chat.reply, tail, false).finish, null)
  t.equal(readTail(chat.reply, tail, true).finish, 'stop')
})

t.test('an error far in front of the finish, and a finish in a long event, are found too', async (t) => {
  const long = 'x'.repeat(20_000)
  const failed = stream({ error: { message: 'no' } }, delta(long), delta('', 'stop'), '[DONE]')
  t.match(readTail(chat.reply, failed, true), { error: true, finish: 'stop' })
  const many = Array.from({ length: 300 }, () => delta('some words'))
  t.match(readTail(chat.reply, stream(...many, delta(long, 'stop'), '[DONE]'), true), { finish: 'stop', done: true })
  t.match(readTail(chat.reply, stream(...many, delta('', 'stop'), { choices: [], usage: { prompt_tokens: 7 } }, '[DONE]'), true), { finish: 'stop', done: true, usage: { promptTokens: 7 } })
})
