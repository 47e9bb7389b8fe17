// POST /v1/responses: the reply as items, whole or event by event, in vLLM 0.32's JSON
// (vllm/entrypoints/openai/responses/serving.py and streaming_events.py). Nothing is stored.

import { randomUUID } from 'node:crypto'
import { jsonAnswer, send } from './answer.ts'
import { parserChoice, toolCallId, visible } from './chat.ts'
import { errorObject } from './errors.ts'
import { startGeneration, type GenerationContext, type GenerationRun } from './generation.ts'
import { IncrementalText } from './incremental-text.ts'
import type { Settings } from './options.ts'
import type { Reply } from './reply.ts'
import { parseReply, ReplyStream, type ToolCallDelta } from './reply-parser.ts'
import type { ResponsesRequest } from './responses-request.ts'
import { openEventStream, type EventStream } from './stream.ts'

export interface ResponsesJob {
  readonly id: string
  readonly model: string
  readonly request: ResponsesRequest
  /** The body as JSON.parse reads it, for what a response echoes. */
  readonly body: any
  readonly prompt: readonly number[]
  readonly promptText: string
  readonly limit: number
  readonly reply: Reply
  readonly settings: Settings
}

interface Counted { tokens: number[], text: string, reasoning: number, finish: string }

export function answerResponses(context: GenerationContext, job: ResponsesJob): void {
  if (job.request.options.stream) streamResponse(context, job)
  else collectResponse(context, job)
}

function start(context: GenerationContext, job: ResponsesJob, counted: Counted, on: {
  text?(text: string, finished: boolean, tokens: number): void, error(message: string): void, cut(): void, end(): void,
}): GenerationRun {
  const { options } = job.request
  const choice = parserChoice(job.settings, options)
  const decoder = new IncrementalText(context.tokenizer, options.skipSpecialTokens && !choice.tools)
  return startGeneration(context, [{ prompt: job.prompt, limit: job.limit }], options, job.reply, choice.reasoning, {
    tokens({ tokens, finish }) {
      const text = decoder.push(tokens, finish !== null)
      counted.tokens.push(...tokens)
      counted.text += text
      if (finish !== null) counted.finish = finish
      on.text?.(text, finish !== null, tokens.length)
    },
    error: on.error, cut: on.cut, end: on.end,
  })
}

function collectResponse(context: GenerationContext, job: ResponsesJob): void {
  const counted: Counted = { tokens: [], text: '', reasoning: 0, finish: '' }
  const created = now()
  const run = start(context, job, counted, {
    error: (message) => send(context.response, jsonAnswer(500, errorObject(message, 'InternalServerError', null, 500))),
    cut: () => context.response.destroy(),
    end() {
      const { options } = job.request
      const parsed = parseReply(counted.text, parserChoice(job.settings, options), toolCallId)
      counted.reasoning = parsed.reasoning === null ? 0 : context.tokenizer.encode(parsed.reasoning).length
      const output = [
        ...(parsed.reasoning && options.includeReasoning ? [thinkingItem(itemId('rs'), parsed.reasoning, null)] : []),
        ...(parsed.content ? [messageItem(itemId('msg'), parsed.content, 'completed')] : []),
        ...parsed.toolCalls.map(({ id, function: called }) => callItem(job.request, itemId, id, called.name, called.arguments, 'completed')),
      ]
      send(context.response, jsonAnswer(200, response(job, created, output, { counted, cached: run.cachedTokens() })))
    },
  })
}

function streamResponse(context: GenerationContext, job: ResponsesJob): void {
  const stream = openEventStream(context.response)
  const counted: Counted = { tokens: [], text: '', reasoning: 0, finish: '' }
  const created = now()
  const { options } = job.request
  const parser = new ReplyStream(parserChoice(job.settings, options), toolCallId)
  const items = new ItemStream(stream, job.request)
  const begun = response(job, created, [], null)
  items.send({ response: begun }, 'response.created')
  items.send({ response: begun }, 'response.in_progress')
  const run = start(context, job, counted, {
    text(text, finished, tokens) {
      const delta = visible(parser.feed(text, finished), options)
      if (delta?.reasoning !== undefined) counted.reasoning += tokens
      if (delta?.reasoning !== undefined) items.text('reasoning', delta.reasoning)
      if (delta?.content) items.text('message', delta.content)
      for (const call of delta?.tool_calls ?? []) items.call(call)
    },
    // vLLM cannot write its error as an event here: the connection breaks.
    error: () => context.response.destroy(),
    cut: () => stream.cut(),
    end() {
      items.close()
      items.send({ response: response(job, created, items.done, { counted, cached: run.cachedTokens() }) }, 'response.completed')
      stream.cut()
    },
  })
}

