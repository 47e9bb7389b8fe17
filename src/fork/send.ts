// Sends a fork, once, and answers the client with its reply or with why it is none (R8 to R10). Nothing is sent twice:
// only a fork that was refused before it generated leaves the request to the standalone path.

import type { ReadRequest, ReplyEdit, ReplyTranslator } from '../endpoint/endpoint.ts'
import { cut } from '../relay/cut.ts'
import { headersForClient, headerValue, isEventStream } from '../relay/headers.ts'
import { sendError, sendErrorAnswer } from '../relay/respond.ts'
import type { ClientRequest, Exchange, Outgoing, Upstream, UpstreamFault } from '../relay/types.ts'
import { emptyReply, type ReplyState } from '../wire/reply.ts'
import { SseSplitter, type SseEvent } from '../wire/sse.ts'
import { verdicts, type InvalidReason, type Verdict } from '../summary/verdict.ts'
import { CompletionTranslator, type ReplyShape } from './completion-reply.ts'

/** Refused before generating: the standalone path may be taken. A 503 is an engine that takes no more work. */
const refusals: readonly number[] = [400, 404, 413, 422, 503]

/** No error that an engine writes is longer: what is, goes on as it comes. */
const maxErrorBytes = 64 * 1024

/** The usage comes at once behind the finish, or not at all. */
const finishHoldMs = 1_000

export interface Sending {
  readonly upstream: Upstream
  readonly request: ClientRequest
  readonly fork: Outgoing
  /** The summary request that the fork answers. */
  readonly summary: ReadRequest
  /** How the reply becomes a chat completion; null where it is the endpoint's own. */
  readonly shape: ReplyShape | null
  /** How long response headers may wait for the first event that says something, in ms. */
  readonly holdHeadersMs: number
  /** Judges a reply that ended or said that it ends. */
  readonly judge: (reply: ReplyState) => Verdict
  /** Called once, when the decision is final and before a byte goes out. @returns the reply's headers for it */
  readonly decided: (decision: 'forked' | 'refused') => readonly string[]
}

export interface SentFork {
  readonly end:
    /** The client has a summary, or the reason why it has none. */
    | 'answered'
    /** The engine refused it before generating; nothing was sent to the client. */
    | 'rejected'
    /** The engine's own answer went to the client: an error of its, or its connection broke. */
    | 'surfaced'
    | 'client_gone'
  readonly reply: ReplyState
  /** Null where nothing can be said: no reply, or the client went. */
  readonly verdict: Verdict | null
  /** Ids that the engine says it prefilled; null where it does not say. */
  readonly promptIds: Uint32Array | null
  /** performance.now() at the first event that says something, or null. */
  readonly firstTokenAt: number | null
}

/**
 * @returns when the exchange is over on both sides
 * @throws a fault of our own; the exchange is closed then, and what the client got so far stands
 */
export function sendFork(sending: Sending): Promise<SentFork> {
  return new Promise((resolve, reject) => new ForkExchange(sending, resolve, reject).start())
}

class ForkExchange {
  readonly #sending: Sending
  readonly #resolve: (sent: SentFork) => void
  readonly #reject: (error: unknown) => void
  readonly #reply = emptyReply()
  readonly #splitter = new SseSplitter()
  readonly #completion: CompletionTranslator | null
  readonly #chat: ReplyTranslator | null
  readonly #edit: ReplyEdit
  #exchange!: Exchange
  #settled = false
  #mode: 'head' | 'whole' | 'stream' | 'surface' = 'head'
  #head: { status: number, message: string, headers: string[] } | null = null
  #held: Buffer[] = []
  #released = false
  #holdTimer: NodeJS.Timeout | undefined
  #verdict: Verdict | null = null
  #promptIds: Uint32Array | null = null
  #firstTokenAt: number | null = null

  constructor(sending: Sending, resolve: (sent: SentFork) => void, reject: (error: unknown) => void) {
    this.#sending = sending
    this.#resolve = resolve
    this.#reject = reject
    const { summary, shape } = sending
    this.#completion = shape && new CompletionTranslator(shape)
    this.#chat = shape && summary.endpoint.fromChat(summary, shape.promptTokens)
    this.#edit = summary.endpoint.edit(summary)
  }

