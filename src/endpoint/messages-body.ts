// The body of a fork on the messages endpoint.

import { member, object } from '../engine/prompt.ts'
import { answerMembers, keptMembers, tokenLimit } from '../fork/build.ts'
import type { ForkParts, ForkSettings } from '../fork/parts.ts'
import { numberOption, option } from '../wire/chat-request.ts'
import { bytesOf, memberNamed } from '../wire/json-slices.ts'
import type { ReadRequest } from './endpoint.ts'
import { budgetOf } from './messages-to-chat.ts'

/** The fork's body; `max_tokens` is the summary request's or what the plan leaves of it, as the endpoint requires one. */
export function messagesForkBody(parts: ForkParts, settings: ForkSettings): Buffer {
  const { evidence, summary } = parts
  const own = option(evidence, 'tool_choice')
  const toolChoice = settings.toolChoiceNone && (evidence.chat.tools?.length ?? 0) > 0 ? '{"type":"none"}' : own && bytesOf(evidence.body, own)
  const limit = tokenLimit(summary, settings.maxTokens, ['max_tokens'])
  const asked = option(summary, 'max_tokens')
  const overBudget = thinksTooLong(evidence, settings.maxTokens ?? numberOption(summary, 'max_tokens'))
  return object([
    ...keptMembers(parts).filter((kept) => !overBudget?.equals(kept)),
    ...(toolChoice ? [member('tool_choice', toolChoice)] : []),
    ...answerMembers(summary),
    // vLLM refuses a request without it.
    ...(limit.length === 0 && asked ? [member('max_tokens', bytesOf(summary.body, asked))] : limit),
  ])
}

/** A budget of thinking that a limit of tokens does not hold: vLLM would refuse the fork, and its prompt shows none of it. */
function thinksTooLong({ body, members }: ReadRequest, limit: number | null): Buffer | null {
  const thinking = memberNamed(members, 'thinking')
  const budget = thinking && budgetOf(body, thinking.value)
  return thinking && budget && limit !== null && Number(bytesOf(body, budget)) >= limit ? bytesOf(body, thinking.whole) : null
}
