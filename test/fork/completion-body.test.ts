// What a fork by token ids says to /v1/completions: the ids, the summary's sampling, and always a token limit.

import t from 'tap'
import { completionBody, completionsCanServe } from '../../src/fork/completion-body.ts'
import { readChatRequest, type ChatRequest } from '../../src/wire/chat-request.ts'

const messages = [{ role: 'user', content: 'Hi' }]
const read = (options: object): ChatRequest => readChatRequest(Buffer.from(JSON.stringify({ model: 'm', messages, ...options })))!
const bodyOf = (evidence: object, summary: object): Record<string, unknown> =>
  JSON.parse(completionBody(read(evidence), read(summary), Uint32Array.of(1, 2, 3), 700).toString('utf8'))

t.test('it holds the ids, the limit, and special tokens in the text', async (t) => {
  t.same(bodyOf({}, {}), { model: 'm', max_tokens: 700, skip_special_tokens: false, prompt: [1, 2, 3] })
})

t.test("sampling and stop strings are the summary request's", async (t) => {
  const sampling = { temperature: 0.5, top_p: 0.9, seed: 7, stop: ['END'], frequency_penalty: 0.1, logit_bias: { 5: 1 }, min_p: 0.1, stop_token_ids: [9] }
  t.match(bodyOf({ temperature: 1, stop: ['X'] }, sampling), sampling)
})

t.test('every name of the token limit becomes max_tokens', async (t) => {
  for (const key of ['max_tokens', 'max_completion_tokens']) {
    const body = bodyOf({}, { [key]: 99 })
    t.equal(body['max_tokens'], 700)
    t.notOk('max_completion_tokens' in body)
  }
})

t.test('what the ids hold already is not said again', async (t) => {
  const evidence = { tools: [{ type: 'function', function: { name: 'f' } }], tool_choice: 'auto', reasoning_effort: 'high', chat_template_kwargs: { a: 1 }, documents: [], chat_template: 'x' }
  t.same(bodyOf(evidence, { ...evidence, include_reasoning: false, parallel_tool_calls: false, n: 1 }),
    { model: 'm', max_tokens: 700, skip_special_tokens: false, prompt: [1, 2, 3] })
})

t.test("the cache key and routing are the evidence's", async (t) => {
  t.match(bodyOf({ cache_salt: 's', session_id: 'a' }, { cache_salt: 's', session_id: 'b' }), { cache_salt: 's', session_id: 'a' })
})

t.test('a stream asks for usage, which is the only observation of reuse', async (t) => {
  t.match(bodyOf({}, { stream: true }), { stream: true, stream_options: { include_usage: true } })
  t.match(bodyOf({}, { stream: true, stream_options: { include_usage: true, continuous_usage_stats: true } }), { stream_options: { include_usage: true, continuous_usage_stats: true } })
  t.notOk('stream_options' in bodyOf({}, {}))
})

t.test('numbers stay as the client wrote them', async (t) => {
  const summary = readChatRequest(Buffer.from('{"model":"m","messages":[{"role":"user","content":"Hi"}],"seed":9007199254740993,"temperature":1.0}'))!
  const body = completionBody(read({}), summary, Uint32Array.of(1), 1).toString('utf8')
  t.match(body, '"seed":9007199254740993')
  t.match(body, '"temperature":1.0')
})

t.test('what completions give in another shape, or not at all, is not asked of them', async (t) => {
  for (const options of [{ logprobs: true }, { logprobs: true, top_logprobs: 2 }, { return_token_ids: true }, { thinking_token_budget: 100 }, { include_stop_str_in_output: true }, { return_prompt_text: true }]) {
    t.notOk(completionsCanServe(read(options)), JSON.stringify(options))
  }
  for (const options of [{}, { logprobs: false }, { logprobs: null }, { return_token_ids: false }, { include_reasoning: false }, { response_format: { type: 'text' } }]) {
    t.ok(completionsCanServe(read(options)), JSON.stringify(options))
  }
})
