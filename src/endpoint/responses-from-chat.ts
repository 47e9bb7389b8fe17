// Turns a chat reply into a response, whole or event by event, with vLLM 0.32's keys in its order
// (vllm/entrypoints/openai/responses/serving.py and streaming_events.py). A reply made of token ids calls nothing.

import { randomUUID } from 'node:crypto'
import { bytesOf } from '../wire/json-slices.ts'
import { option } from '../wire/chat-request.ts'
import { isDone, type SseEvent } from '../wire/sse.ts'
import type { ReadRequest, ReplyTranslator } from './endpoint.ts'
import { readMadeReply, type MadeMessage, type MadeReply, type MadeUsage } from './made-chat-reply.ts'

type Kind = 'reasoning' | 'message'

export class ResponseTranslator implements ReplyTranslator {
  readonly #request: ReadRequest
  readonly #id = newId('resp')
  readonly #output: object[] = []
  #open: { readonly kind: Kind, readonly id: string, text: string } | null = null
  #sequence = 0
  #begun = false
  #ended = false
  #finish: string | null = null
  #chat: MadeReply = {}

  /** @param request that the reply answers: a response repeats what it asked for */
  constructor(request: ReadRequest) {
    this.#request = request
  }

  /** The response for a whole chat completion; an error body stays as it is. */
  reply(json: Buffer): Buffer {
    const chat = readMadeReply(json)
    const [choice] = chat?.choices ?? []
    if (!chat || chat.error || !choice) return json
    this.#chat = chat
    this.#finish = choice.finish_reason ?? null
    const { content, thinking } = textsOf(choice.message)
    if (thinking !== '') this.#output.push(doneItem('reasoning', newId('rs'), thinking, null))
    if (content !== '') this.#output.push(doneItem('message', newId('msg'), content, 'completed'))
    return Buffer.from(JSON.stringify(this.#response(chat.usage ?? null)))
  }

  /** The events for one chat event; comments and errors stay as they are, and the end mark has none. */
  events(event: SseEvent): SseEvent[] {
    if (event.data === null) return [event]
    if (isDone(event.data)) return this.#end(null)
    const chat = readMadeReply(event.data)
    if (!chat || chat.error) return [event]
    this.#chat = { ...this.#chat, ...chat }
    const events = this.#begin()
    const [choice] = chat.choices ?? []
    if (!choice) return [...events, ...this.#end(chat.usage ?? null)]
    const { content, thinking } = textsOf(choice.delta)
    if (thinking !== '') events.push(...this.#grow('reasoning', thinking))
    if (content !== '') events.push(...this.#grow('message', content))
    if (typeof choice.finish_reason === 'string') {
      this.#finish = choice.finish_reason
      events.push(...this.#close())
    }
    return events
  }

  #begin(): SseEvent[] {
    if (this.#begun) return []
    this.#begun = true
    return ['response.created', 'response.in_progress'].map((type) => this.#event(type, { response: this.#response(null) }))
  }

  #grow(kind: Kind, delta: string): SseEvent[] {
    const events = this.#open?.kind === kind ? [] : [...this.#close(), ...this.#start(kind)]
    const open = this.#open!
    open.text += delta
    const type = kind === 'reasoning' ? 'response.reasoning_text.delta' : 'response.output_text.delta'
    return [...events, this.#event(type, { ...this.#place(), delta, ...noLogprobs(kind) })]
  }

  #start(kind: Kind): SseEvent[] {
    const id = newId(kind === 'reasoning' ? 'rs' : 'msg')
    this.#open = { kind, id, text: '' }
    const item = kind === 'reasoning'
      ? { id, summary: [], type: 'reasoning', content: null, encrypted_content: null, status: 'in_progress' }
      : { id, content: [], role: 'assistant', status: 'in_progress', type: 'message', phase: null }
    const part = kind === 'reasoning' ? { text: '', type: 'reasoning_text' } : { annotations: [], text: '', type: 'output_text', logprobs: [] }
    return [
      this.#event('response.output_item.added', { item, output_index: this.#output.length }),
      this.#event('response.content_part.added', { ...this.#place(), part }),
    ]
  }

  #close(): SseEvent[] {
    const open = this.#open
    if (!open) return []
    const { kind, id, text } = open
    const item = doneItem(kind, id, text, 'completed')
    const events = [
      this.#event(kind === 'reasoning' ? 'response.reasoning_text.done' : 'response.output_text.done', { ...this.#place(), ...noLogprobs(kind), text }),
      this.#event('response.content_part.done', { ...this.#place(), part: partOf(kind, text) }),
      this.#event('response.output_item.done', { item, output_index: this.#output.length }),
    ]
    this.#output.push(item)
    this.#open = null
    return events
  }

  #end(usage: MadeUsage | null): SseEvent[] {
    // An end without a finish is none.
    if (this.#ended || this.#finish === null) return []
    this.#ended = true
    return [this.#event('response.completed', { response: this.#response(usage) })]
  }

  #place(): object {
    return { content_index: 0, item_id: this.#open!.id, output_index: this.#output.length }
  }

  /** An event's keys are in the order of the alphabet. */
  #event(type: string, members: object): SseEvent {
    const sorted = Object.entries({ ...members, sequence_number: this.#sequence++, type }).sort(([a], [b]) => (a < b ? -1 : 1))
    const lead = `event: ${type}\ndata: `
    const raw = Buffer.from(`${lead}${JSON.stringify(Object.fromEntries(sorted))}\n\n`)
    return { raw, data: raw.subarray(lead.length, -2) }
  }

  #response(usage: MadeUsage | null): object {
    const status = this.#finish === null ? 'in_progress' : this.#finish === 'length' ? 'incomplete' : 'completed'
    const tools = echoed(this.#request, 'tools') ?? []
    const echo = (key: string, otherwise: unknown = null): unknown => echoed(this.#request, key) ?? otherwise
    return {
      id: this.#id, created_at: this.#chat.created ?? Math.floor(Date.now() / 1000),
      incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
      instructions: echo('instructions'), metadata: echo('metadata'), model: this.#chat.model ?? echo('model'), object: 'response', output: [...this.#output],
      parallel_tool_calls: echo('parallel_tool_calls', true), temperature: echo('temperature'),
      tool_choice: Array.isArray(tools) && tools.length === 0 ? 'none' : echo('tool_choice', 'auto'), tools,
      top_p: echo('top_p'), background: false, max_output_tokens: echo('max_output_tokens'), max_tool_calls: echo('max_tool_calls'), previous_response_id: null,
      prompt: null, reasoning: echo('reasoning'), service_tier: echo('service_tier', 'auto'), status, text: echo('text'), top_logprobs: null,
      truncation: echo('truncation', 'disabled'), usage: usage && usageOf(usage), user: echo('user'), presence_penalty: echo('presence_penalty', 0),
      frequency_penalty: echo('frequency_penalty', 0), kv_transfer_params: null, ec_transfer_params: null, input_messages: null, output_messages: null,
    }
  }
}

function newId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll('-', '').slice(0, 16)}`
}

function noLogprobs(kind: Kind): object {
  return kind === 'message' ? { logprobs: [] } : {}
}

function partOf(kind: Kind, text: string): object {
  return kind === 'reasoning' ? { text, type: 'reasoning_text' } : { annotations: [], text, type: 'output_text', logprobs: null }
}

function doneItem(kind: Kind, id: string, text: string, status: string | null): object {
  return kind === 'reasoning'
    ? { id, summary: [], type: 'reasoning', content: [partOf(kind, text)], encrypted_content: null, status }
    : { id, content: [partOf(kind, text)], role: 'assistant', status, type: 'message', phase: null }
}

/**
 * What the engine did not say stays unsaid. Clients that know the details take none of them at all, not one without its
 * count (Codex: Option<{ reasoning_tokens: i64 }>); only what was written to the cache is not everywhere.
 */
function usageOf({ prompt_tokens: input = 0, completion_tokens: output = 0, prompt_tokens_details: details, completion_tokens_details: spent }: MadeUsage): object {
  const { cached_tokens: cached, created_cache_tokens: created } = details ?? {}
  const reasoning = spent?.reasoning_tokens
  const written = typeof created === 'number' ? { cache_write_tokens: created } : {}
  return {
    input_tokens: input,
    input_tokens_details: typeof cached === 'number' ? { cached_tokens: cached, ...written, input_tokens_per_turn: [], cached_tokens_per_turn: [] } : null,
    output_tokens: output,
    output_tokens_details: typeof reasoning === 'number' ? { reasoning_tokens: reasoning, tool_output_tokens: 0, output_tokens_per_turn: [], tool_output_tokens_per_turn: [] } : null,
    total_tokens: input + output,
  }
}

function textsOf(message: MadeMessage | undefined): { content: string, thinking: string } {
  return { content: message?.content ?? '', thinking: message?.reasoning ?? message?.reasoning_content ?? '' }
}

/** A request's own value, for the client to read: numbers and escapes may come out in another writing. */
function echoed(request: ReadRequest, key: string): unknown {
  const value = option(request, key)
  try {
    return value && JSON.parse(bytesOf(request.body, value).toString('utf8'))
  } catch {
    return undefined
  }
}
