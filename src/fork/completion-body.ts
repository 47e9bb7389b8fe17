// The body of a fork by the `tokens` placement: token ids for /v1/completions, with the summary request's sampling.
// What the chat options did to the prompt is in the ids already (vllm/entrypoints/openai/completion/protocol.py).

import { asksForTokenIds, streamOptions, streams } from '../endpoint/chat-body.ts'
import { chatOptions } from '../endpoint/chat-options.ts'
import { roleOf } from '../endpoint/role.ts'
import { bytesOf } from '../wire/json-slices.ts'
import { option, type ChatRequest } from '../wire/chat-request.ts'
import { member, object } from '../engine/prompt.ts'

export const completionsPath = '/v1/completions'

/** Options of the evidence that outlive rendering: they name the model, the cache key or the reply's grammar. */
const kept: ReadonlySet<string> = new Set(['model', 'cache_salt', 'vllm_xargs', 'response_format'])

/** Options of the summary request that only chat has and that a reply can do without. */
const chatOnly: ReadonlySet<string> = new Set(['n', 'parallel_tool_calls', 'include_reasoning', 'return_tokens_as_token_ids', 'skip_special_tokens'])

/** Options of the summary request whose answer completions would give in another shape, or refuse. */
const untranslatable = ['logprobs', 'top_logprobs', 'logprob_token_ids', 'return_token_offsets', 'return_prompt_text',
  'return_assistant_tokens_mask', 'thinking_token_budget', 'include_stop_str_in_output'] as const

/** Whether completions can give what this summary request asks for. */
export function completionsCanServe(summary: ChatRequest): boolean {
  return !asksForTokenIds(summary) && !untranslatable.some((key) => {
    const value = option(summary, key)
    return value !== undefined && summary.body[value.start] !== 0x66 // false
  })
}

/**
 * @param ids the fork's prompt
 * @param maxTokens always said: completions would stop after 16 tokens otherwise
 */
export function completionBody(evidence: ChatRequest, summary: ChatRequest, ids: Uint32Array, maxTokens: number): Buffer {
  const members: Buffer[] = []
  for (const { key, whole } of evidence.members) {
    if (kept.has(key) || roleOf(chatOptions, key) === 'routing') members.push(bytesOf(evidence.body, whole))
  }
  for (const { key, whole } of summary.members) {
    const role = roleOf(chatOptions, key)
    if (key === 'stream' || ((role === 'answer' || role === 'ignored') && !chatOnly.has(key))) members.push(bytesOf(summary.body, whole))
  }
  // The marks of some families are special tokens and would vanish from the text.
  members.push(member('max_tokens', String(maxTokens)), member('skip_special_tokens', 'false'))
  if (streams(summary)) members.push(member('stream_options', streamOptions(summary)))
  members.push(member('prompt', `[${ids.join(',')}]`))
  return object(members)
}
