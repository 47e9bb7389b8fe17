// Turns a reply of /v1/completions into the chat completion that the client asked for, in vLLM's own shape, whole or
// event by event. Thinking is split off here, since no parser ran (chat_completion/serving.py, 0.32).

import type { ThinkingFamily } from '../summary/thinking.ts'
import { isDone, type SseEvent } from '../wire/sse.ts'

export interface ReplyShape {
  /** The model thinks with the marks of one of these, if at all. */
  readonly families: readonly ThinkingFamily[]
  /** The generation prompt ends inside a thinking block, of the first family. */
  readonly startsThinking: boolean
  /** Under which names this engine's chat gives thinking; none where the client asked for none. */
  readonly thinkingKeys: readonly string[]
}

interface Completion {
  id?: string
  created?: number
  model?: string
  choices?: { index?: number, text?: string, finish_reason?: string | null, stop_reason?: unknown }[]
  usage?: unknown
  error?: unknown
  system_fingerprint?: unknown
}

interface Piece {
  readonly thinking: string
  readonly content: string
}

/** Splits growing text at a family's marks. A mark may be cut between two pieces: what could be one is held back. */
export class ThinkingSplitter {
  readonly #families: readonly ThinkingFamily[]
  #close: string
  #state: 'start' | 'thinking' | 'content'
  #held = ''

  constructor({ families, startsThinking }: Pick<ReplyShape, 'families' | 'startsThinking'>) {
    this.#families = families
    this.#close = families[0]?.close ?? ''
    this.#state = startsThinking ? 'thinking' : 'start'
  }

  /** Whether the text ended inside a thinking block. */
  get isOpen(): boolean {
    return this.#state === 'thinking'
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

  /** Decides how the reply begins, once it can be told. */
  #start(last: boolean): void {
    const begun = this.#held.trimStart()
    let undecided = false
    for (const { open, close, lead } of this.#families) {
      for (const [mark, state] of [[open, 'thinking'], [lead, 'content']] as const) {
        if (mark === undefined) continue
        if (begun.startsWith(mark)) {
          this.#held = begun.slice(mark.length)
          this.#close = close
          this.#state = state
          return
        }
        undecided ||= mark.startsWith(begun)
      }
    }
    if (last || !undecided) this.#state = 'content'
  }
}

/** How many trailing characters could be the beginning of a mark. */
function partialMark(text: string, mark: string): number {
  for (let length = Math.min(mark.length - 1, text.length); length > 0; length--) {
    if (text.endsWith(mark.slice(0, length))) return length
  }
  return 0
}

export class CompletionTranslator {
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
    const [choice] = completion.choices ?? []
    const base = this.#base(completion, 'chat.completion.chunk')
    if (!choice) return [chunk({ ...base, choices: [], usage: completion.usage, ...fingerprint(completion) })]
    const events: SseEvent[] = []
    const delta = (delta: object, more: object = {}): void => {
      events.push(chunk({ ...base, choices: [{ index: 0, delta, logprobs: null, finish_reason: null, ...more, token_ids: null }] }))
    }
    if (!this.#begun) {
      this.#begun = true
      events.push(chunk({ ...base, choices: [{ index: 0, delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null }], prompt_token_ids: null, prompt_text: null }))
    }
    const finish = choice.finish_reason ?? null
    const { thinking, content } = this.#splitter.push(choice.text ?? '', finish !== null)
    if (thinking !== '' && this.#shape.thinkingKeys.length > 0) delta(this.#thinking(thinking))
    if (content !== '') delta({ content })
    if (finish !== null) delta({}, { finish_reason: finish, stop_reason: choice.stop_reason ?? null })
    return events
  }

  /** The chat completion for a whole completion; an error body stays as it is. */
  whole(json: Buffer): Buffer {
    const completion = read(json)
    const choice = completion?.choices?.[0]
    if (!completion || completion.error || !choice) return json
    const { thinking, content } = this.#splitter.push(choice.text ?? '', true)
    const keys = this.#shape.thinkingKeys.length > 0 ? this.#thinking(thinking === '' ? null : thinking) : { reasoning: null }
    return Buffer.from(JSON.stringify({
      ...this.#base(completion, 'chat.completion'),
      choices: [{
        index: 0,
        message: { role: 'assistant', content: content === '' ? null : content, refusal: null, annotations: null, audio: null, function_call: null, ...keys },
        logprobs: null,
        finish_reason: choice.finish_reason ?? null,
        stop_reason: choice.stop_reason ?? null,
        token_ids: null,
      }],
      service_tier: null,
      ...fingerprint(completion),
      usage: completion.usage ?? null,
      prompt_logprobs: null,
      prompt_token_ids: null,
      kv_transfer_params: null,
    }))
  }

  #base({ id, created, model }: Completion, object: string): object {
    return { id: (id ?? '').replace(/^cmpl-/, 'chatcmpl-'), object, created, model }
  }

  #thinking(text: string | null): Record<string, string | null> {
    return Object.fromEntries(this.#shape.thinkingKeys.map((key) => [key, text]))
  }
}

function fingerprint({ system_fingerprint }: Completion): object {
  return system_fingerprint === undefined ? {} : { system_fingerprint }
}

function chunk(value: object): SseEvent {
  const data = Buffer.from(JSON.stringify(value))
  const raw = Buffer.concat([Buffer.from('data: '), data, Buffer.from('\n\n')])
  return { raw, data: raw.subarray(6, 6 + data.length) }
}

function read(json: Buffer): Completion | null {
  try {
    const value = JSON.parse(json.toString('utf8')) as Completion | null
    return typeof value === 'object' ? value : null
  } catch {
    return null
  }
}
