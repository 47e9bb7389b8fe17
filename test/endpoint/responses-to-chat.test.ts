// The chat form of responses requests. That it is vLLM's own is shown by test/vllm/responses-conversion.ts.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { responsesAsChat } from '../../src/endpoint/responses-to-chat.ts'
import { holds } from '../helpers/property.ts'
import { responsesBodies } from '../helpers/responses-requests.ts'

function convert(body: object | string): { chat: any, raw: string, itemsEnd: readonly number[], items: readonly string[] } | null {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  const read = responsesAsChat(bytes)
  if (read === null) return null
  const raw = read.chat.body.toString()
  return { chat: JSON.parse(raw), raw, itemsEnd: read.itemsEnd, items: read.items.map(({ start, end }) => bytes.toString('utf8', start, end)) }
}

t.test('instructions stand apart, a text is one item', async (t) => {
  t.strictSame(convert({ model: 'm', instructions: 'Be brief.', input: 'Hi.' }), {
    chat: { messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: 'Hi.' }], model: 'm' },
    raw: '{"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi."}],"model":"m"}',
    itemsEnd: [0, 1], items: ['"Hi."'],
  })
  t.strictSame(convert({ instructions: '', input: [] })?.chat, { messages: [] })
})

t.test('the items of one assistant turn are one message', async (t) => {
  const made = convert({ input: [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'a' }, { type: 'input_text', text: 'b' }], id: 'x' },
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 's' }], content: [{ type: 'reasoning_text', text: 'think' }] },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'said', annotations: [] }, { type: 'output_text', text: 'dropped' }] },
    { type: 'function_call', call_id: '1', name: 'look', arguments: '{"at": 1.0}', status: 'completed' },
    { type: 'custom_tool_call', call_id: '2', name: 'patch', input: 'a\n"b"' },
    { type: 'function_call_output', call_id: '1', output: 'one' },
    { type: 'custom_tool_call_output', call_id: '2', output: [{ type: 'input_text', text: 'two' }] },
    { role: 'assistant', content: 'done' },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'more' }] },
  ] })
  t.strictSame(made?.chat.messages, [
    { role: 'user', content: [{ type: 'text', text: 'a' }, { type: 'text', text: 'b' }] },
    { role: 'assistant', content: 'said', reasoning: 'think', tool_calls: [
      { id: '1', type: 'function', function: { name: 'look', arguments: '{"at": 1.0}' } },
      { id: '2', type: 'function', function: { name: 'patch', arguments: '{"input": "a\\n\\"b\\""}' } },
    ] },
    { role: 'tool', content: 'one', tool_call_id: '1' },
    { role: 'tool', content: [{ type: 'text', text: 'two' }], tool_call_id: '2' },
    { role: 'assistant', content: 'done' },
    { role: 'assistant', content: 'more' },
  ])
  t.strictSame(made?.itemsEnd, [1, 5, 6, 7, 8, 9])
})

t.test('tools as the model is shown them', async (t) => {
  const made = convert({ input: 'a', tool_choice: { type: 'function', name: 'look' }, tools: [
    { type: 'function', name: 'look', description: 'Looks.', parameters: { type: 'object' }, strict: false, output_schema: {} },
    { type: 'custom', name: 'patch', description: 'Patches.', format: { type: 'text' } },
    { type: 'namespace', name: 'space', description: 'Far.', tools: [{ type: 'function', name: 'fly' }, { type: 'custom', name: 'never' }] },
    { type: 'web_search' },
  ] })
  const parameters = { type: 'object', properties: { input: { type: 'string', description: 'The freeform text payload for this tool.' } }, required: ['input'], additionalProperties: false }
  t.strictSame(made?.chat.tools, [
    { type: 'function', function: { name: 'look', description: 'Looks.', parameters: { type: 'object' }, strict: false } },
    { type: 'function', function: { name: 'patch', description: 'Patches.', parameters } },
    { type: 'function', function: { name: 'space__fly' } },
  ])
  t.strictSame(made?.chat.tool_choice, { type: 'function', function: { name: 'look' } })
  t.strictSame(convert({ input: [], tools: [], tool_choice: 'auto' })?.chat, { messages: [] })
})