  start(): void {
    const { upstream, fork, request } = this.#sending
    if (request.gone.aborted) return this.#settle('client_gone')
    request.gone.addEventListener('abort', this.#leave, { once: true })
    request.response.on('drain', this.#resume)
    this.#exchange = upstream.exchange(fork, {
      head: (status, message, rawHeaders) => this.#guarded(() => this.#onHead(status, message, rawHeaders)),
      data: (chunk) => this.#guarded(() => this.#onData(chunk)),
      end: () => this.#guarded(() => this.#onEnd()),
      fault: (fault) => this.#guarded(() => this.#onFault(fault)),
    }, { retryReused: false })
  }

  /** Whoever calls back knows nothing of faults of ours: left to him, the client would wait for ever. */
  #guarded(step: () => void): void {
    if (this.#settled) return
    try {
      step()
    } catch (error) {
      this.#exchange.abort()
      this.#close()
      this.#reject(error)
    }
  }

  #onHead(status: number, message: string, rawHeaders: string[]): void {
    if (refusals.includes(status)) {
      this.#exchange.abort()
      return this.#settle('rejected')
    }
    this.#head = { status, message, headers: headersForClient(rawHeaders) }
    if (status < 200 || status >= 300) {
      this.#mode = 'surface'
      // It may have come after generation; a 401, 403 or 429 has not.
      if (status >= 500) this.#verdict = { valid: false, reason: 'summary_engine_error' }
      if (!this.#chat?.error) this.#release('forked')
    } else if (isEventStream(rawHeaders)) {
      this.#mode = 'stream'
      // Its bytes are edited, or end early: a length that something in front of the engine gave is not theirs.
      this.#head.headers = withoutLength(this.#head.headers)
      this.#holdTimer = setTimeout(() => this.#guarded(() => this.#release('forked')), this.#sending.holdHeadersMs)
    } else {
      this.#mode = 'whole'
    }
  }

  #onData(chunk: Buffer): void {
    if (this.#mode === 'stream') {
      for (const received of this.#splitter.push(chunk)) {
        for (const event of this.#own(received)) {
          this.#onEvent(event)
          if (this.#settled) return
        }
      }
    } else if (this.#mode === 'whole') {
      this.#held.push(chunk)
    } else {
      this.#write(chunk)
      if (!this.#released && sizeOf(this.#held) > maxErrorBytes) this.#release('forked')
    }
  }

  /** The events of the endpoint's own for one that the engine sent. */
  #own(received: SseEvent): SseEvent[] {
    const events = this.#completion?.events(received) ?? [received]
    return this.#chat ? events.flatMap((event) => this.#chat!.events(event)) : events
  }

