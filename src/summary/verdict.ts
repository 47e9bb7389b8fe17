// Whether a reply is a summary (R9). Judges what was said, never repairs it.

import type { ReplyState } from '../wire/chat-reply.ts'
import { hasToolMarkup } from './tool-markup.ts'
import { splitThinking } from './thinking.ts'

/** Every way to fail, with what the client is told. No message holds a phrase that agents take for a context overflow. */
export const verdicts = {
  summary_engine_error: 'The engine failed while it wrote the summary. Ask for the summary again.',
  summary_tool_call: 'The model answered the summary request with a tool call. Ask for the summary again.',
  summary_tool_markup: 'The model wrote a tool call as text in place of the summary. Ask for the summary again.',
  summary_truncated: 'The summary was cut at its token limit. Ask for the summary again with a higher max_tokens.',
  summary_thinking_open: 'The model did not finish thinking, so there is no summary. Ask for the summary again.',
  summary_empty: 'The model answered the summary request with nothing. Ask for the summary again.',
  summary_incomplete: 'The summary ended before it was complete. Ask for the summary again.',
} as const

export type InvalidReason = keyof typeof verdicts

export type Verdict = { readonly valid: true } | { readonly valid: false, readonly reason: InvalidReason }

/**
 * @param reply the whole reply
 * @param toolNames names of the tools that the fork carries
 * @param closingTag what the agent's data file wants in the visible text
 */
export function judge(reply: ReplyState, toolNames: readonly string[], closingTag?: string): Verdict {
  if (reply.error) return invalid('summary_engine_error')
  if (reply.toolCalls || reply.finish === 'tool_calls') return invalid('summary_tool_call')
  const { visible, open } = splitThinking(reply.content)
  if (reply.finish === 'length') return invalid('summary_truncated')
  if (reply.finish !== 'stop') return invalid('summary_incomplete')
  if (open) return invalid('summary_thinking_open')
  if (visible.trim() === '') return invalid('summary_empty')
  if (hasToolMarkup(visible, toolNames)) return invalid('summary_tool_markup')
  if (closingTag !== undefined && !visible.includes(closingTag)) return invalid('summary_incomplete')
  return { valid: true }
}

function invalid(reason: InvalidReason): Verdict {
  return { valid: false, reason }
}
