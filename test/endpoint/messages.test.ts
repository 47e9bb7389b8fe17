// What only the messages endpoint has: its blocks in a fork, how its replies end, its events, count_tokens.

import t from 'tap'
import { messages } from '../../src/endpoint/messages.ts'
import type { ReadRequest } from '../../src/endpoint/endpoint.ts'
import { asFollowing } from '../../src/fork/build.ts'
import type { ForkParts } from '../../src/fork/parts.ts'
import { readsAsPlanned } from '../../src/fork/read-back.ts'
import { emptyReply, type ReplyState } from '../../src/wire/reply.ts'
import { SseSplitter } from '../../src/wire/sse.ts'
import { spokenMessages } from '../helpers/endpoints/messages.ts'
import { startWarmfork } from '../helpers/warmfork.ts'

function read(body: object | string): ReadRequest {
  const request = messages.read(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)))
  if (!request) throw new Error('the test gave a request that cannot be read')
  return request
}

const directive = Buffer.from('{"role":"user","content":"Summarise."}')
const text = (words: string): object => ({ type: 'text', text: words })
const use = (id: string): object => ({ role: 'assistant', content: [{ type: 'tool_use', id, name: 'look', input: {} }] })
const result = (id: string): object => ({ type: 'tool_result', tool_use_id: id, content: 'seen' })
const tools = [{ name: 'look', input_schema: { type: 'object' } }]

t.test('a fork has the messages and system text of the evidence, marks and all, and limit and stream of the summary', async (t) => {
  const evidence = read('{"model":"m","max_tokens":9,"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"\\u0061","cache_control":{"type":"ephemeral"}}]}],"tool_choice":{"type":"auto","disable_parallel_tool_use":true},"temperature":0,"thinking":{"type":"adaptive"}}')
  const summary = read({ model: 'm', max_tokens: 5, stream: true, temperature: 1, system: 'Summarise.', metadata: { user_id: 'u' }, messages: [{ role: 'user', content: 'a' }, { role: 'user', content: 'Summarise.' }] })
  const parts: ForkParts = { evidence, summary, headLength: 2, following: [], directive }
  t.ok(readsAsPlanned(parts))
  const fork = messages.forkBody(parts, { toolChoiceNone: true, maxTokens: null })
  t.ok(fork.includes('"messages":[{"role":"user","content":[{"type":"text","text":"\\u0061","cache_control":{"type":"ephemeral"}}]},{"role":"user","content":"Summarise."}]'))
  t.strictSame(JSON.parse(String(fork)), {
    model: 'm', system: [{ ...text('Be brief.'), cache_control: { type: 'ephemeral' } }], thinking: { type: 'adaptive' }, tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    messages: [{ role: 'user', content: [{ ...text('a'), cache_control: { type: 'ephemeral' } }] }, JSON.parse(String(directive))],
    stream: true, temperature: 1, metadata: { user_id: 'u' }, max_tokens: 5,
  })
  t.equal(JSON.parse(String(messages.forkBody(parts, { toolChoiceNone: true, maxTokens: 3 }))).max_tokens, 3)
  const withTools = { ...parts, evidence: read({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'a' }], tools }), headLength: 1 }
  t.strictSame(JSON.parse(String(messages.forkBody(withTools, { toolChoiceNone: true, maxTokens: null }))).tool_choice, { type: 'none' })
})

t.test('an instruction beside results of tools: taken out of its message where they are in the head, else not read as planned', async (t) => {
  const user = { role: 'user', content: 'a' }
  const evidence = read({ model: 'm', max_tokens: 9, tools, messages: [user, use('1'), { role: 'user', content: [result('1')] }] })
  const summary = read({ model: 'm', max_tokens: 9, tools, messages: [user, use('1'), { role: 'user', content: [result('1'), text('Summarise.')] }] })
  t.ok(readsAsPlanned({ evidence, summary, headLength: 3, following: [], directive }))
  const later = read({ model: 'm', max_tokens: 9, tools, messages: [user, use('1'), { role: 'user', content: [result('1')] }, use('2'), { role: 'user', content: [result('2'), text('Summarise.')] }] })
  t.notOk(readsAsPlanned({ evidence, summary: later, headLength: 3, following: asFollowing(later, later.chat.messages.slice(3, 5)), directive }))
})

t.test('a budget of thinking stays where the limit of the fork leaves room for it, else vLLM would refuse the fork', async (t) => {
  const evidence = read({ model: 'm', max_tokens: 9_000, thinking: { type: 'enabled', budget_tokens: 2_000 }, messages: [{ role: 'user', content: 'a' }] })
  const thinking = (maxTokens: number | null, members: object, of = evidence): unknown => {
    const summary = read({ model: 'm', max_tokens: 3_000, messages: [{ role: 'user', content: 'a' }, { role: 'user', content: 'Summarise.' }], ...members })
    const parts: ForkParts = { evidence: of, summary, headLength: 1, following: [], directive }
    t.ok(readsAsPlanned(parts))
    return JSON.parse(String(messages.forkBody(parts, { toolChoiceNone: true, maxTokens }))).thinking
  }
  t.match(thinking(null, {}), { budget_tokens: 2_000 })
  t.match(thinking(2_001, {}), { budget_tokens: 2_000 })
  t.equal(thinking(2_000, {}), undefined)
  t.equal(thinking(null, { max_tokens: 500 }), undefined)
  t.match(thinking(100, {}, read({ model: 'm', max_tokens: 9, thinking: { type: 'disabled' }, messages: [{ role: 'user', content: 'a' }] })), { type: 'disabled' })
})

