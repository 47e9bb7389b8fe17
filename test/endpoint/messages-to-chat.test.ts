// The chat form of messages requests. That it is vLLM's own is shown by test/vllm/messages-conversion.ts.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { messagesAsChat } from '../../src/endpoint/messages-to-chat.ts'
import { messagesBodies } from '../helpers/messages-requests.ts'
import { holds } from '../helpers/property.ts'
import { unreadableMessages } from '../helpers/unreadable-messages.ts'

function convert(body: object | string): { chat: any, raw: string, itemsEnd: readonly number[], items: readonly string[] } | null {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  const read = messagesAsChat(bytes)
  if (read === null) return null
  const raw = read.chat.body.toString()
  return { chat: JSON.parse(raw), raw, itemsEnd: read.itemsEnd, items: read.items.map(({ start, end }) => bytes.toString('utf8', start, end)) }
}

const billing = { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1.332.4a6;' }
const text = (words: string): object => ({ type: 'text', text: words })
const hi = { role: 'user', content: 'Hi.' }

t.test('system text stands apart, its blocks in one piece and without the billing line', async (t) => {
  t.strictSame(convert({ model: 'm', system: [billing, text('Be brief.'), { ...text(' And kind.'), cache_control: { type: 'ephemeral' } }], messages: [hi] }), {
    chat: { messages: [{ role: 'system', content: 'Be brief. And kind.' }, hi], model: 'm' },
    raw: '{"messages":[{"role":"system","content":"Be brief. And kind."},{"role":"user","content":"Hi."}],"model":"m"}',
    itemsEnd: [0, 1], items: [JSON.stringify(hi)],
  })
  for (const system of ['', null, [], [billing], [text('')]]) t.strictSame(convert({ system, messages: [hi] })?.chat.messages, [hi])
  t.equal(convert({ system: billing.text, messages: [hi] })?.chat.messages[0].content, billing.text, 'a string is kept as it is')
})

t.test('results of tools are messages of their own, before what the user says', async (t) => {
  const made = convert({ messages: [
    { role: 'user', content: [text('a'), text(''), text('b')] },
    { role: 'assistant', content: [
      { type: 'thinking', thinking: 'First', signature: 's' }, { type: 'redacted_thinking', data: 'x' }, text('said'), { type: 'thinking', thinking: ' and then.', signature: '' },
      { type: 'tool_use', id: '1', name: 'look', input: { at: 1.5 } }, { type: 'tool_use', id: '2', name: 'look', input: {} },
    ] },
    { role: 'user', content: [text('now'), { type: 'tool_result', tool_use_id: '1', content: 'one' }, { type: 'tool_result', tool_use_id: '2', content: [text('two'), text('lines')], is_error: true }] },
    { role: 'system', content: [billing, { ...text('It is late.'), cache_control: { type: 'ephemeral' } }] },
    { role: 'assistant', content: [] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: '3' }] },
  ] })
  t.strictSame(made?.chat.messages, [
    { role: 'user', content: [text('a'), text('b')] },
    { role: 'assistant', content: 'said', reasoning: 'First and then.', tool_calls: [
      { id: '1', type: 'function', function: { name: 'look', arguments: '{"at":1.5}' } }, { id: '2', type: 'function', function: { name: 'look', arguments: '{}' } },
    ] },
    { role: 'tool', tool_call_id: '1', content: 'one' },
    { role: 'tool', tool_call_id: '2', content: 'two\nlines' },
    { role: 'user', content: 'now' },
    { role: 'system', content: 'It is late.' },
    { role: 'assistant' },
    { role: 'tool', tool_call_id: '3', content: '' },
  ])
  t.strictSame(made?.itemsEnd, [1, 2, 3, 3, 3, 4, 5, 6])
})

t.test('tools and options under the names that chat has for them', async (t) => {
  t.strictSame(convert({
    model: 'm', max_tokens: 2_000, stream: true, temperature: 0.5, stop_sequences: ['END'], metadata: { user_id: 'u' }, context_management: { edits: [] },
    thinking: { type: 'adaptive', display: 'omitted' }, output_config: { effort: 'high', format: { type: 'json_schema', schema: { type: 'object' } } },
    tools: [{ name: 'look', description: 'Looks.', input_schema: { properties: {} }, cache_control: { type: 'ephemeral' } }], tool_choice: { type: 'tool', name: 'look' }, messages: [hi],
  })?.chat, {
    messages: [hi], tools: [{ type: 'function', function: { name: 'look', description: 'Looks.', parameters: { properties: {}, type: 'object' } } }],
    tool_choice: { type: 'function', function: { name: 'look' } }, model: 'm', max_tokens: 2_000, stream: true, temperature: 0.5, stop: ['END'], metadata: { user_id: 'u' },
    response_format: { type: 'json_schema', json_schema: { name: 'json_schema', schema: { type: 'object' } } }, reasoning_effort: 'high',
  })
  t.strictSame(convert({ messages: [hi], tools: [], output_config: { format: { type: 'json_schema', schema: {} } }, thinking: { type: 'enabled', budget_tokens: 1_024 } })?.chat, { messages: [hi], tools: [], thinking_token_budget: 1_024 })
  t.equal(convert({ messages: [hi], tool_choice: { type: 'any' } })?.chat.tool_choice, 'required')
  t.equal(convert({ messages: [hi], thinking: { type: 'disabled' }, output_config: { effort: 'low' } })?.chat.reasoning_effort, 'none')
})

t.test('what vLLM refuses, or what has no chat form, is unreadable', async (t) => {
  for (const body of ['', '[]', '{}', '{"messages":[],"messages":[]}', Buffer.from([0x7b, 0xff]).toString('latin1')]) t.equal(convert(body), null, body)
  for (const { body } of unreadableMessages) t.equal(convert(body), null, JSON.stringify(body))
})

t.test('numbers and escapes stay as they were written', async (t) => {
  const body = '{"messages":[{"role":"user","content":[{"type":"text","text":"\\u00e9\\/"}]},{"role":"assistant","content":[{"type":"tool_use","id":"\\u0061","name":"n","input":{"n": 9007199254740993}}]}],"tools":[{"name":"f","input_schema":{"type":"object","m": 1e400,"2":1,"1":2}}],"temperature":0.10}'
  const { raw } = convert(body)!
  for (const slice of ['"\\u00e9\\/"', '"\\u0061"', '"{\\"n\\": 9007199254740993}"', '{"type":"object","m": 1e400,"2":1,"1":2}', '"temperature":0.10']) t.ok(raw.includes(slice), slice)
})

t.test('every message stands for its items, in order, and cache_control says nothing', async (t) => {
  holds(t, fc.property(messagesBodies, fc.constantFrom(undefined, 1, '\t'), (body, space) => {
    const { itemsEnd, items, chat, raw } = convert(JSON.stringify(body, null, space))!
    assert.equal(itemsEnd.length, chat.messages.length)
    assert.ok(itemsEnd.every((end, i) => end >= (itemsEnd[i - 1] ?? 0) && end <= items.length))
    const unmarked = JSON.stringify(body, (key, value) => (['cache_control', 'signature', 'is_error', 'context_management'].includes(key) ? undefined : value), space)
    assert.equal(convert(unmarked)!.raw, raw)
  }), 500)
})