  #onEvent(event: SseEvent): void {
    const { reply: reading } = this.#sending.summary.endpoint
    const says = reading.addEvent(this.#reply, event)
    if (says) this.#firstTokenAt ??= performance.now()
    if (event.data) this.#promptIds ??= reading.promptIds(event.data)
    const { error, toolCalls, finish, done } = this.#reply
    // An end mark without a finish never reaches the client, who could take it for success.
    if (error || toolCalls || ((finish !== null || done) && this.#verdict === null)) {
      this.#verdict = this.#judge()
      if (!this.#verdict.valid) return this.#fail(this.#verdict.reason)
    }
    const edited = this.#edit.event(event)
    if (edited) this.#write(edited)
    if (says) this.#release('forked')
    // A finish that is held back for the usage behind it: a client that leaves there does not wait for one that never comes.
    if (says && !edited) this.#holdTimer = setTimeout(() => this.#guarded(() => this.#writeRest()), finishHoldMs)
  }

  #onEnd(): void {
    const { response } = this.#sending.request
    if (this.#mode === 'whole') return this.#answerWhole()
    if (this.#mode === 'stream') {
      if (this.#verdict === null) {
        this.#verdict = this.#judge()
        return this.#fail(this.#verdict.valid ? 'summary_incomplete' : this.#verdict.reason)
      }
      this.#writeRest()
      this.#write(this.#splitter.rest())
    }
    if (this.#mode === 'surface' && !this.#released) this.#translateError()
    response.end()
    this.#settle(this.#mode === 'surface' ? 'surfaced' : 'answered')
  }

  /** An error of /v1/completions in the words of the client's endpoint. */
  #translateError(): void {
    const error = this.#chat!.error!(Buffer.concat(this.#held))
    this.#held = [error]
    this.#head!.headers = withLength(this.#head!.headers, error.length)
    this.#release('forked')
  }

  /** Thinking that the client asked not to see is not in the reply: whether it ended is the translator's to say. */
  #judge(): Verdict {
    const verdict = this.#sending.judge(this.#reply)
    const isOpen = this.#completion?.thinkingOpen === true
    return !verdict.valid && verdict.reason === 'summary_empty' && isOpen ? { valid: false, reason: 'summary_thinking_open' } : verdict
  }

  /** A whole reply is judged before a byte of it goes out. */
  #answerWhole(): void {
    const { reply: reading } = this.#sending.summary.endpoint
    const received = Buffer.concat(this.#held)
    const completed = this.#completion?.reply(received) ?? received
    const json = this.#chat?.reply(completed) ?? completed
    this.#held = []
    this.#firstTokenAt = performance.now()
    reading.addReply(this.#reply, json)
    this.#promptIds = reading.promptIds(json)
    this.#verdict = this.#judge()
    if (!this.#verdict.valid) return this.#fail(this.#verdict.reason)
    const edited = this.#edit.reply(json)
    this.#head!.headers = withLength(this.#head!.headers, edited.length)
    this.#held.push(edited)
    this.#release('forked')
    this.#sending.request.response.end()
    this.#settle('answered')
  }

  /** The reply is no summary: a 422 as long as no byte went out, else an error event and no end mark. */
  #fail(reason: InvalidReason): void {
    const { response, errors } = this.#sending.request
    const type = 'summary_error'
    this.#verdict = { valid: false, reason }
    this.#exchange.abort()
    if (this.#released) {
      response.end(this.#edit.failed(reason, verdicts[reason], type))
    } else {
      // OpenAI's SDKs obey the header; without it they would send the whole summary request again.
      sendErrorAnswer(response, errors, { status: 422, code: reason, message: verdicts[reason], type },
        ['x-should-retry', 'false', ...this.#sending.decided('refused')])
    }
    this.#settle('answered')
  }

  #onFault(fault: UpstreamFault): void {
    if (fault === 'unreachable') return this.#settle('rejected')
    const { response, errors } = this.#sending.request
    this.#verdict = { valid: false, reason: 'summary_engine_error' }
    if (this.#released) {
      cut(response, headerValue(this.#head!.headers, 'content-length') !== undefined)
    } else {
      sendError(response, errors, 'upstream_reset', ['x-should-retry', 'false', ...this.#sending.decided('forked')])
    }
    this.#settle('surfaced')
  }

  /** What the edit holds back for an event that does not come. */
  #writeRest(): void {
    const rest = this.#edit.rest?.()
    if (rest) this.#write(rest)
  }

  #write(bytes: Buffer): void {
    if (bytes.length === 0) return
    if (!this.#released) this.#held.push(bytes)
    else if (!this.#sending.request.response.write(bytes)) this.#exchange.pause()
  }

  /** Sends the head and what was held back for it. */
  #release(decision: 'forked'): void {
    if (this.#released) return
    this.#released = true
    clearTimeout(this.#holdTimer)
    const { status, message, headers } = this.#head!
    const { response } = this.#sending.request
    response.writeHead(status, message, [...headers, ...this.#sending.decided(decision)])
    response.write('', 'latin1')
    for (const bytes of this.#held.splice(0)) this.#write(bytes)
  }

  readonly #leave = (): void => {
    this.#exchange.abort()
    this.#settle('client_gone')
  }

  readonly #resume = (): void => this.#exchange.resume()

  #settle(end: SentFork['end']): void {
    if (this.#settled) return
    this.#close()
    // A client that goes away proves nothing about the reply, unless it had all of it.
    const left = end === 'client_gone' && !this.#reply.done
    this.#resolve({ end, reply: this.#reply, verdict: left ? null : this.#verdict, promptIds: this.#promptIds, firstTokenAt: this.#firstTokenAt })
  }

  #close(): void {
    this.#settled = true
    clearTimeout(this.#holdTimer)
    const { request } = this.#sending
    request.gone.removeEventListener('abort', this.#leave)
    request.response.removeListener('drain', this.#resume)
  }
}

function sizeOf(chunks: readonly Buffer[]): number {
  return chunks.reduce((sum, { length }) => sum + length, 0)
}

function withoutLength(headers: readonly string[]): string[] {
  return headers.filter((_, i) => headers[i - (i % 2)]!.toLowerCase() !== 'content-length')
}

function withLength(headers: readonly string[], length: number): string[] {
  return headers.map((text, i) => (i % 2 === 1 && headers[i - 1]!.toLowerCase() === 'content-length' ? String(length) : text))
}