function stateOf(...events: object[]): ReplyState {
  const state = emptyReply()
  const bytes = Buffer.from(events.map((event: any) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''))
  for (const event of new SseSplitter().push(bytes)) messages.reply.addEvent(state, event)
  return state
}

t.test('how a message ended, and what of its prompt was cached', async (t) => {
  const ended = (reason: string | null): ReplyState => stateOf({ type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null } })
  for (const [reason, finish] of [['end_turn', 'stop'], ['stop_sequence', 'stop'], ['tool_use', 'tool_calls'], ['max_tokens', 'length'], ['refusal', 'refusal'], [null, null]] as const) t.equal(ended(reason).finish, finish)
  t.match(ended('end_turn'), { done: false, error: false })
  t.match(stateOf({ type: 'message_stop' }), { done: true, finish: null })
  t.match(stateOf({ type: 'error', error: { type: 'overloaded_error', message: 'a' } }), { error: true, finish: null })
  t.match(stateOf({ type: 'ping' }), { error: false, content: '' })
  const start = { type: 'message_start', message: { usage: { input_tokens: 100, output_tokens: 0 } } }
  t.match(stateOf(start), { usage: { promptTokens: 100, cachedTokens: null } })
  t.match(stateOf(start, { type: 'message_delta', delta: {}, usage: { input_tokens: 4, cache_read_input_tokens: 80, cache_creation_input_tokens: 16, output_tokens: 7 } }), { usage: { promptTokens: 100, completionTokens: 7, cachedTokens: 80 } })
  const whole = emptyReply()
  messages.reply.addReply(whole, Buffer.from(JSON.stringify({
    type: 'message', content: [{ type: 'thinking', thinking: 'th' }, text('said'), { type: 'tool_use', id: '1', name: 'look', input: {} }], stop_reason: 'tool_use', usage: { input_tokens: 3, output_tokens: 1 },
  })))
  t.match(whole, { thinking: 'th', content: 'said', toolCalls: true, finish: 'tool_calls', usage: { promptTokens: 3, cachedTokens: null } })
})

t.test('blocks as they come', async (t) => {
  const delta = (index: number, own: object): object => ({ type: 'content_block_delta', index, delta: own })
  t.match(stateOf(
    { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } }, delta(0, { type: 'thinking_delta', thinking: 'think' }), delta(0, { type: 'signature_delta', signature: 's' }),
    { type: 'content_block_start', index: 1, content_block: text('') }, delta(1, { type: 'text_delta', text: 'sa' }), delta(1, { type: 'text_delta', text: 'id' }),
  ), { thinking: 'think', content: 'said', toolCalls: false })
  t.match(stateOf({ type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: '1', name: 'look', input: {} } }), { toolCalls: true })
})

for (const [name, said] of [
  ['beside the results of tools', [use('1'), { role: 'user', content: [result('1')] }]],
  ['behind the user\'s words', [{ role: 'assistant', content: 'It is read.' }, { role: 'user', content: [text('Then read the next one.')] }]],
] as const) {
  t.test(`an instruction as one more text of the last message, ${name}, is warm, and its prefix measured`, async (t) => {
    const warmfork = await startWarmfork(t, { spoken: spokenMessages })
    const marked = (messages: readonly any[]): object[] => messages.map((message, i) => (i < messages.length - 1 ? message
      : { ...message, content: message.content.map((block: object) => ({ ...block, cache_control: { type: 'ephemeral' } })) }))
    const lead = [{ role: 'user', content: [text(`Read the notes. ${'They are long. '.repeat(200)}`)] }, ...said]
    const body = (version: string, messages: readonly object[]): Buffer => Buffer.from(JSON.stringify({
      model: 'qwen3-simulated', max_tokens: 500, system: [text(`x-anthropic-billing-header: cc_version=${version};`), text('You work in a folder.')], tools, messages,
    }))
    const last: any = lead.at(-1)
    const summary = body('1.b', [...lead.slice(0, -1), { ...last, content: [...last.content, text('CRITICAL: Respond with TEXT ONLY. Say what was done.')] }])
    t.equal((await warmfork.chat(body('1.a', marked(lead)))).status, 200)
    const since = warmfork.since()
    const reply = await warmfork.chat(summary)
    t.ok(since.generations()[0]!.body.equals(summary), 'it goes out as it came')
    const receipt = await warmfork.receipt(reply)
    t.match(receipt, { decision: 'already_warm', agent: 'claude-code', endpoint: '/v1/messages', proof: 'tokenize', fallback_reason: null })
    t.match(await warmfork.outcome(reply), { engine_cached_tokens: receipt['reusable_tokens'], valid: true })
    t.ok(receipt['reusable_tokens'] > 500)
  })
}

t.test('count_tokens is relayed', async (t) => {
  const warmfork = await startWarmfork(t, { spoken: spokenMessages })
  const since = warmfork.since()
  const reply = await warmfork.chat(JSON.stringify({ messages: [{ role: 'user', content: 'Say something.' }], tools }), { target: '/v1/messages/count_tokens?beta=true' })
  t.equal(reply.status, 200)
  t.match(JSON.parse(reply.body.toString()), { input_tokens: Number, context_management: { original_input_tokens: Number } })
  t.strictSame(reply.warmfork, {})
  t.strictSame(since.generations(), [])
})
