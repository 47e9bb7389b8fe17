// The body of a fork on the messages endpoint.

import { member, object } from '../engine/prompt.ts'
import { answerMembers, keptMembers, tokenLimit } from '../fork/build.ts'
import type { ForkParts, ForkSettings } from '../fork/parts.ts'
import { option } from '../wire/chat-request.ts'
import { bytesOf } from '../wire/json-slices.ts'

export function messagesForkBody(parts: ForkParts, settings: ForkSettings): Buffer {
  const { evidence, summary } = parts
  const own = option(evidence, 'tool_choice')
  const toolChoice = settings.toolChoiceNone && (evidence.chat.tools?.length ?? 0) > 0 ? '{"type":"none"}' : own && bytesOf(evidence.body, own)
  const limit = tokenLimit(summary, settings.maxTokens, ['max_tokens'])
  const asked = option(summary, 'max_tokens')
  return object([
    ...keptMembers(parts),
    ...(toolChoice ? [member('tool_choice', toolChoice)] : []),
    ...answerMembers(summary),
    // vLLM wants one.
    ...(limit.length === 0 && asked ? [member('max_tokens', bytesOf(summary.body, asked))] : limit),
  ])
}
