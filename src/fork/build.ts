// Splices a fork from slices of the evidence and of the summary request (R2, R4). Deterministic, and nothing in it is
// parsed and written again: what the two requests hold stays as they wrote it.

import { bytesOf, memberNamed, membersOf } from '../wire/json-slices.ts'
import { booleanAt, booleanOption, option, type ChatRequest, type Message } from '../wire/chat-request.ts'
import { member, object, ownToolChoice } from '../engine/prompt.ts'
import { roleOf } from './options.ts'

/** A message of the fork behind the head. */
export interface FollowingMessage {
  readonly role: string
  readonly json: Buffer
}

/** What a fork is made of. */
export interface ForkParts {
  readonly evidence: ChatRequest
  readonly summary: ChatRequest
  /** Leading messages of the evidence that are kept. */
  readonly headLength: number
  readonly following: readonly FollowingMessage[]
  /** The directive, a JSON message. */
  readonly directive: Buffer
}

export interface ForkSettings {
  /** Say `tool_choice: "none"`; else the evidence's own stays. */
  readonly toolChoiceNone: boolean
  /** The reply's token limit, or null for none of our making. */
  readonly maxTokens: number | null
}

/** Every message of the fork, each a JSON object. */
export function forkMessages({ evidence, headLength, following, directive }: ForkParts): Buffer[] {
  return [...evidence.messages.slice(0, headLength).map(({ slice }) => bytesOf(evidence.body, slice)), ...following.map(({ json }) => json), directive]
}

/** The evidence's messages, each a JSON object. */
export function ownMessages(request: ChatRequest): Buffer[] {
  return request.messages.map(({ slice }) => bytesOf(request.body, slice))
}

/** Messages of the summary request as they came. */
export function asFollowing(body: Buffer, messages: readonly Message[]): FollowingMessage[] {
  return messages.map(({ role, slice }) => ({ role, json: bytesOf(body, slice) }))
}

/** The `tool_choice` of a fork, as it stands in its body; null for none. */
export function forkToolChoice(evidence: ChatRequest, toolChoiceNone: boolean): Buffer | null {
  return toolChoiceNone && (evidence.tools?.length ?? 0) > 0 ? Buffer.from('"none"') : ownToolChoice(evidence)
}

/** The body of a fork. */
export function forkBody(parts: ForkParts, settings: ForkSettings): Buffer {
  const { evidence, summary } = parts
  const members: Buffer[] = []
  for (const { key, whole } of evidence.members) {
    if (key === 'messages') members.push(splicedMessages(parts))
    else if (key === 'tools' || roleOf(key) === 'prompt' || roleOf(key) === 'routing') members.push(bytesOf(evidence.body, whole))
  }
  const toolChoice = forkToolChoice(evidence, settings.toolChoiceNone)
  if (toolChoice) members.push(member('tool_choice', toolChoice))
  for (const { key, whole } of summary.members) {
    const role = roleOf(key)
    if (role === 'answer' || role === 'ignored' || key === 'stream') members.push(bytesOf(summary.body, whole))
  }
  members.push(...tokenLimit(summary, settings.maxTokens))
  if (streams(summary)) members.push(member('stream_options', streamOptions(summary)))
  members.push(member('return_token_ids', 'true'))
  return object(members)
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

/** The head in one piece, as the evidence wrote it, white space and all. */
function splicedMessages({ evidence, headLength, following, directive }: ForkParts): Buffer {
  const first = evidence.messages[0]!.slice
  const last = evidence.messages[headLength - 1]!.slice
  const behind = [...following.map(({ json }) => json), directive].flatMap((json) => [Buffer.from(','), json])
  return Buffer.concat([Buffer.from('"messages":['), evidence.body.subarray(first.start, last.end), ...behind, Buffer.from(']')])
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

/** Under the summary request's own names, so that the engine reads one value. */
function tokenLimit(summary: ChatRequest, maxTokens: number | null): Buffer[] {
  if (maxTokens === null) return []
  const named = ['max_tokens', 'max_completion_tokens'].filter((key) => option(summary, key) !== undefined)
  return (named.length > 0 ? named : ['max_tokens']).map((key) => member(key, String(maxTokens)))
}
