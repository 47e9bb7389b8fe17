import t from 'tap'
import { chatOptions } from '../../src/endpoint/chat-options.ts'
import { roleOf } from '../../src/endpoint/role.ts'
import { optionsAgainstFork } from '../../src/fork/options.ts'
import { calls, answer, readRequest, system, tool, user } from '../helpers/chat-requests.ts'

const messages = [system, user('one')]

/** The reason against a fork of a request with these members by a summary with those. */
function against(evidence: object, summary: object): string | null {
  return optionsAgainstFork(readRequest({ model: 'm', messages, ...evidence }), readRequest({ model: 'm', messages, ...summary }))
}

function againstRaw(evidence: string, summary: string): string | null {
  return optionsAgainstFork(readRequest(`{"messages":[{"role":"user","content":"a"}],${evidence}}`), readRequest(`{"messages":[{"role":"user","content":"a"}],${summary}}`))
}

/** What vLLM reads into the prompt, the cache key or the cache's use. */
const shapesThePrompt = [
  'model', 'reasoning_effort', 'documents', 'chat_template', 'chat_template_kwargs', 'add_generation_prompt', 'continue_final_message', 'add_special_tokens',
  'truncate_prompt_tokens', 'truncation_side', 'mm_processor_kwargs', 'media_io_kwargs', 'response_format', 'cache_salt', 'prompt_logprobs', 'kv_transfer_params', 'ec_transfer_params', 'vllm_xargs',
]

/** What acts on sampling and on the answer alone. */
const shapesTheAnswer = [
  'frequency_penalty', 'presence_penalty', 'repetition_penalty', 'logit_bias', 'logprobs', 'top_logprobs', 'logprob_token_ids', 'n', 'seed', 'stop', 'stop_token_ids', 'stream_interval',
  'temperature', 'top_p', 'top_k', 'min_p', 'length_penalty', 'use_beam_search', 'min_tokens', 'ignore_eos', 'include_stop_str_in_output', 'skip_special_tokens', 'spaces_between_special_tokens',
  'allowed_token_ids', 'bad_words', 'structured_outputs', 'guided_json', 'guided_regex', 'guided_choice', 'guided_grammar', 'parallel_tool_calls', 'include_reasoning', 'thinking_token_budget', 'echo', 'priority',
  'return_tokens_as_token_ids', 'return_token_offsets', 'return_prompt_text', 'return_assistant_tokens_mask', 'routed_experts_prompt_start', 'repetition_detection', 'watermarking',
]

t.test('every option of vLLM goes into a fork from where it belongs (R2)', async (t) => {
  for (const key of shapesThePrompt) t.equal(roleOf(chatOptions, key), 'prompt', key)
  for (const key of shapesTheAnswer) t.equal(roleOf(chatOptions, key), 'answer', key)
  for (const key of ['messages', 'tools', 'tool_choice', 'stream', 'stream_options', 'return_token_ids', 'max_tokens', 'max_completion_tokens']) t.equal(roleOf(chatOptions, key), 'planned', key)
  for (const key of ['metadata', 'user', 'store']) t.equal(roleOf(chatOptions, key), 'ignored', key)
  for (const key of ['session_id', 'prompt_cache_key']) t.equal(roleOf(chatOptions, key), 'routing', key)
  t.equal(roleOf(chatOptions, 'request_id'), 'per-request')
})

t.test('a member that nobody here knows shapes the prompt, whatever its name [case 34]', async (t) => {
  for (const key of ['future_option', '__proto__', 'constructor', 'toString', 'hasOwnProperty', '', 'Temperature', 'messages ']) t.equal(roleOf(chatOptions, key), 'prompt', key)
  t.equal(against({}, { future_option: 1 }), 'options_changed')
  t.equal(against({ future_option: 1 }, { future_option: 2 }), 'options_changed')
  t.equal(against({ future_option: 1 }, { future_option: 1 }), null)
  t.equal(against({ future_option: 1 }, {}), null)
  t.equal(againstRaw('"a":1', '"__proto__":{"x":1}'), 'options_changed')
  t.equal(againstRaw('"a":1', '"constructor":{"x":1}'), 'options_changed')
})

t.test('what the summary leaves out, or gives as null, it inherits [case 34]', async (t) => {
  for (const key of ['chat_template', 'chat_template_kwargs', 'reasoning_effort', 'documents', 'cache_salt', 'mm_processor_kwargs', 'model']) {
    t.equal(against({ [key]: 'x' }, { model: undefined }), null, key)
    t.equal(against({ [key]: 'x' }, { model: undefined, [key]: null }), null, key)
  }
})

