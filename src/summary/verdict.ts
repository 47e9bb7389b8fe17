// Whether a reply is a summary (R9). Judges what was said, never repairs it.

import type { ReplyState } from '../wire/reply.ts'
import { hasToolMarkup } from './tool-markup.ts'
import { splitThinking } from './thinking.ts'

/** Every way to fail, with what the client is told. No message holds a phrase that agents take for a context overflow. */
export const verdicts = {
  summary_engine_error: 'The engine failed while it wrote the summary. Ask for the summary again.',
  summary_tool_call: 'The model answered the summary request with a tool call. Ask for the summary again.',
  summary_tool_markup: 'The model wrote a tool call as text in place of the summary. Ask for the summary again.',
  summary_special_tokens: "The model wrote its template's marks into the summary. Ask for the summary again.",
  summary_truncated: 'The summary was cut at its token limit. Ask for the summary again with a higher token limit.',
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
 * @param rawText the text came with its special tokens, as by the `tokens` placement
 */
export function judge(reply: ReplyState, toolNames: readonly string[], closingTag?: string, rawText = false): Verdict {
  if (reply.error) return invalid('summary_engine_error')
  if (reply.toolCalls || reply.finish === 'tool_calls') return invalid('summary_tool_call')
  const { visible, open } = splitThinking(reply.content, reply.thinking !== '')
  if (reply.finish === 'length') return invalid('summary_truncated')
  if (reply.finish !== 'stop') return invalid('summary_incomplete')
  if (open) return invalid('summary_thinking_open')
  // A reasoning parser that saw no end of thinking takes all of it for thinking.
  if (visible.trim() === '') return invalid(reply.thinking.trim() === '' ? 'summary_empty' : 'summary_thinking_open')
  if (rawText && hasSpecialTokens(visible)) return invalid('summary_special_tokens')
  if (hasToolMarkup(visible, toolNames)) return invalid('summary_tool_markup')
  if (closingTag !== undefined && !visible.includes(closingTag)) return invalid('summary_incomplete')
  return { valid: true }
}

/** Marks such as <|im_start|> or <｜User｜> at either end; in the middle a summary may quote them. */
function hasSpecialTokens(visible: string): boolean {
  return /^\s*<[|｜][^<>|｜\s]{1,40}[|｜]>|<[|｜][^<>|｜\s]{1,40}[|｜]>\s*$/u.test(visible)
}

function invalid(reason: InvalidReason): Verdict {
  return { valid: false, reason }
}
