// POST /v1/messages: the reply as blocks, whole or event by event, in vLLM 0.32's JSON
// (vllm/entrypoints/anthropic/serving.py), and its errors in Anthropic's form.

import { randomUUID } from 'node:crypto'
import { type Answer, jsonAnswer, send } from './answer.ts'
import { parserChoice, toolCallId, visible } from './chat.ts'
import { errorObject, Refusal } from './errors.ts'
import { startGeneration, type GenerationContext } from './generation.ts'
import { IncrementalText } from './incremental-text.ts'
import type { MessagesRequest } from './messages-request.ts'
import type { Settings } from './options.ts'
import type { Reply } from './reply.ts'
import { parseReply, ReplyStream, type ToolCallDelta } from './reply-parser.ts'
import { openEventStream, type EventStream } from './stream.ts'

export interface MessagesJob {
  readonly id: string
  readonly model: string
  readonly request: MessagesRequest
  readonly prompt: readonly number[]
  readonly limit: number
  readonly reply: Reply
  readonly settings: Settings
}

/** vLLM's error object in Anthropic's words; one about a field, made before the endpoint is asked, stays as it is. */
export function inAnthropicForm(answer: Answer): Answer {
  try {
    const { error } = JSON.parse(answer.body.toString()) as { error?: { type: string, message: string } | string }
    return typeof error === 'object' && error.type !== 'Bad Request' ? jsonAnswer(answer.status, { type: 'error', error: { type: error.type, message: error.message } }) : answer
  } catch {
    return answer
  }
}

export function refusedInAnthropicForm<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw error instanceof Refusal ? new Refusal(inAnthropicForm(error.answer)) : error
  }
}

export function answerMessages(context: GenerationContext, job: MessagesJob): void {
  const { options } = job.request
  const choice = parserChoice(job.settings, options)
  const decoder = new IncrementalText(context.tokenizer, options.skipSpecialTokens && !choice.tools)
  const stream = options.stream ? new BlockStream(openEventStream(context.response), job) : null
  const parser = new ReplyStream(choice, toolCallId)
  let whole = ''
  let completion = 0
  let end = { finish: '', stop: null as string | null }
  const run = startGeneration(context, [{ prompt: job.prompt, limit: job.limit }], options, job.reply, choice.reasoning, {
    tokens({ tokens, finish, stopReason }) {
      const text = decoder.push([...tokens], finish !== null)
      whole += text
      completion += tokens.length
      if (finish !== null) end = { finish, stop: stopReason }
      stream?.add(visible(parser.feed(text, finish !== null), options))
    },
    error(message) {
      if (stream) stream.fail(message)
      else send(context.response, inAnthropicForm(jsonAnswer(500, errorObject(message, 'InternalServerError', null, 500))))
    },
    cut: () => (stream ? stream.cut() : context.response.destroy()),
    end() {
      const usage = usageOf(job, completion, run.cachedTokens())
      if (stream) return stream.end(end.finish, end.stop, usage)
      const { reasoning, content, toolCalls } = parseReply(whole, choice, toolCallId)
      const blocks = [
        ...(reasoning ? [{ type: 'thinking', thinking: reasoning, signature: signature() }] : []),
        ...(content ? [{ type: 'text', text: content }] : []),
        ...toolCalls.map(({ id, function: called }) => ({ type: 'tool_use', id, name: called.name, input: JSON.parse(called.arguments) })),
      ]
      send(context.response, jsonAnswer(200, {
        id: job.id, type: 'message', role: 'assistant', content: blocks.length > 0 ? blocks : [{ type: 'text', text: '' }], model: job.model,
        ...withoutNull(stopOf(end.finish, end.stop, toolCalls.length > 0)), usage,
      }))
    },
  })
}

function stopOf(finish: string, stop: string | null, called: boolean): { stop_reason: string | null, stop_sequence: string | null } {
  if (finish === 'length') return { stop_reason: 'max_tokens', stop_sequence: null }
  if (finish !== 'stop' && finish !== 'tool_calls') return { stop_reason: null, stop_sequence: null }
  if (called || finish === 'tool_calls') return { stop_reason: 'tool_use', stop_sequence: null }
  return stop === null ? { stop_reason: 'end_turn', stop_sequence: null } : { stop_reason: 'stop_sequence', stop_sequence: stop }
}

function withoutNull(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null))
}

/** Cached tokens are told only with --enable-prompt-tokens-details, and then counted apart. */
function usageOf({ prompt, settings }: MessagesJob, completion: number, cached: number): object {
  const { promptTokensDetails, prefixCaching, blockSize } = settings
  if (!promptTokensDetails) return { input_tokens: prompt.length, output_tokens: completion }
  const created = prefixCaching ? Math.max(0, Math.floor(prompt.length / blockSize) * blockSize - cached) : 0
  return { input_tokens: prompt.length - cached - created, output_tokens: completion, cache_creation_input_tokens: created, cache_read_input_tokens: cached }
}

function signature(): string {
  return randomUUID().replaceAll('-', '')
}

interface Delta {
  readonly reasoning?: string
  readonly content?: string | null
  readonly tool_calls?: readonly ToolCallDelta[]
}

/** The block that grows. */
class BlockStream {
  readonly #stream: EventStream
  readonly #job: MessagesJob
  #begun = false
  #index = 0
  #open: string | null = null
  #called = false

  constructor(stream: EventStream, job: MessagesJob) {
    this.#stream = stream
    this.#job = job
  }

  add(delta: Delta | null): void {
    this.#begin()
    if (delta?.reasoning) this.#grow('thinking', { type: 'thinking', thinking: '' }, { type: 'thinking_delta', thinking: delta.reasoning })
    if (delta?.content) this.#grow('text', { type: 'text', text: '' }, { type: 'text_delta', text: delta.content })
    for (const { index, id, function: called } of delta?.tool_calls ?? []) {
      this.#called = true
      const name = 'name' in called ? called.name : ''
      const args = 'arguments' in called ? called.arguments : ''
      this.#grow(`call ${index}`, { type: 'tool_use', id, name, input: {} }, args ? { type: 'input_json_delta', partial_json: args } : null)
    }
  }

  end(finish: string, stop: string | null, usage: object): void {
    this.#begin()
    this.#close()
    this.#send('message_delta', { delta: stopOf(finish, stop, this.#called), usage })
    this.#send('message_stop', {})
    this.#stream.cut()
  }

  /** vLLM says of an error that its data had no valid format, and ends as if all were well. */
  fail(message: string): void {
    this.#send('error', { error: { type: 'internal_error', message } })
    this.#stream.cut()
  }

  cut(): void {
    this.#stream.cut()
  }

  #begin(): void {
    if (this.#begun) return
    this.#begun = true
    const { id, model, prompt } = this.#job
    this.#send('message_start', {
      message: { id, type: 'message', role: 'assistant', content: [], model, stop_reason: null, stop_sequence: null, usage: { input_tokens: prompt.length, output_tokens: 0 } },
    })
  }

  #grow(key: string, block: object, delta: object | null): void {
    if (this.#open !== key) {
      this.#close()
      this.#send('content_block_start', { index: this.#index, content_block: block })
      this.#open = key
    }
    if (delta) this.#send('content_block_delta', { index: this.#index, delta })
  }

  #close(): void {
    if (this.#open === null) return
    if (this.#open === 'thinking') this.#send('content_block_delta', { index: this.#index, delta: { type: 'signature_delta', signature: signature() } })
    this.#send('content_block_stop', { index: this.#index++ })
    this.#open = null
  }

  #send(type: string, members: object): void {
    this.#stream.named(type, { type, ...members })
  }
}
