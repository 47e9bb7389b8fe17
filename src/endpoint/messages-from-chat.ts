// Turns a chat reply into one of the messages endpoint, whole or event by event, as vLLM 0.32 writes them
// (vllm/entrypoints/anthropic/serving.py). A reply made of token ids calls nothing.

import { randomUUID } from 'node:crypto'
import { isDone, type SseEvent } from '../wire/sse.ts'
import type { ReplyTranslator } from './endpoint.ts'
import { readMadeReply, type MadeMessage, type MadeReply, type MadeUsage } from './made-chat-reply.ts'

export class MessageTranslator implements ReplyTranslator {
  readonly #promptTokens: number
  #begun = false
  #index = 0
  #open: 'thinking' | 'text' | null = null
  #stop: { reason: string | null, sequence: string | null } = { reason: null, sequence: null }
  #ended = false

  /** @param promptTokens of the fork: they are said before the engine has counted */
  constructor(promptTokens: number) {
    this.#promptTokens = promptTokens
  }

  /** The message for a whole chat completion; an error body stays as it is. */
  reply(json: Buffer): Buffer {
    const chat = readMadeReply(json)
    const [choice] = chat?.choices ?? []
    if (!chat || chat.error || !choice) return json
    const { text, thinking } = textsOf(choice.message)
    const stop = stopOf(choice.finish_reason, choice.stop_reason)
    const content = [
      ...(thinking === '' ? [] : [{ type: 'thinking', thinking, signature: newSignature() }]),
      // An empty reply has one empty text.
      ...(text !== '' || thinking === '' ? [{ type: 'text', text }] : []),
    ]
    return Buffer.from(JSON.stringify({
      id: chat.id, type: 'message', role: 'assistant', content, model: chat.model,
      // A whole reply leaves out what is null.
      ...(stop.reason === null ? {} : { stop_reason: stop.reason }), ...(stop.sequence === null ? {} : { stop_sequence: stop.sequence }), usage: this.#usage(chat.usage),
    }))
  }

  /** The events for one chat event; comments and errors stay as they are. */
  events(event: SseEvent): SseEvent[] {
    if (event.data === null) return [event]
    if (isDone(event.data)) return [...this.#close(), ...this.#end(null), written('message_stop', {})]
    const chat = readMadeReply(event.data)
    if (!chat || chat.error) return [event]
    const events = this.#begin(chat)
    const [choice] = chat.choices ?? []
    if (!choice) return [...events, ...this.#close(), ...this.#end(chat.usage)]
    const { text, thinking } = textsOf(choice.delta)
    if (thinking !== '') events.push(...this.#grow('thinking', { type: 'thinking_delta', thinking }))
    if (text !== '') events.push(...this.#grow('text', { type: 'text_delta', text }))
    if (typeof choice.finish_reason === 'string') this.#stop = stopOf(choice.finish_reason, choice.stop_reason)
    return events
  }

  /** vLLM's error object as it writes it here (anthropic/api_router.py); what is none, its middleware says alike on every route. */
  error(body: Buffer): Buffer {
    const { type, message } = (readMadeReply(body)?.error ?? {}) as { type?: unknown, message?: unknown }
    return typeof type === 'string' && typeof message === 'string' ? Buffer.from(JSON.stringify({ type: 'error', error: { type, message } })) : body
  }

  #begin(chat: MadeReply): SseEvent[] {
    if (this.#begun) return []
    this.#begun = true
    const message = {
      id: chat.id, type: 'message', role: 'assistant', content: [], model: chat.model, stop_reason: null, stop_sequence: null, usage: { input_tokens: this.#promptTokens, output_tokens: 0 },
    }
    return [written('message_start', { message })]
  }

  #grow(kind: 'thinking' | 'text', delta: object): SseEvent[] {
    const events: SseEvent[] = []
    if (this.#open !== kind) {
      events.push(...this.#close(), written('content_block_start', { index: this.#index, content_block: { type: kind, [kind]: '' } }))
      this.#open = kind
    }
    return [...events, written('content_block_delta', { index: this.#index, delta })]
  }

  #close(): SseEvent[] {
    if (this.#open === null) return []
    const signed = this.#open === 'thinking' ? [written('content_block_delta', { index: this.#index, delta: { type: 'signature_delta', signature: newSignature() } })] : []
    this.#open = null
    return [...signed, written('content_block_stop', { index: this.#index++ })]
  }

  #end(usage: MadeUsage | null | undefined): SseEvent[] {
    if (this.#ended || this.#stop.reason === null) return []
    this.#ended = true
    return [written('message_delta', { delta: { stop_reason: this.#stop.reason, stop_sequence: this.#stop.sequence }, usage: this.#usage(usage) })]
  }

  /** What was cached is counted apart where the engine tells it (_build_anthropic_usage). */
  #usage(usage: MadeUsage | null | undefined): object {
    const { cached_tokens: read, created_cache_tokens: created } = usage?.prompt_tokens_details ?? {}
    return {
      input_tokens: Math.max(0, (usage?.prompt_tokens ?? this.#promptTokens) - (read ?? 0) - (created ?? 0)),
      output_tokens: usage?.completion_tokens ?? 0,
      ...(typeof created === 'number' ? { cache_creation_input_tokens: created } : {}),
      ...(typeof read === 'number' ? { cache_read_input_tokens: read } : {}),
    }
  }
}

function stopOf(finish: string | null | undefined, stop: unknown): { reason: string | null, sequence: string | null } {
  if (finish === 'length') return { reason: 'max_tokens', sequence: null }
  if (finish !== 'stop') return { reason: null, sequence: null }
  return typeof stop === 'string' ? { reason: 'stop_sequence', sequence: stop } : { reason: 'end_turn', sequence: null }
}

function textsOf(message: MadeMessage | undefined): { text: string, thinking: string } {
  return { text: message?.content ?? '', thinking: message?.reasoning ?? message?.reasoning_content ?? '' }
}

/** No client can check it: vLLM makes one at random too. */
function newSignature(): string {
  return randomUUID().replaceAll('-', '')
}

function written(type: string, members: object): SseEvent {
  const data = Buffer.from(JSON.stringify({ type, ...members }))
  return { raw: Buffer.concat([Buffer.from(`event: ${type}\ndata: `), data, Buffer.from('\n\n')]), data }
}
