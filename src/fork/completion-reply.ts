// Turns a reply of /v1/completions into the chat completion that the client asked for, in vLLM's own shape, whole or
// event by event. Thinking is split off here, since no parser ran (chat_completion/serving.py, 0.32).

import type { ReplyTranslator } from '../endpoint/endpoint.ts'
import type { ReplyKeys } from '../engine/calibration.ts'
import type { ThinkingFamily } from '../summary/thinking.ts'
import { isDone, type SseEvent } from '../wire/sse.ts'

export interface ReplyShape {
  /** The model thinks with the marks of one of these, if at all. */
  readonly families: readonly ThinkingFamily[]
  /** The generation prompt ends inside a thinking block, of the first family. */
  readonly startsThinking: boolean
  /** The client did not ask to leave thinking out. */
  readonly showsThinking: boolean
  readonly keys: ReplyKeys
  /** Of the fork's ids. */
  readonly promptTokens: number
}

interface Completion {
  readonly id?: string
  readonly choices?: readonly Choice[]
  readonly usage?: unknown
  readonly error?: unknown
  readonly [key: string]: unknown
}

interface Choice {
  readonly text?: string
  readonly finish_reason?: string | null
  readonly [key: string]: unknown
}

interface Piece {
  readonly thinking: string
  readonly content: string
}

/** Splits growing text at a family's marks. A mark may be cut between two pieces: what could be one is held back. */
export class ThinkingSplitter {
  readonly #families: readonly ThinkingFamily[]
  readonly #startsThinking: boolean
  #close: string
  #state: 'start' | 'thinking' | 'content' = 'start'
  #held = ''

  constructor({ families, startsThinking }: Pick<ReplyShape, 'families' | 'startsThinking'>) {
    this.#families = families
    this.#close = families[0]?.close ?? ''
    this.#startsThinking = startsThinking
  }

  /** Whether the text ended inside a thinking block. */
  get isOpen(): boolean {
    return this.#state === 'thinking' || (this.#state === 'start' && this.#startsThinking)
  }

  /** @param last no text follows: nothing is held back */
  push(text: string, last: boolean): Piece {
    this.#held += text
    let thinking = ''
    let content = ''
    for (;;) {
      const before = this.#state
      if (before === 'start') this.#start(last)
      if (this.#state === 'thinking') {
        const close = this.#close
        const end = this.#held.indexOf(close)
        const sure = end >= 0 ? end : this.#held.length - (last ? 0 : partialMark(this.#held, close))
        thinking += this.#held.slice(0, sure)
        this.#held = end >= 0 ? this.#held.slice(end + close.length) : this.#held.slice(sure)
        if (end >= 0) this.#state = 'content'
      } else if (this.#state === 'content') {
        content += this.#held
        this.#held = ''
      }
      if (this.#state === before) return { thinking, content }
    }
  }

  /** Decides how the reply begins, once it can be told. Some models open thinking again that the prompt has opened. */
  #start(last: boolean): void {
    const begun = this.#held.trimStart()
    let undecided = false
    for (const [mark, state, close] of this.#openings()) {
      if (begun.startsWith(mark)) {
        this.#held = begun.slice(mark.length)
        this.#close = close
        this.#state = state
        return
      }
      undecided ||= mark.startsWith(begun)
    }
    if (last || !undecided) this.#state = this.#startsThinking ? 'thinking' : 'content'
  }

  #openings(): (readonly [mark: string, state: 'thinking' | 'content', close: string])[] {
    if (this.#startsThinking) return [[this.#families[0]!.open, 'thinking', this.#close]]
    return this.#families.flatMap(({ open, close, lead }) => [
      [open, 'thinking', close] as const,
      ...(lead === undefined ? [] : [[lead, 'content', close] as const]),
    ])
  }
}

/** How many trailing characters could be the beginning of a mark. */
function partialMark(text: string, mark: string): number {
  for (let length = Math.min(mark.length - 1, text.length); length > 0; length--) {
    if (text.endsWith(mark.slice(0, length))) return length
  }
  return 0
}

export class CompletionTranslator implements ReplyTranslator {
  readonly #shape: ReplyShape
  readonly #splitter: ThinkingSplitter
  #begun = false

