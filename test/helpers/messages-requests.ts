// Messages requests of every form that agents send and some that they do not, for property tests.

import fc from 'fast-check'

const text = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 8 }), fc.constantFrom('', 'a "b" \\ c', '漢é👩‍👩‍👧\n', '\u0000\u007f', 'x-anthropic-billing-header: cc_version=1.a2;'))
const name = fc.stringMatching(/^[a-z_]{1,6}$/)
const mark = fc.constantFrom({ type: 'ephemeral' }, { type: 'ephemeral', ttl: '1h' })
const textBlock = fc.record({ type: fc.constant('text'), text, cache_control: mark }, { requiredKeys: ['type', 'text'] })

const thinking = fc.record({ type: fc.constant('thinking'), thinking: text, signature: fc.constantFrom('', 'c2ln') })
const redacted = fc.constant({ type: 'redacted_thinking', data: 'b3BhcXVl' })
const use = fc.record({
  type: fc.constant('tool_use'), id: name, name, input: fc.oneof(fc.dictionary(name, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }), fc.constant({})), cache_control: mark,
}, { requiredKeys: ['type', 'id', 'name', 'input'] })
const result = fc.record({
  type: fc.constant('tool_result'), tool_use_id: name, content: fc.oneof(text, fc.array(textBlock, { maxLength: 3 })), is_error: fc.boolean(), cache_control: mark,
}, { requiredKeys: ['type', 'tool_use_id'] })

const user = fc.record({ role: fc.constant('user'), content: fc.oneof(text, fc.array(fc.oneof(textBlock, result), { maxLength: 4 })) })
const assistant = fc.record({ role: fc.constant('assistant'), content: fc.oneof(text, fc.array(fc.oneof(thinking, redacted, textBlock, use), { minLength: 1, maxLength: 4 })) })
const inline = fc.record({ role: fc.constant('system'), content: fc.oneof(text, fc.array(textBlock, { maxLength: 2 })) })

const schema = fc.constantFrom({ type: 'object', properties: { at: { type: 'string' } }, required: ['at'] }, { properties: {}, $schema: 'https://json-schema.org' }, {})
const tools = fc.array(fc.record({
  name, description: text, input_schema: schema, type: fc.constant('custom'), strict: fc.constantFrom(null, true, false), defer_loading: fc.boolean(), cache_control: mark,
}, { requiredKeys: ['name', 'input_schema'] }), { maxLength: 3 })

/** Bodies that vLLM takes. */
export const messagesBodies = fc.record({
  model: fc.constant('m'), max_tokens: fc.constant(2_000),
  messages: fc.array(fc.oneof({ weight: 4, arbitrary: user }, { weight: 4, arbitrary: assistant }, { weight: 1, arbitrary: inline }), { minLength: 1, maxLength: 6 }),
  system: fc.oneof(text, fc.array(textBlock, { maxLength: 3 }), fc.constant(null)),
  tools, tool_choice: fc.constantFrom({ type: 'auto' }, { type: 'any' }, { type: 'none' }, { type: 'tool', name: 'look' }, { type: 'auto', disable_parallel_tool_use: true }),
  thinking: fc.constantFrom(null, { type: 'adaptive', display: 'omitted' }, { type: 'enabled', budget_tokens: 1_024 }, { type: 'disabled' }),
  output_config: fc.constantFrom(null, {}, { effort: 'high' }, { effort: null }, { format: { type: 'json_schema', schema: { type: 'object', properties: {} } } }, { effort: 'low', format: { type: 'json_schema', schema: {} } }),
  stop_sequences: fc.constantFrom(null, ['END'], []), temperature: fc.constantFrom(null, 0, 0.5), stream: fc.boolean(),
  metadata: fc.constant({ user_id: 'u' }), context_management: fc.constant({ edits: [] }), chat_template_kwargs: fc.constantFrom(null, { a: 1 }),
}, { requiredKeys: ['model', 'max_tokens', 'messages'] })
