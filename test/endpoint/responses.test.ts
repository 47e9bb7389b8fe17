// What only the responses endpoint has: its items in a fork, its status, its last event, its calibration.

import t from 'tap'
import type { Calibrated } from '../../src/engine/calibration.ts'
import { responses } from '../../src/endpoint/responses.ts'
import type { ReadRequest } from '../../src/endpoint/endpoint.ts'
import { asFollowing } from '../../src/fork/build.ts'
import type { ForkParts } from '../../src/fork/parts.ts'
import { readsAsPlanned } from '../../src/fork/read-back.ts'
import { emptyReply, type ReplyState } from '../../src/wire/reply.ts'
import { SseSplitter } from '../../src/wire/sse.ts'
import { spokenResponses } from '../helpers/endpoints/responses.ts'

function read(body: object | string): ReadRequest {
  const request = responses.read(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)))
  if (!request) throw new Error('the test gave a request that cannot be read')
  return request
}

const directive = Buffer.from('{"role":"user","content":"Summarise."}')
const plain = { toolChoiceNone: true, maxTokens: null }

t.test('a text in place of items becomes an item, byte for byte', async (t) => {
  const evidence = read('{"model":"m","input":"Look \\u0061t it.","instructions":"Be brief."}')
  const summary = read({ model: 'm', input: 'Summarise.' })
  const parts: ForkParts = { evidence, summary, headLength: 2, following: [], directive }
  t.ok(readsAsPlanned(parts))
  t.equal(String(responses.forkBody(parts, plain)),
    '{"model":"m","input":[{"role":"user","content":"Look \\u0061t it."},{"role":"user","content":"Summarise."}],"instructions":"Be brief.","enable_response_messages":true}')
})

t.test('what follows begins with the items that belong to it: thinking, text and calls of one turn', async (t) => {
  const user = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'a' }] }
  const turn = [
    { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'think' }] },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'said' }], id: 'msg_1' },
    { type: 'function_call', call_id: '1', name: 'look', arguments: '{}' },
  ]
  const answer = { type: 'function_call_output', call_id: '1', output: 'b' }
  const tools = [{ type: 'function', name: 'look', parameters: { type: 'object' } }]
  const evidence = read({ model: 'm', input: [user], tools, tool_choice: { type: 'function', name: 'look' }, prompt_cache_key: 'k', temperature: 0, metadata: { a: 'b' } })
  const summary = read({ model: 'm', input: [user, ...turn, answer, { ...user, content: 'Summarise.' }], tools: [], temperature: 1, max_output_tokens: 9, stream: true, text: { verbosity: 'low' } })
  const parts: ForkParts = { evidence, summary, headLength: 1, following: asFollowing(summary, summary.chat.messages.slice(1, 3)), directive }
  t.ok(readsAsPlanned(parts))
  const fork = JSON.parse(String(responses.forkBody(parts, { toolChoiceNone: true, maxTokens: 7 })))
  t.strictSame(fork, {
    model: 'm', input: [user, ...turn, answer, JSON.parse(String(directive))], tools, tool_choice: 'none', prompt_cache_key: 'k',
    temperature: 1, max_output_tokens: 7, stream: true, text: { verbosity: 'low' }, enable_response_messages: true,
  })
  t.strictSame(JSON.parse(String(responses.forkBody(parts, { toolChoiceNone: false, maxTokens: null }))).tool_choice, { type: 'function', name: 'look' })
})

t.test('an assistant item behind an assistant item would merge into the head: not read as planned', async (t) => {
  const user = { role: 'user', content: 'a' }
  const call = { type: 'function_call', call_id: '1', name: 'look', arguments: '{}' }
  const evidence = read({ model: 'm', input: [user, { role: 'assistant', content: 'said' }] })
  const summary = read({ model: 'm', input: [user, call, { type: 'function_call_output', call_id: '1', output: 'b' }, user] })
  t.notOk(readsAsPlanned({ evidence, summary, headLength: 2, following: asFollowing(summary, summary.chat.messages.slice(1, 3)), directive }))
})

function stateOf(...events: object[]): ReplyState {
  const state = emptyReply()
  const bytes = Buffer.from(events.map((event: any) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''))
  for (const event of new SseSplitter().push(bytes)) responses.reply.addEvent(state, event)
  return state
}

const call = { type: 'function_call', id: 'fc_1', call_id: '1', name: 'look', arguments: '{}' }
const usage = { input_tokens: 100, input_tokens_details: { cached_tokens: 96 }, output_tokens: 5 }

