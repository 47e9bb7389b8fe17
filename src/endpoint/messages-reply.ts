// What a reply of the messages endpoint said, in chat's words.

import { tokenCount, type ReplyState, type Usage } from '../wire/reply.ts'
import type { SseEvent } from '../wire/sse.ts'

/** The parts of vLLM's replies and events that are read; all of it may be missing. */
interface WireEvent {
  type?: unknown
  message?: WireReply | null
  content_block?: WireBlock | null
  delta?: { type?: unknown, text?: unknown, thinking?: unknown, stop_reason?: unknown } | null
  usage?: WireUsage | null
  error?: unknown
}

interface WireReply {
  type?: unknown
  content?: (WireBlock | null)[] | null
  stop_reason?: unknown
  usage?: WireUsage | null
  error?: unknown
}

interface WireBlock {
  type?: unknown
  text?: unknown
  thinking?: unknown
}

interface WireUsage {
  input_tokens?: unknown
  output_tokens?: unknown
  cache_read_input_tokens?: unknown
  cache_creation_input_tokens?: unknown
}

/** Adds what one event of a stream says. @returns whether it says something: text beyond white space, thinking, a call, a finish or an error */
export function addEvent(state: ReplyState, { data }: SseEvent): boolean {
  const event = data && parsed<WireEvent>(data)
  if (!event) return false
  switch (event.type) {
    case 'message_start':
      addUsage(state, event.message?.usage)
      return false
    case 'content_block_start':
      return addBlock(state, event.content_block ?? {})
    case 'content_block_delta':
      return addBlock(state, event.delta ?? {})
    case 'message_delta':
      addUsage(state, event.usage)
      return addFinish(state, event.delta?.stop_reason)
    case 'message_stop':
      state.done = true
      return false
    default:
      return addError(state, event.error)
  }
}

/** Adds what a whole reply says. */
export function addReply(state: ReplyState, json: Buffer): void {
  const reply = parsed<WireReply>(json)
  if (!reply || addError(state, reply.error)) return
  for (const block of Array.isArray(reply.content) ? reply.content : []) addBlock(state, block ?? {})
  addUsage(state, reply.usage)
  addFinish(state, reply.stop_reason)
}

function addBlock(state: ReplyState, { type, text, thinking }: WireBlock): boolean {
  if (type === 'tool_use') state.toolCalls = true
  if (typeof text === 'string') state.content += text
  if (typeof thinking === 'string') state.thinking += thinking
  return type === 'tool_use' || (typeof text === 'string' && text.trim() !== '') || (typeof thinking === 'string' && thinking !== '')
}

const finishes: Readonly<Record<string, string>> = { end_turn: 'stop', stop_sequence: 'stop', tool_use: 'tool_calls', max_tokens: 'length' }

function addFinish(state: ReplyState, reason: unknown): boolean {
  if (typeof reason !== 'string') return false
  state.finish = finishes[reason] ?? reason
  return true
}

function addError(state: ReplyState, error: unknown): boolean {
  if (error === undefined || error === null) return false
  state.error = true
  return true
}

/** The first event counts the prompt whole; the last, and a whole reply, without what was cached (_build_anthropic_usage). */
function addUsage(state: ReplyState, usage: WireUsage | null | undefined): void {
  if (typeof usage !== 'object' || usage === null) return
  const read: Usage = {
    promptTokens: promptTokens(usage) ?? state.usage?.promptTokens ?? null,
    completionTokens: tokenCount(usage.output_tokens),
    cachedTokens: tokenCount(usage.cache_read_input_tokens),
  }
  state.usage = read
}

/** All tokens of the prompt that a usage counts, or null. */
export function promptTokens(usage: WireUsage): number | null {
  const counts = [usage.input_tokens, usage.cache_read_input_tokens ?? 0, usage.cache_creation_input_tokens ?? 0].map(tokenCount)
  return counts.every((count) => count !== null) ? counts.reduce((sum, count) => sum! + count!, 0) : null
}

function parsed<T extends object>(json: Buffer): T | null {
  try {
    const value: unknown = JSON.parse(json.toString('utf8'))
    return typeof value === 'object' && value !== null ? value as T : null
  } catch {
    return null
  }
}