t.test('another model, template, template argument or option has its reason [case 59]', async (t) => {
  t.equal(against({}, { model: 'other' }), 'model_changed')
  t.equal(against({ chat_template: 'a' }, { chat_template: 'b' }), 'template_changed')
  t.equal(against({}, { chat_template: 'b' }), 'template_changed')
  t.equal(against({ chat_template_kwargs: { enable_thinking: true } }, { chat_template_kwargs: { enable_thinking: false } }), 'template_changed')
  t.equal(against({ reasoning_effort: 'high' }, { reasoning_effort: 'low' }), 'options_changed')
  t.equal(against({}, { reasoning_effort: 'low' }), 'options_changed')
  t.equal(against({}, { documents: [] }), 'options_changed')
})

t.test('a cache salt is inherited, kept when equal, and never changed [case 58]', async (t) => {
  t.equal(against({ cache_salt: 's1' }, {}), null)
  t.equal(against({ cache_salt: 's1' }, { cache_salt: 's1' }), null)
  t.equal(against({ cache_salt: 's1' }, { cache_salt: 's2' }), 'options_changed')
  t.equal(against({}, { cache_salt: 's2' }), 'options_changed')
})

t.test('a value is the same but for white space between its parts, and not but for more', async (t) => {
  t.equal(againstRaw('"chat_template_kwargs":{"a":[1, 2],"b":"x y"}', '"chat_template_kwargs": { "a" : [ 1,2 ],\n"b": "x y" }'), null)
  t.equal(againstRaw('"chat_template_kwargs":{"b":"x y"}', '"chat_template_kwargs":{"b":"xy"}'), 'template_changed')
  t.equal(againstRaw('"chat_template_kwargs":{"b":"\\" x"}', '"chat_template_kwargs":{"b":"\\"x"}'), 'template_changed')
  t.equal(againstRaw('"chat_template_kwargs":{"b":"\\\\"}', '"chat_template_kwargs":{"b":"\\\\" }'), null)
  t.equal(againstRaw('"documents":[1.0]', '"documents":[1]'), 'options_changed')
  t.equal(againstRaw('"documents":[1]', '"documents":[1,2]'), 'options_changed')
  t.equal(againstRaw('"documents":[1,2]', '"documents":[1]'), 'options_changed')
  t.equal(againstRaw('"documents":{"a":1,"b":2}', '"documents":{"b":2,"a":1}'), 'options_changed')
})

t.test('very large values are compared without a fault', async (t) => {
  const text = 'x\\n'.repeat(3_000_000)
  t.equal(againstRaw(`"documents":["${text}"]`, `"documents": ["${text}"]`), null)
  t.equal(againstRaw(`"documents":["${text}"]`, `"documents": ["${text}y"]`), 'options_changed')
})

t.test('what shapes only the answer may differ', async (t) => {
  const evidence = { temperature: 1, stop: ['a'], seed: 1, max_tokens: 5, stream: true, user: 'u', metadata: { a: 1 }, structured_outputs: { json: {} }, thinking_token_budget: 5, echo: false }
  const summary = { temperature: 0, top_k: 4, max_completion_tokens: 9, stream: false, user: 'v', metadata: { b: 1 }, logit_bias: { 5: 1 }, prompt_cache_key: 'x', session_id: 'y', request_id: 'z', echo: false }
  t.equal(against(evidence, summary), null)
})

t.test('a reply format is kept only when both name the same', async (t) => {
  const format = { response_format: { type: 'json_object' } }
  t.equal(against(format, format), null)
  t.equal(against(format, {}), 'options_changed')
  t.equal(against({}, format), 'options_changed')
  t.equal(against(format, { response_format: { type: 'text' } }), 'options_changed')
})

t.test('some options make either request unforkable', async (t) => {
  const options: object[] = [
    { kv_transfer_params: {} }, { ec_transfer_params: {} }, { prompt_logprobs: 1 }, { prompt_logprobs: 0 }, { truncate_prompt_tokens: 5 }, { truncation_side: 'left' },
    { continue_final_message: true }, { continue_final_message: 'true' }, { continue_final_message: 1 }, { functions: [] }, { function_call: 'auto' }, { echo: true }, { use_beam_search: true },
    { add_generation_prompt: false }, { add_generation_prompt: 0 }, { add_generation_prompt: 'no' }, { add_generation_prompt: 'False' }, { n: 2 }, { n: '2' }, { n: 0 }, { n: [] }, { best_of: 3 },
  ]
  for (const option of options) {
    t.equal(against(option, {}), 'unforkable_options', `evidence ${JSON.stringify(option)}`)
    t.equal(against({}, option), 'unforkable_options', `summary ${JSON.stringify(option)}`)
    t.equal(against(option, option), 'unforkable_options', `both ${JSON.stringify(option)}`)
  }
})