t.test('how a response ended is its status, whatever its event is called', async (t) => {
  const ended = (response: object, type = 'response.completed'): ReplyState => stateOf({ type, response })
  t.match(ended({ status: 'completed', output: [], usage }), { finish: 'stop', done: true, error: false, usage: { promptTokens: 100, completionTokens: 5, cachedTokens: 96 } })
  t.match(ended({ status: 'completed', output: [call] }), { finish: 'tool_calls', toolCalls: true })
  t.match(ended({ status: 'completed', output: [{ type: 'web_search_call' }] }), { finish: 'tool_calls', toolCalls: true })
  // vLLM says this in response.completed, OpenAI in response.incomplete.
  for (const type of ['response.completed', 'response.incomplete']) t.match(ended({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, output: [] }, type), { finish: 'length' })
  t.match(ended({ status: 'incomplete', incomplete_details: { reason: 'content_filter' } }), { finish: 'content_filter' })
  t.match(ended({ status: 'cancelled' }), { finish: 'abort' })
  t.match(ended({ status: 'failed', error: { code: 'a', message: 'b' } }, 'response.failed'), { finish: null, error: true })
  t.match(ended({ status: 'in_progress', output: [] }, 'response.in_progress'), { finish: null, done: false, error: false })
  t.match(stateOf({ type: 'error', code: 'a', message: 'b' }), { finish: null, error: true, done: false })
  t.match(stateOf({ type: 'response.completed', response: { status: 'completed', error: null } }), { finish: 'stop', error: false })
  t.match(ended({ status: 'completed', usage: { input_tokens: 10, input_tokens_details: { cached_tokens: 20 } } }), { usage: { cachedTokens: null } })
})

t.test('a call is known when its item begins, and texts as they come', async (t) => {
  t.match(stateOf({ type: 'response.output_item.added', item: { ...call, arguments: '' } }), { toolCalls: true, finish: null })
  t.match(stateOf({ type: 'response.output_item.added', item: { type: 'custom_tool_call' } }), { toolCalls: true })
  t.match(stateOf(
    { type: 'response.output_item.added', item: { type: 'reasoning' } }, { type: 'response.reasoning_text.delta', delta: 'th' }, { type: 'response.reasoning_summary_text.delta', delta: 'ink' },
    { type: 'response.output_text.delta', delta: 'sa' }, { type: 'response.output_text.delta', delta: 'id' },
    { type: 'response.output_text.done', text: 'said' }, { type: 'response.completed', response: { status: 'completed', output: [{ type: 'message', content: [{ type: 'output_text', text: 'said' }] }] } },
  ), { thinking: 'think', content: 'said', toolCalls: false, finish: 'stop' })
})

const told = '{"id":"a","output":[{"content":"\\"input_messages\\":[{\\"tokens\\":[9]}]"}],"tools":[{"input_messages":[{"tokens":[8]}]}], "status":"completed","input_messages":[{"message":"p","tokens":[1,2, 3],"type":"t"}],"output_messages":[{"tokens":[4]}] }'

t.test('the prompt’s ids are read where the response has them, and taken out with the reply’s', async (t) => {
  const silent = told.replace('[{"message":"p","tokens":[1,2, 3],"type":"t"}]', 'null').replace('[{"tokens":[4]}]', 'null')
  const edit = responses.edit(read({ input: 'a' }))
  const asked = responses.edit(read({ input: 'a', enable_response_messages: true }))
  t.strictSame([...responses.reply.promptIds(Buffer.from(told))!], [1, 2, 3])
  t.equal(responses.reply.promptIds(Buffer.from(silent)), null)
  t.equal(String(edit.reply(Buffer.from(told))), silent)
  t.equal(String(asked.reply(Buffer.from(told))), told)
  const event = (response: string): string => `event: response.completed\r\ndata:{"response":${response},"sequence_number":3,"type":"response.completed"}\n\n`
  const [completed] = new SseSplitter().push(Buffer.from(event(told)))
  t.strictSame([...responses.reply.promptIds(completed!.data!)!], [1, 2, 3])
  t.equal(String(edit.event(completed!)), event(silent))
  t.equal(String(asked.event(completed!)), event(told))
  for (const odd of ['{"input_messages":[{"tokens":[1]},{"tokens":[2]}]}', '{"input_messages":[{"tokens":["a"]}]}', '{"input_messages":{}}', '{"response":{"input_messages":[{}]}}']) t.equal(responses.reply.promptIds(Buffer.from(odd)), null)
})

