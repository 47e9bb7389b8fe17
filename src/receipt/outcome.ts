// Observes a reply for the outcome line: what it said in the end, whether it is a summary, what the engine reported.

import type { ReplyReading } from '../endpoint/endpoint.ts'
import { headerValue, isEventStream } from '../relay/headers.ts'
import type { ReplyEnd, ReplyObserver } from '../relay/types.ts'
import { emptyReply, type ReplyState } from '../wire/reply.ts'
import { SseSplitter } from '../wire/sse.ts'
import type { Verdict } from '../summary/verdict.ts'
import type { Decision, Outcome } from './receipt.ts'

/** A whole reply beyond this is relayed and not read, in bytes. */
const wholeBytes = 64 * 1024 * 1024

/** Watches the reply to a summary request that goes out as it came. */
export class SummaryObserver implements ReplyObserver {
  readonly reply: ReplyState = emptyReply()
  /** performance.now() at the first event that says something, or null. */
  firstTokenAt: number | null = null
  /** A 2xx, not encoded: there is a reply to be judged. */
  isReadable = false
  readonly #splitter = new SseSplitter()
  readonly #chunks: Buffer[] = []
  #size = 0
  #isStream = false
  readonly #reading: ReplyReading
  readonly #done: (how: ReplyEnd) => void

  constructor(reading: ReplyReading, done: (how: ReplyEnd) => void) {
    this.#reading = reading
    this.#done = done
  }

  head(status: number, rawHeaders: readonly string[]): void {
    this.isReadable = status >= 200 && status < 300 && (headerValue(rawHeaders, 'content-encoding') ?? 'identity') === 'identity'
    this.#isStream = isEventStream(rawHeaders)
  }

  data(chunk: Buffer): void {
    if (!this.isReadable) return
    if (this.#isStream) {
      for (const event of this.#splitter.push(chunk)) {
        if (this.#reading.addEvent(this.reply, event)) this.firstTokenAt ??= performance.now()
      }
      return
    }
    this.#size += chunk.length
    if (this.#size <= wholeBytes) this.#chunks.push(chunk)
  }

  end(how: ReplyEnd): void {
    if (this.#chunks.length > 0 && how === 'complete' && this.#size <= wholeBytes) {
      this.firstTokenAt = performance.now()
      this.#reading.addReply(this.reply, Buffer.concat(this.#chunks))
    }
    this.#done(how)
  }
}

/**
 * @param verdict null where nothing can be said about the reply
 * @param times performance.now() values, in ms
 */
export function outcomeOf(
  receipt: { receipt: string, decision: Decision }, reply: ReplyState, verdict: Verdict | null,
  promptIdsConfirmed: boolean | null, times: { receivedAt: number, firstTokenAt: number | null },
): Outcome {
  return {
    receipt: receipt.receipt,
    decision: receipt.decision,
    prompt_ids_confirmed: promptIdsConfirmed,
    finish_reason: knownFinish(reply.finish),
    valid: verdict && verdict.valid,
    invalid_reason: verdict && !verdict.valid ? verdict.reason : null,
    prompt_tokens: reply.usage?.promptTokens ?? null,
    completion_tokens: reply.usage?.completionTokens ?? null,
    engine_cached_tokens: reply.usage?.cachedTokens ?? null,
    first_token_ms: times.firstTokenAt === null ? null : Math.round(times.firstTokenAt - times.receivedAt),
    total_ms: Math.round(performance.now() - times.receivedAt),
  }
}

/** vLLM's finish reasons (vllm/v1/engine/__init__.py); any other text could hold a reply's content. */
function knownFinish(finish: string | null): string | null {
  if (finish === null) return null
  return ['stop', 'length', 'tool_calls', 'abort', 'repetition', 'content_filter', 'function_call'].includes(finish) ? finish : 'other'
}
