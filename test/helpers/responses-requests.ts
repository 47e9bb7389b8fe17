// Responses requests of every form that agents send and some that they do not, for property tests.

import fc from 'fast-check'

const text = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 8 }), fc.constantFrom('', 'a "b" \\ c', '漢é👩‍👩‍👧\n', '\u0000\u007f', '{"input": "x"}'))
const name = fc.stringMatching(/^[a-z_]{1,6}$/)
const inputText = text.map((text) => ({ type: 'input_text', text }))
const content = fc.oneof(text, fc.array(inputText, { maxLength: 3 }))

const turn = fc.record({ type: fc.constant('message'), role: fc.constantFrom('user', 'system', 'developer'), content })
const said = fc.array(text.map((text) => ({ type: 'output_text', text, annotations: [] })), { minLength: 1, maxLength: 2 })
const assistant = fc.oneof(
  fc.record({ type: fc.constant('message'), role: fc.constant('assistant'), content: said }),
  fc.record({ type: fc.constant('message'), role: fc.constant('assistant'), content: said, id: fc.constant('msg_1'), status: fc.constant('completed') }),
  fc.record({ role: fc.constant('assistant'), content: text }),
)
const reasoning = fc.record({
  type: fc.constant('reasoning'), summary: fc.array(text.map((text) => ({ type: 'summary_text', text })), { maxLength: 2 }),
  content: fc.option(fc.array(text.map((text) => ({ type: 'reasoning_text', text })), { maxLength: 2 })),
  encrypted_content: fc.constantFrom(null, ''), id: fc.constant('rs_1'),
}, { requiredKeys: ['type', 'summary'] })
const call = fc.record({
  type: fc.constant('function_call'), call_id: name, name, arguments: fc.oneof(fc.json({ maxDepth: 2 }), text),
  namespace: fc.constantFrom(null, '', 'space'), status: fc.constantFrom(null, 'completed'), id: fc.constant('fc_1'),
}, { requiredKeys: ['type', 'call_id', 'name', 'arguments'] })
const customCall = fc.record({ type: fc.constant('custom_tool_call'), call_id: name, name, input: text })
const output = fc.record({ type: fc.constantFrom('function_call_output', 'custom_tool_call_output'), call_id: name, output: content })
const loop = fc.tuple(fc.array(reasoning, { maxLength: 1 }), fc.array(fc.oneof(call, customCall), { minLength: 1, maxLength: 2 }), fc.array(output, { maxLength: 2 })).map((parts) => parts.flat())

export const inputItems = fc.array(fc.oneof(turn.map((item) => [item]), assistant.map((item) => [item]), reasoning.map((item) => [item]), loop), { minLength: 1, maxLength: 8 })
  .map((groups): object[] => groups.flat())

const parameters = fc.constantFrom({ type: 'object', properties: { at: { type: 'string' } }, required: ['at'], additionalProperties: false }, { type: 'object', properties: {} })
const functionTool = fc.record({
  type: fc.constant('function'), name, description: fc.option(text), parameters, strict: fc.constantFrom(null, true, false),
}, { requiredKeys: ['type', 'name', 'parameters'] })
const tools = fc.array(fc.oneof(
  functionTool,
  fc.record({ type: fc.constant('custom'), name, description: text, format: fc.constantFrom({ type: 'text' }) }, { requiredKeys: ['type', 'name'] }),
  fc.record({ type: fc.constant('namespace'), name, description: text, tools: fc.array(functionTool, { minLength: 1, maxLength: 2 }) }),
  fc.constant({ type: 'web_search' }),
), { maxLength: 3 })

/** Bodies that vLLM takes. */
export const responsesBodies = fc.record({
  model: fc.constant('m'), input: fc.oneof({ weight: 1, arbitrary: text }, { weight: 9, arbitrary: inputItems }),
  instructions: fc.option(text), tools, tool_choice: fc.constantFrom('auto', 'none'),
  reasoning: fc.constantFrom(null, {}, { effort: 'high', summary: 'auto' }, { effort: 'none' }, { effort: null }),
  text: fc.constantFrom(null, { verbosity: 'low' }, { format: { type: 'text' } }), max_output_tokens: fc.constantFrom(null, 5),
  truncation: fc.constantFrom(null, 'disabled'), store: fc.boolean(),
}, { requiredKeys: ['model', 'input'] })
