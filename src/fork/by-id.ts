// A summary by conversation id: its messages hold only the directive, or nothing, and the fork covers the whole evidence.

import { evidenceRequest, type Evidence } from '../conversation/evidence.ts'
import type { ReadRequest } from '../endpoint/endpoint.ts'
import { directive } from '../summary/directive.ts'
import { openGroup } from '../summary/tool-groups.ts'
import type { Reason } from '../receipt/reasons.ts'
import { ownFollowing } from './build.ts'
import type { ForkParts } from './parts.ts'

/** The longest of a conversation's lines, one at least: side requests that share the id are short. */
export function mainLine(lines: readonly Evidence[]): { evidence: Evidence, request: ReadRequest } | { reason: Reason } {
  const read = lines.flatMap((evidence) => {
    const request = evidenceRequest(evidence)
    return request ? [{ evidence, request }] : []
  })
  if (read.length === 0) return { reason: 'unreadable_body' }
  const longest = Math.max(...read.map(({ request }) => request.chat.messages.length))
  const [line, ...equal] = read.filter(({ request }) => request.chat.messages.length === longest)
  return equal.length > 0 ? { reason: 'ambiguous_conversation' } : line!
}

/** @returns the fork's parts, or the reason against one */
export function partsById(evidence: Evidence, request: ReadRequest, summary: ReadRequest): ForkParts | { reason: Reason } {
  if (openGroup(request.chat.messages) >= 0 || evidence.finish === 'tool_calls') return { reason: 'incomplete_tool_group' }
  const { body, messages, frontLength } = summary.chat
  const front = messages.slice(0, frontLength).map(({ slice }) => slice)
  const rest = messages.slice(frontLength)
  if (rest.length > 1 || (rest.length === 1 && rest[0]!.role !== 'user')) return { reason: 'coverage_unproven' }
  const message = directive(body, front, rest[0]?.slice ?? null)
  if (message === null) return { reason: 'media_unsupported' }
  const reply = evidence.replyText === null ? [] : [ownFollowing('assistant', Buffer.from(JSON.stringify({ role: 'assistant', content: evidence.replyText })))]
  return { evidence: request, summary, headLength: request.chat.messages.length, following: reply, directive: message }
}