t.test('options under the names that chat has for them', async (t) => {
  t.strictSame(convert({
    input: [], model: 'm', stream: true, temperature: 0.5, max_output_tokens: 9, reasoning: { effort: 'low', summary: 'auto' }, store: false,
    text: { format: { type: 'json_schema', name: 'n', schema: { type: 'object' } } }, include: ['message.output_text.logprobs'], client_metadata: {},
  })?.chat, {
    messages: [], model: 'm', stream: true, temperature: 0.5, max_tokens: 9, reasoning_effort: 'low', structured_outputs: { json: { type: 'object' } }, logprobs: true,
  })
})

t.test('what vLLM refuses, or goes on with, is unreadable', async (t) => {
  const user = { role: 'user', content: 'a' }
  for (const body of [
    '', '[]', '{}', '{"input":null}', '{"input":[],"input":[]}', '{"input":[1]}', '{"input":[],"tools":null}', '{"input":[],"instructions":5}', '{"input":[],"truncation":"auto"}',
    ...[
      { type: 'item_reference', id: 'a' }, { type: 'compaction', encrypted_content: 'a' }, { type: 'reasoning', summary: [], encrypted_content: 'a' },
      { role: 'tool', content: 'a' }, { role: 'user' }, { role: 'user', content: [{ type: 'input_file', file_id: 'a' }] },
      { type: 'function_call', call_id: 'a', name: 'b' }, { type: 'function_call_output', call_id: 'a' }, { type: 'message', role: 'assistant', content: [] },
      { type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'no' }] }, { type: 'custom_tool_call', call_id: 'a', name: 'b', input: null },
    ].map((item) => ({ input: [item, user] })),
    { input: [user, { type: 'message', role: 'assistant', status: 'in_progress', content: [{ type: 'output_text', text: 'a' }] }] },
    { input: [user, { type: 'reasoning', summary: [], status: 'incomplete' }] },
    { input: [], tools: [{ type: 'custom', name: 'a', format: { type: 'grammar', syntax: 'lark', definition: 'a' } }] },
  ]) t.equal(convert(body), null, JSON.stringify(body))
  t.ok(convert({ input: [{ type: 'message', role: 'assistant', status: 'incomplete', content: [{ type: 'output_text', text: 'a' }] }, user] }))
})

t.test('numbers and escapes stay as they were written', async (t) => {
  const body = '{"input":[{"role":"user","content":"\\u00e9\\/"},{"type":"function_call","call_id":"\\u0061","name":"n","arguments":"{\\"n\\":9007199254740993}"}],"tools":[{"type":"function","name":"f","parameters":{"m": 1e400,"2":1,"1":2}}],"temperature":0.10}'
  const { raw } = convert(body)!
  for (const slice of ['"\\u00e9\\/"', '"\\u0061"', '"{\\"n\\":9007199254740993}"', '{"m": 1e400,"2":1,"1":2}', '"temperature":0.10']) t.ok(raw.includes(slice), slice)
})

t.test('every item stands in one message, in order, and its ids say nothing', async (t) => {
  holds(t, fc.property(responsesBodies, fc.constantFrom(undefined, 1, '\t'), (body, space) => {
    const { itemsEnd, items, chat, raw } = convert(JSON.stringify(body, null, space))!
    assert.equal(itemsEnd.length, chat.messages.length)
    const ends = itemsEnd.slice(body.instructions ? 1 : 0)
    assert.ok(ends.every((end, i) => end > (ends[i - 1] ?? 0)))
    assert.equal(ends.at(-1), items.length)
    const renamed = JSON.stringify(body, (key, value) => (['id', 'status'].includes(key) ? undefined : value), space)
    assert.equal(convert(renamed)!.raw, raw)
  }), 500)
})
