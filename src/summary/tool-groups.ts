// Tool groups: an assistant message with tool calls and all the tool messages that answer it. Never cut in two (R3).

import type { ReadRequest } from '../endpoint/endpoint.ts'
import { isCut } from '../endpoint/items.ts'
import type { Message } from '../wire/chat-request.ts'

/**
 * Whether the last tool group of a run of messages lacks an answer.
 * @returns index of the assistant message whose calls are not all answered, or -1
 */
export function openGroup(messages: readonly Message[]): number {
  const caller = messages.findLastIndex((message) => message.callIds.length > 0)
  if (caller < 0) return -1
  const answers = messages.slice(caller + 1).filter((message) => message.role === 'tool')
  const ids = new Set(answers.map((message) => message.answers))
  const { callIds } = messages[caller]!
  // Where an id is missing, counting is all that is left.
  const answered = callIds.every((id) => ids.has(id)) || (callIds.includes('') && answers.length >= callIds.length)
  return answered ? -1 : caller
}

/** Whether any tool group that begins in these messages lacks an answer. */
export function hasOpenGroup(messages: readonly Message[]): boolean {
  const callers = messages.flatMap((message, i) => (message.callIds.length > 0 ? [i] : []))
  return callers.some((caller, i) => openGroup(messages.slice(caller, callers[i + 1])) >= 0)
}

/**
 * The longest leading part of a run that ends at a complete tool group.
 * @param messages all messages of the evidence
 * @param length how many of them the run has
 * @param next the message that follows the run in the summary request, if one does
 */
export function endAtGroup(messages: readonly Message[], length: number, next?: Message): number {
  const run = messages.slice(0, length)
  const open = openGroup(run)
  if (open >= 0) return open
  // A call may be answered more than once: its group goes on behind the run.
  if (messages[length]?.role === 'tool' || next?.role === 'tool') return Math.max(0, run.findLastIndex((message) => message.callIds.length > 0))
  return length
}

/**
 * The same, and where the evidence's own items can be cut.
 * @param canCut further places that will not do
 */
export function endOfHead(evidence: ReadRequest, length: number, next?: Message, canCut: (length: number) => boolean = () => true): number {
  const { messages } = evidence.chat
  let end = endAtGroup(messages, length, next)
  while (end > 0 && !(isCut(evidence, end) && canCut(end))) end = endAtGroup(messages, end - 1)
  return end
}
