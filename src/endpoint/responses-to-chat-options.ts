// The chat options that vLLM makes of the options of a responses request.
// Source: vLLM 0.32, vllm/entrypoints/openai/responses/protocol.py.

import { member, object } from '../engine/prompt.ts'
import { stringMember } from '../wire/chat-request.ts'
import { bytesOf, isNull, memberNamed, membersOf, stringAt, stringNamed, type Member, type Slice } from '../wire/json-slices.ts'

/** Members that chat has under the same name with the same meaning. */
const sameOptions: ReadonlySet<string> = new Set([
  'model', 'stream', 'temperature', 'top_p', 'top_k', 'min_p', 'presence_penalty', 'frequency_penalty', 'repetition_penalty',
  'logit_bias', 'seed', 'stop', 'stop_token_ids', 'ignore_eos', 'skip_special_tokens', 'include_stop_str_in_output',
  'structured_outputs', 'parallel_tool_calls', 'include_reasoning', 'priority', 'watermarking', 'cache_salt', 'vllm_xargs',
  'chat_template_kwargs', 'media_io_kwargs', 'mm_processor_kwargs', 'session_id', 'prompt_cache_key', 'metadata', 'user',
])

/** @returns null where an option may cut the prompt */
export function optionsOf(body: Buffer, members: readonly Member[]): Buffer[] | null {
  const made: Buffer[] = []
  for (const { key, whole, value } of members) {
    if (sameOptions.has(key)) made.push(bytesOf(body, whole))
    if (isNull(body, value)) continue
    if (key === 'truncation' && stringAt(body, value) !== 'disabled') return null
    if (key === 'max_output_tokens') made.push(member('max_tokens', bytesOf(body, value)))
    if (key === 'reasoning') made.push(...effortOf(body, value))
    if (key === 'text') made.push(...grammarOf(body, value))
    if (key === 'include' && bytesOf(body, value).includes('"message.output_text.logprobs"')) made.push(member('logprobs', 'true'))
  }
  return made
}

function effortOf(body: Buffer, reasoning: Slice): Buffer[] {
  const effort = stringNamed(body, membersOf(body, reasoning.start) ?? [], 'effort')
  return effort ? [member('reasoning_effort', effort)] : []
}

/** vLLM makes a grammar of the format and shows nothing of it to the model (extract_structured_outputs). */
function grammarOf(body: Buffer, text: Slice): Buffer[] {
  const format = memberNamed(membersOf(body, text.start) ?? [], 'format')?.value
  const type = format && stringMember(body, format, 'type')
  if (!format || !type) return []
  if (type === 'json_object') return [member('structured_outputs', object([member('json_object', 'true')]))]
  const schema = type === 'json_schema' ? memberNamed(membersOf(body, format.start) ?? [], 'schema')?.value : undefined
  return schema ? [member('structured_outputs', object([member('json', bytesOf(body, schema))]))] : []
}
