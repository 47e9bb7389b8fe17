import fc from 'fast-check'
import t from 'tap'
import { addEvent, addReply } from '../../src/wire/chat-reply.ts'
import { emptyReply, type ReplyState } from '../../src/wire/reply.ts'
import { SseSplitter } from '../../src/wire/sse.ts'
import { holds } from '../helpers/property.ts'

function read(...chunks: unknown[]): ReplyState {
  const state = emptyReply()
  for (const chunk of chunks) addReply(state, Buffer.from(typeof chunk === 'string' ? chunk : JSON.stringify(chunk)))
  return state
}

function delta(content: string, finish: string | null = null): object {
  return { choices: [{ index: 0, delta: { content }, finish_reason: finish }] }
}

t.test('the parts of a stream add up to what was said', async (t) => {
  const reply = read(delta('a'), { choices: [{ delta: { reasoning: 'hm' } }] }, delta('b', 'stop'))
  t.match(reply, { content: 'ab', thinking: 'hm', finish: 'stop', error: false, severalChoices: false, toolCalls: false, usage: null })
})

t.test('thinking under two names at once counts once', async (t) => {
  t.equal(read({ choices: [{ delta: { reasoning: 'hm', reasoning_content: 'hm' } }] }).thinking, 'hm')
  t.equal(read({ choices: [{ message: { reasoning: null, reasoning_content: 'hm' } }] }).thinking, 'hm')
})

t.test('usage beside no choice, with the finish, on every chunk or null: the last one that is not null counts [case 11]', async (t) => {
  const usage = (prompt: number, cached?: number): object => ({ prompt_tokens: prompt, completion_tokens: 2, ...(cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: cached } }) })
  const apart = read(delta('a', 'stop'), { choices: [], usage: usage(10, 8) })
  const merged = read({ ...delta('a', 'stop'), usage: usage(10, 8) })
  const always = read({ ...delta('a'), usage: usage(9) }, { ...delta('', 'stop'), usage: usage(10, 8) })
  const nulls = read({ ...delta('a'), usage: null }, { choices: [], usage: usage(10, 8) }, { choices: [], usage: null })
  for (const reply of [apart, merged, always, nulls]) t.strictSame(reply.usage, { promptTokens: 10, completionTokens: 2, cachedTokens: 8 })
  t.equal(read(delta('a', 'stop')).usage, null)
})

t.test('cached tokens that are absent or impossible are null, and 0 is 0 [case 11]', async (t) => {
  const cached = (details: unknown, prompt: unknown = 10): unknown => read({ choices: [], usage: { prompt_tokens: prompt, prompt_tokens_details: details } }).usage!.cachedTokens
  t.equal(cached({ cached_tokens: 0 }), 0)
  t.equal(cached({ cached_tokens: 10 }), 10)
  for (const nothing of [undefined, null, {}, { cached_tokens: null }, { cached_tokens: 11 }, { cached_tokens: -1 }, { cached_tokens: 1.5 }, { cached_tokens: '8' }, 'x']) {
    t.equal(cached(nothing), null, JSON.stringify(nothing))
  }
})

t.test('an error in place of a reply, or as an event, is an error [case 10]', async (t) => {
  t.equal(read({ error: { message: 'x', code: 500 } }).error, true)
  t.equal(read(delta('a'), { error: { message: 'x' } }).error, true)
  t.equal(read({ error: 'Unauthorized' }).error, true)
  t.equal(read({ ...delta('a', 'stop'), error: null }).error, false)
})

t.test('a second choice is noticed and not mixed in', async (t) => {
  const reply = read({ choices: [{ index: 1, delta: { content: 'other' }, finish_reason: 'length' }, { index: 0, delta: { content: 'a' }, finish_reason: 'stop' }] })
  t.match(reply, { severalChoices: true, content: 'a', finish: 'stop' })
})

t.test('what says something is text beyond white space, thinking, a call, a finish or an error', async (t) => {
  const says = (chunk: unknown): boolean => addReply(emptyReply(), Buffer.from(JSON.stringify(chunk)))
  for (const something of [delta('a'), delta('', 'stop'), { choices: [{ delta: { reasoning: 'x' } }] }, { choices: [{ delta: { tool_calls: [{}] } }] }, { error: {} }]) t.equal(says(something), true)
  for (const nothing of [delta(''), delta('\n '), { choices: [{ delta: { role: 'assistant', content: '' } }] }, { choices: [] }, { choices: [{ delta: { tool_calls: [] } }] }, {}, null]) t.equal(says(nothing), false)
})

t.test('a reply of any form is read without a throw', async (t) => {
  const odd = ['null', '5', '[]', '"x"', '{', '', '{"choices":null}', '{"choices":{}}', '{"choices":[null]}', '{"choices":[5,"x",[]]}', '{"choices":[{"delta":null,"message":null}]}',
    '{"choices":[{"delta":5}]}', '{"choices":[{"delta":{"content":{},"tool_calls":"x","reasoning":5}}]}', '{"usage":5}', '{"usage":"x"}', '{"usage":{"prompt_tokens_details":5}}']
  for (const text of odd) t.doesNotThrow(() => read(text), text)
  holds(t, fc.property(fc.json(), (json) => void read(json, `{"choices":[${json}],"usage":${json}}`, `{"choices":[{"delta":${json},"finish_reason":${json}}]}`)), 500)
})

t.test('an event without data says nothing [case 4]', async (t) => {
  const state = emptyReply()
  for (const event of new SseSplitter().push(Buffer.from(': ping\n\ndata:\n\nevent: x\n\n'))) t.equal(addEvent(state, event), false)
  t.strictSame(state, emptyReply())
})