t.test('their harmless values do not', async (t) => {
  for (const option of [{ n: 1 }, { n: null }, { n: '1' }, { prompt_logprobs: null }, { continue_final_message: false }, { add_generation_prompt: true }, { echo: false }, { use_beam_search: false }, { best_of: 1 }]) {
    t.equal(against(option, option), null, JSON.stringify(option))
  }
})

t.test('a token limit that the engine refuses is not sent in a fork', async (t) => {
  for (const limit of [0, -1, 1.5, 'many', [], {}]) {
    t.equal(against({}, { max_tokens: limit }), 'unforkable_options', JSON.stringify(limit))
    t.equal(against({}, { max_completion_tokens: limit }), 'unforkable_options', JSON.stringify(limit))
    t.equal(against({ max_tokens: limit }, {}), null, 'of the evidence it is not asked')
  }
  for (const limit of [1, '500', null, 2e3]) t.equal(against({}, { max_tokens: limit }), null, JSON.stringify(limit))
})

t.test('a forced tool is the form of the answer, so such a summary is not forked', async (t) => {
  const tools = [tool('look')]
  for (const choice of ['required', { type: 'function', function: { name: 'look' } }, 'else']) t.equal(against({ tools }, { tools, tool_choice: choice }), 'unforkable_options')
  for (const choice of ['auto', 'none', null]) t.equal(against({ tools }, { tools, tool_choice: choice }), null)
  t.equal(against({ tools, tool_choice: 'required' }, { tools }), null)
})

t.test('media of any kind is not supported, wherever it stands', async (t) => {
  const parts: object[] = [
    { type: 'image_url', image_url: { url: 'data:' } }, { type: 'input_audio', input_audio: {} }, { type: 'audio_url', audio_url: {} }, { type: 'video_url', video_url: {} }, { type: 'image_embeds', image_embeds: 'x' },
    { type: 'file', file: {} }, { type: 'a_kind_of_tomorrow', text: 'x' }, { image_url: 'x' }, { type: null, text: 'x' },
  ]
  for (const part of parts) {
    const content = [{ type: 'text', text: 'see' }, part]
    for (const role of ['user', 'tool', 'assistant', 'system']) t.equal(against({ messages: [{ role, content }] }, {}), 'media_unsupported', JSON.stringify(part))
    t.equal(against({}, { messages: [...messages, { role: 'user', content }] }), 'media_unsupported', JSON.stringify(part))
  }
  t.equal(againstRaw('"a":1', '"b":null') ?? 'none', 'none')
  const escaped = readRequest('{"messages":[{"role":"user","content":[{"ty\\u0070e":"image\\u005furl","image\\u005furl":{}}]}]}')
  t.equal(optionsAgainstFork(escaped, readRequest({ messages })), 'media_unsupported')
})

t.test('a text about media is a text', async (t) => {
  t.equal(against({ messages: [{ role: 'user', content: [{ type: 'text', text: 'image_url' }, { type: 'text', text: '"image_url"' }, 'input_audio'] }] }, {}), null)
  t.equal(against({ messages: [user('{"type":"image_url"}')], tools: [tool('image_url', { properties: { file: {} } })] }, {}), null)
})

t.test('calls whose arguments are no JSON object are rendered otherwise from version to version', async (t) => {
  const call = (args: unknown): object[] => [user('a'), { role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'look', arguments: args } }] }, answer('a')]
  for (const wrong of ['{"at":', '[1]', '"x"', '5', 'true', '{\'a\':1}', 'x', ' null', { at: 1 }, null, undefined]) {
    t.equal(against({ messages: call(wrong) }, {}), 'unforkable_options', JSON.stringify(wrong))
    t.equal(against({}, { messages: call(wrong) }), 'unforkable_options', JSON.stringify(wrong))
  }
  for (const right of ['{}', '{"at":1e400}', '{"a":1,"a":2}', ' {"a":"\\ud83d"}\n', '', 'null']) t.equal(against({ messages: call(right) }, {}), null, JSON.stringify(right))
  t.equal(against({ messages: [user('a'), calls('a', 'b'), answer('a'), answer('b')] }, {}), null)
})
