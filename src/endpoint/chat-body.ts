// The body of a fork on the chat endpoint, and what a chat request asks of its answer.

import { member, object } from '../engine/prompt.ts'
import { answerMembers, forkToolChoice, keptMembers, tokenLimit } from '../fork/build.ts'
import type { ForkParts, ForkSettings } from '../fork/parts.ts'
import { booleanAt, booleanOption, option, type ChatRequest } from '../wire/chat-request.ts'
import { bytesOf, memberNamed, membersOf } from '../wire/json-slices.ts'

export function chatForkBody(parts: ForkParts, settings: ForkSettings): Buffer {
  const { evidence, summary } = parts
  const toolChoice = forkToolChoice(evidence.chat, settings.toolChoiceNone)
  return object([
    ...keptMembers(parts),
    ...(toolChoice ? [member('tool_choice', toolChoice)] : []),
    ...answerMembers(summary),
    ...tokenLimit(summary, settings.maxTokens, ['max_tokens', 'max_completion_tokens']),
    ...(streams(summary.chat) ? [member('stream_options', streamOptions(summary.chat))] : []),
    member('return_token_ids', 'true'),
  ])
}

/** Whether a request asks for a stream. */
export function streams(request: ChatRequest): boolean {
  return booleanOption(request, 'stream') === true
}

/** Whether a streaming client asked for the usage event. */
export function asksForUsage(request: ChatRequest): boolean {
  const options = option(request, 'stream_options')
  const usage = options && memberNamed(membersOf(request.body, options.start) ?? [], 'include_usage')
  return usage !== undefined && booleanAt(request.body, usage.value) === true
}

/** Whether a client asked for token ids itself. */
export function asksForTokenIds(request: ChatRequest): boolean {
  return booleanOption(request, 'return_token_ids') === true
}

/** The `stream_options` of a fork: usage is our only observation of reuse. Continuous usage comes only to who asked for usage. */
export function streamOptions(summary: ChatRequest): Buffer {
  const options = option(summary, 'stream_options')
  const dropped = asksForUsage(summary) ? ['include_usage'] : ['include_usage', 'continuous_usage_stats']
  const kept = options
    ? (membersOf(summary.body, options.start) ?? []).filter(({ key }) => !dropped.includes(key)).map(({ whole }) => bytesOf(summary.body, whole))
    : []
  return object([...kept, member('include_usage', 'true')])
}