  constructor(shape: ReplyShape) {
    this.#shape = shape
    this.#splitter = new ThinkingSplitter(shape)
  }

  /** Whether the text so far ended inside a thinking block. */
  get thinkingOpen(): boolean {
    return this.#splitter.isOpen
  }

  /** The chat events for one completion event; comments, errors and the end mark stay as they are. */
  events(event: SseEvent): SseEvent[] {
    const completion = event.data !== null && !isDone(event.data) ? read(event.data) : null
    if (!completion || completion.error) return [event]
    const { choices = [], id, object, created, model, ...rest } = completion
    const base = { id: chatId(id), object: 'chat.completion.chunk', created, model }
    const [choice] = choices
    if (!choice) return [chunk({ ...base, choices: [], ...rest })]
    const events: SseEvent[] = []
    if (!this.#begun) {
      this.#begun = true
      const first = { index: 0, delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null }
      const { reply } = this.#shape.keys
      events.push(chunk({ ...base, choices: [first], ...usageOf(completion), ...nullFor(['prompt_token_ids', 'prompt_text'], reply) }))
    }
    const finish = choice.finish_reason ?? null
    const { thinking, content } = this.#splitter.push(choice.text ?? '', finish !== null)
    const delta = { ...(thinking === '' ? {} : this.#thinking(thinking)), ...(content === '' ? {} : { content }) }
    if (finish === null && Object.keys(delta).length === 0) return events
    const stop = finish === null ? {} : { stop_reason: choice['stop_reason'] ?? null }
    const next = { index: 0, delta, logprobs: null, finish_reason: finish, ...stop, ...nullFor(['token_ids'], this.#shape.keys.choice) }
    events.push(chunk({ ...base, choices: [next], ...rest }))
    return events
  }

  /** The chat completion for a whole completion, with the keys of this engine's own; an error body stays as it is. */
  reply(json: Buffer): Buffer {
    const completion = read(json)
    const choice = completion?.choices?.[0]
    if (!completion || completion.error || !choice) return json
    const { thinking, content } = this.#splitter.push(choice.text ?? '', true)
    const { keys } = this.#shape
    const message = picked(keys.message, { role: 'assistant', content: content === '' ? null : content, ...this.#thinking(thinking) })
    // An empty list is how older engines say that nothing was called.
    if (keys.message.includes('tool_calls')) message['tool_calls'] = []
    const own = { ...choice, message, logprobs: null, token_ids: null }
    return Buffer.from(JSON.stringify(picked(keys.reply, {
      ...completion, id: chatId(completion.id), object: 'chat.completion', choices: [picked(keys.choice, own)], prompt_token_ids: null,
    })))
  }

  /** Thinking under the names that this engine's chat has for it. */
  #thinking(text: string): Record<string, string | null> {
    const { keys, showsThinking } = this.#shape
    if (!showsThinking) return {}
    return Object.fromEntries(thinkingNames.filter((key) => keys.message.includes(key)).map((key) => [key, text === '' ? null : text]))
  }
}

const thinkingNames = ['reasoning', 'reasoning_content']

function chatId(id: unknown): string {
  return String(id ?? '').replace(/^cmpl-/, 'chatcmpl-')
}

/** Comes with every event to who asked for continuous usage. */
function usageOf({ usage }: Completion): object {
  return usage === undefined ? {} : { usage }
}

/** What the engine leaves null for who did not ask, where it has such a member at all. */
function nullFor(names: readonly string[], keys: readonly string[]): object {
  return Object.fromEntries(names.filter((name) => keys.includes(name)).map((name) => [name, null]))
}

/** These keys in this order; null where there is no value. */
function picked(keys: readonly string[], from: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(keys.map((key) => [key, from[key] ?? null]))
}

function chunk(value: object): SseEvent {
  const data = Buffer.from(JSON.stringify(value))
  const raw = Buffer.concat([Buffer.from('data: '), data, Buffer.from('\n\n')])
  return { raw, data: raw.subarray(6, 6 + data.length) }
}

function read(json: Buffer): Completion | null {
  try {
    const value = JSON.parse(json.toString('utf8')) as Completion | null
    return value !== null && typeof value === 'object' && (value.choices === undefined || Array.isArray(value.choices)) ? value : null
  } catch {
    return null
  }
}