/** The item that grows, and those that are done. */
class ItemStream {
  readonly done: object[] = []
  readonly #stream: EventStream
  readonly #request: ResponsesRequest
  #sequence = 0
  #open: { kind: 'reasoning' | 'message' | 'call', id: string, text: string, call?: { index: number, id: string, name: string } } | null = null

  constructor(stream: EventStream, request: ResponsesRequest) {
    this.#stream = stream
    this.#request = request
  }

  /** An event's keys are in the order of the alphabet. */
  send(members: object, type: string): void {
    const event = Object.entries({ ...members, sequence_number: this.#sequence++, type })
    this.#stream.named(type, Object.fromEntries(event.sort(([a], [b]) => (a < b ? -1 : 1))))
  }

  text(kind: 'reasoning' | 'message', delta: string): void {
    if (this.#open?.kind !== kind) {
      this.close()
      const id = itemId(kind === 'reasoning' ? 'rs' : 'msg')
      this.#open = { kind, id, text: '' }
      this.#added(kind === 'reasoning' ? thinkingItem(id, null, 'in_progress') : messageItem(id, '', 'in_progress'))
      const part = kind === 'reasoning' ? { text: '', type: 'reasoning_text' } : { annotations: [], text: '', type: 'output_text', logprobs: [] }
      this.send({ content_index: 0, item_id: id, output_index: this.done.length, part }, 'response.content_part.added')
    }
    const open = this.#open!
    open.text += delta
    this.send({ content_index: 0, delta, item_id: open.id, ...(kind === 'message' ? { logprobs: [] } : {}), output_index: this.done.length },
      kind === 'reasoning' ? 'response.reasoning_text.delta' : 'response.output_text.delta')
  }

  call({ index, id, function: called }: ToolCallDelta): void {
    if (this.#open?.kind !== 'call' || this.#open.call!.index !== index) {
      this.close()
      const name = 'name' in called ? called.name : ''
      this.#open = { kind: 'call', id: itemId(this.#request.customTools.has(name) ? 'ctc' : 'fc'), text: '', call: { index, id: id ?? toolCallId(), name } }
      this.#added(this.#callItem('in_progress'))
    }
    const open = this.#open
    const delta = 'arguments' in called ? called.arguments : ''
    open.text += delta
    if (delta === '' || this.#isCustom(open.call!.name)) return
    this.send({ delta, item_id: open.id, output_index: this.done.length }, 'response.function_call_arguments.delta')
  }

  close(): void {
    const open = this.#open
    if (open === null) return
    const place = { item_id: open.id, output_index: this.done.length }
    let item: object
    if (open.kind === 'call') {
      item = this.#callItem('completed')
      if (this.#isCustom(open.call!.name)) {
        const input = freeText(open.text)
        // vLLM sends it in pieces, which together are the same.
        this.send({ delta: input, ...place }, 'response.custom_tool_call_input.delta')
        this.send({ input, ...place }, 'response.custom_tool_call_input.done')
      } else {
        const { name } = this.#request.namespaced.get(open.call!.name) ?? open.call!
        this.send({ arguments: open.text, item_id: open.id, name, output_index: this.done.length }, 'response.function_call_arguments.done')
      }
    } else {
      const thinks = open.kind === 'reasoning'
      const part = thinks ? { text: open.text, type: 'reasoning_text' } : textPart(open.text)
      this.send({ content_index: 0, item_id: open.id, ...(thinks ? {} : { logprobs: [] }), output_index: this.done.length, text: open.text },
        thinks ? 'response.reasoning_text.done' : 'response.output_text.done')
      this.send({ content_index: 0, ...place, part }, 'response.content_part.done')
      item = thinks ? thinkingItem(open.id, open.text, 'completed') : messageItem(open.id, open.text, 'completed')
    }
    this.send({ item, output_index: this.done.length }, 'response.output_item.done')
    this.done.push(item)
    this.#open = null
  }

  #added(item: object): void {
    this.send({ item, output_index: this.done.length }, 'response.output_item.added')
  }

  #callItem(status: string): object {
    const { id, text, call } = this.#open!
    return callItem(this.#request, () => id, call!.id, call!.name, text, status)
  }

  #isCustom(name: string): boolean {
    return this.#request.customTools.has(name)
  }
}

function now(): number {
  return Math.floor(Date.now() / 1000)
}

function itemId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll('-', '').slice(0, 16)}`
}

function textPart(text: string): object {
  return { annotations: [], text, type: 'output_text', logprobs: null }
}

function messageItem(id: string, text: string, status: string): object {
  return { id, content: text === '' ? [] : [textPart(text)], role: 'assistant', status, type: 'message', phase: null }
}

function thinkingItem(id: string, text: string | null, status: string | null): object {
  return { id, summary: [], type: 'reasoning', content: text === null ? null : [{ text, type: 'reasoning_text' }], encrypted_content: null, status }
}

function callItem({ customTools, namespaced }: ResponsesRequest, makeId: (prefix: string) => string, callId: string, name: string, args: string, status: string): object {
  if (customTools.has(name)) return { call_id: callId, input: freeText(args), name, type: 'custom_tool_call', id: makeId('ctc'), async: null, caller: null, namespace: null }
  const { namespace, name: own } = namespaced.get(name) ?? { namespace: null, name }
  return { arguments: args, call_id: callId, name: own, type: 'function_call', id: makeId('fc'), async: null, caller: null, namespace, status }
}

/** The text in the arguments of a free-text tool; what is none is taken as it is. */
function freeText(args: string): string {
  try {
    const { input } = JSON.parse(args)
    return typeof input === 'string' ? input : args
  } catch {
    return args
  }
}

/** @param end null while it runs */
function response({ id, model, request, body, prompt, promptText, limit, settings }: ResponsesJob, created: number, output: readonly object[], end: { counted: Counted, cached: number } | null): object {
  const status = end === null ? 'in_progress' : end.counted.finish === 'length' ? 'incomplete' : 'completed'
  const shows = end !== null && request.showsMessages
  return {
    id, created_at: created, incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    instructions: body.instructions ?? null, metadata: body.metadata ?? null, model, object: 'response', output,
    parallel_tool_calls: body.parallel_tool_calls ?? true, temperature: body.temperature ?? 1,
    tool_choice: (body.tools ?? []).length === 0 ? 'none' : body.tool_choice ?? 'auto', tools: (body.tools ?? []).map(echoedTool), top_p: body.top_p ?? 1,
    background: false, max_output_tokens: limit, max_tool_calls: body.max_tool_calls ?? null, previous_response_id: null, prompt: null,
    reasoning: body.reasoning ? { context: null, effort: null, generate_summary: null, mode: null, summary: null, ...body.reasoning } : null,
    service_tier: body.service_tier ?? 'auto', status, text: body.text ? { format: null, verbosity: null, ...body.text } : null, top_logprobs: null,
    truncation: body.truncation ?? 'disabled', usage: end === null ? null : usage(prompt.length, end, settings), user: body.user ?? null,
    presence_penalty: body.presence_penalty ?? 0, frequency_penalty: body.frequency_penalty ?? 0, kv_transfer_params: null, ec_transfer_params: null,
    input_messages: shows ? [{ message: promptText, tokens: prompt, type: 'raw_message_tokens' }] : null,
    output_messages: shows ? [{ message: end.counted.text, tokens: end.counted.tokens, type: 'raw_message_tokens' }] : null,
  }
}

function echoedTool(tool: any): object {
  if (tool.type !== 'function') return tool
  return { name: tool.name, parameters: tool.parameters ?? null, strict: tool.strict ?? null, type: 'function', allowed_callers: null, async: null, defer_loading: tool.defer_loading ?? null, description: tool.description ?? null, output_schema: tool.output_schema ?? null }
}

/** Cached tokens are told here without --enable-prompt-tokens-details. */
function usage(prompt: number, { counted, cached }: { counted: Counted, cached: number }, { prefixCaching, blockSize }: Settings): object {
  const written = prefixCaching ? Math.floor(prompt / blockSize) * blockSize : 0
  return {
    input_tokens: prompt,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: Math.max(0, written - cached), input_tokens_per_turn: [], cached_tokens_per_turn: [] },
    output_tokens: counted.tokens.length,
    output_tokens_details: { reasoning_tokens: counted.reasoning, tool_output_tokens: 0, output_tokens_per_turn: [], tool_output_tokens_per_turn: [] },
    total_tokens: prompt + counted.tokens.length,
  }
}
