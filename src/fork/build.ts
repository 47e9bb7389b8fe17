// Splices a fork from slices of the evidence and of the summary request (R2, R4). Deterministic, and nothing in it is
// parsed and written again: what the two requests hold stays as they wrote it. What each endpoint adds stands in its module.

import type { ReadRequest } from '../endpoint/endpoint.ts'
import { roleOf } from '../endpoint/role.ts'
import { array, member, ownToolChoice } from '../engine/prompt.ts'
import { bytesOf } from '../wire/json-slices.ts'
import { option, type ChatRequest, type Message } from '../wire/chat-request.ts'
import type { FollowingMessage, ForkParts } from './parts.ts'

/** Every message of the fork's chat form, each a JSON object. */
export function forkMessages({ evidence: { chat }, headLength, following, directive }: ForkParts): Buffer[] {
  return [...chat.messages.slice(0, headLength).map(({ slice }) => bytesOf(chat.body, slice)), ...following.map(({ json }) => json), directive]
}

/** A request's messages, each a JSON object. */
export function ownMessages(request: ChatRequest): Buffer[] {
  return request.messages.map(({ slice }) => bytesOf(request.body, slice))
}

/** Messages of the summary request that follow one another, as they came. */
export function asFollowing(summary: ReadRequest, messages: readonly Message[]): FollowingMessage[] {
  const { chat } = summary
  const first = messages.length === 0 ? 0 : chat.messages.indexOf(messages[0]!)
  return messages.map(({ role, slice }, i) => ({ role, json: bytesOf(chat.body, slice), items: itemsOf(summary, first + i) }))
}

/** A message of our own behind the head: every endpoint takes one of role and text as it is. */
export function ownFollowing(role: string, json: Buffer): FollowingMessage {
  return { role, json, items: json }
}

/** What one message is made of, from its first item to its last; empty where an item before holds it. */
function itemsOf({ body, items, itemsEnd }: ReadRequest, at: number): Buffer {
  const from = itemsEnd[at - 1] ?? 0
  const to = itemsEnd[at]!
  return from >= to ? nothing : body.subarray(items[from]!.start, items[to - 1]!.end)
}

const nothing = Buffer.alloc(0)

/** The `tool_choice` of a fork's chat form; null for none. */
export function forkToolChoice(evidence: ChatRequest, toolChoiceNone: boolean): Buffer | null {
  return toolChoiceNone && (evidence.tools?.length ?? 0) > 0 ? Buffer.from('"none"') : ownToolChoice(evidence)
}

/** What a fork has of the evidence: its items, its tools, and what shapes the prompt or decides which engine answers. */
export function keptMembers(parts: ForkParts): Buffer[] {
  const { endpoint, body, members } = parts.evidence
  const kept: Buffer[] = []
  for (const { key, whole } of members) {
    const role = roleOf(endpoint.options, key)
    if (key === endpoint.itemsKey) kept.push(splicedItems(parts))
    else if (key === 'tools' || role === 'prompt' || role === 'routing' || role === 'conversation') kept.push(bytesOf(body, whole))
  }
  return kept
}

/** What a fork has of the summary request: what shapes only the answer, and what vLLM ignores. */
export function answerMembers({ endpoint, body, members }: ReadRequest): Buffer[] {
  const isAnswer = (key: string): boolean => ['answer', 'ignored'].includes(roleOf(endpoint.options, key))
  return members.filter(({ key }) => key === 'stream' || isAnswer(key)).map(({ whole }) => bytesOf(body, whole))
}

/**
 * A token limit under the summary request's own names, so that the engine reads one value.
 * @param names that the endpoint knows; the first stands where the request gives none
 */
export function tokenLimit(summary: ReadRequest, maxTokens: number | null, names: readonly [string, ...string[]]): Buffer[] {
  if (maxTokens === null) return []
  const given = names.filter((key) => option(summary, key) !== undefined)
  return (given.length > 0 ? given : names.slice(0, 1)).map((key) => member(key, String(maxTokens)))
}

/** The head in one piece, as the evidence wrote it, white space and all. */
function splicedItems({ evidence: { endpoint, body, items, itemsEnd }, headLength, following, directive }: ForkParts): Buffer {
  const end = itemsEnd[headLength - 1] ?? 0
  const head = end === 0 ? nothing : body.subarray(items[0]!.start, items[end - 1]!.end)
  const parts = [head, ...following.map((message) => message.items), directive].filter((part) => part.length > 0)
  return member(endpoint.itemsKey, array(parts))
}