t.test('the endpoint is calibrated by what a response of one token says that it prefilled', async (t) => {
  const calibrated: Calibrated = { state: 'calibrated', proof: 'tokenize', dialect: { renamesReasoning: true, effortSetsThinking: true }, toolChoiceNone: true, replyKeys: { reply: [], choice: [], message: [] } }
  const request = read({
    model: 'm', instructions: 'secret words', reasoning: { effort: 'low' }, cache_salt: 'salt',
    input: [{ role: 'user', content: 'secret words' }, { type: 'function_call', call_id: '1', name: 'secret', arguments: '{}' }, { type: 'function_call_output', call_id: '1', output: 'secret words' }],
    tools: [{ type: 'function', name: 'secret', description: 'secret words', strict: false, parameters: { type: 'object' } }, { type: 'custom', name: 'secret' }],
  })
  interface World { tokenize?: number[] | number, auto?: number[] | number, none?: number[] | number, render?: number[] }
  async function calibrate({ tokenize = [1, 2], auto = [1, 2], none = [1, 2], render }: World, asked: string[] = []): Promise<object> {
    return responses.calibrate!(request, calibrated, async (target, body) => {
      asked.push(`${target} ${body}`)
      const say = (ids: number[] | number | undefined, write: (ids: number[]) => object) => (typeof ids === 'number' ? { status: ids, body: Buffer.from('{}') } : ids ? { status: 200, body: Buffer.from(JSON.stringify(write(ids))) } : { status: 404, body: Buffer.from('{}') }) as never
      if (target === '/tokenize') return say(tokenize, (tokens) => ({ tokens }))
      if (target === '/v1/responses/render') return say(render, (ids) => ({ token_ids: ids }))
      return say(String(body).includes('"tool_choice":"none"') ? none : auto, (tokens) => (tokens.length === 0 ? { input_messages: null } : { input_messages: [{ message: 'p', tokens }] }))
    })
  }
  const asked: string[] = []
  t.match(await calibrate({}, asked), { state: 'calibrated', toolChoiceNone: true })
  t.equal(asked.length, 2)
  t.notOk(asked.join().includes('secret') || asked.join().includes('salt'), 'with none of the request’s words')
  const sent = JSON.parse(asked[1]!.slice('/v1/responses '.length))
  t.match(sent, { max_output_tokens: 1, stream: false, store: false, reasoning: { effort: 'low' }, tools: [{ type: 'function', strict: false }, { type: 'custom' }], instructions: 'You calibrate.' })
  t.match(await calibrate({ none: [1] }), { state: 'calibrated', toolChoiceNone: false }, 'tools are hidden when none may be called')
  t.match(await calibrate({ none: [1], auto: [1] }), { state: 'uncalibrated' })
  t.match(await calibrate({ none: 400, auto: 400 }), { state: 'uncalibrated' }, 'the engine refuses a shape')
  t.match(await calibrate({ tokenize: 400 }), { state: 'uncalibrated' })
  for (const status of [401, 404, 503]) t.match(await calibrate({ none: status }), { state: 'unanswered', reason: 'tokenize_unavailable' })
  t.match(await calibrate({ tokenize: 503 }), { state: 'unanswered' })
  t.match(await calibrate({ none: [], render: [1, 2] }), { state: 'calibrated' }, 'an engine that does not tell is asked to render')
  t.match(await calibrate({ none: [], render: [1] , auto: [] }), { state: 'uncalibrated' })
  t.match(await calibrate({ none: [] }), { state: 'unanswered', reason: 'token_ids_missing' })
  const other = read({ model: 'm', instructions: 'other words', reasoning: { effort: 'low' }, input: [{ role: 'user', content: 'b' }, { type: 'function_call', call_id: '9', name: 'x', arguments: '' }], tools: [{ type: 'function', name: 'y', description: 'z', strict: false, parameters: {} }, { type: 'custom', name: 'q' }] })
  t.equal(responses.shape!(request), responses.shape!(other), 'one shape, whatever it says')
  t.not(responses.shape!(request), responses.shape!(read({ input: 'a' })))
})

t.test('an agent and an SDK take our error event for a failure', async (t) => {
  const edit = responses.edit(read({ input: 'a', stream: true }))
  for (const event of new SseSplitter().push(Buffer.from(spokenResponses.canned(['Goal: ', 'a.']).events.slice(0, -1).join('')))) edit.event(event)
  const bytes = edit.failed('summary_empty', 'Why.', 'summary_error')
  const [event] = new SseSplitter().push(bytes)
  t.match(String(bytes), /^event: response\.failed\ndata: /)
  const data = JSON.parse(String(event!.data))
  t.match(data, { type: 'response.failed', error: { code: 'summary_empty', message: 'Why.' }, response: { status: 'failed', error: { code: 'summary_empty', message: 'Why.' } } })
  t.match(stateOf(data), { finish: null, error: true })
})
