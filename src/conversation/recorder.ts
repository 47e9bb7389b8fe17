// Watches a main request's reply pass by and, when it ended well, records the request as evidence (R1).
// Keeps only the reply's tail, unless the whole is needed; parses nothing until the reply has ended.

import type { ReplyReading } from '../endpoint/endpoint.ts'
import { readTail } from '../endpoint/tail.ts'
import { headerValue, isEventStream } from '../relay/headers.ts'
import type { ReplyEnd, ReplyObserver } from '../relay/types.ts'
import { emptyReply, type ReplyState } from '../wire/reply.ts'

/** A whole reply beyond this is none worth reading. */
const wholeBytes = 16 * 1024 * 1024

export interface RecordedReply {
  readonly status: number
  readonly rawHeaders: readonly string[]
  readonly reply: ReplyState
  /** It ended cleanly, or the client left after it had the end mark. */
  readonly cleanEnd: boolean
}

export class ReplyRecorder implements ReplyObserver {
  readonly #reading: ReplyReading
  readonly #done: (reply: RecordedReply) => void
  /** Bytes of the end that are kept. */
  #keep: number
  readonly #keepWhole: boolean
  #status = 0
  #rawHeaders: readonly string[] = []
  #isStream = false
  #readable = true
  readonly #chunks: Buffer[] = []
  /** Index of the first chunk that is kept. */
  #first = 0
  #kept = 0
  #total = 0

  /**
   * @param reading how the endpoint's replies are read
   * @param options.keepWhole the reply's text is wanted, not only how it ended
   * @param done called once, when the reply is over; not for a reply that cannot be read
   */
  constructor(reading: ReplyReading, options: { keepWhole: boolean }, done: (reply: RecordedReply) => void) {
    this.#reading = reading
    this.#keep = reading.tailBytes
    this.#keepWhole = options.keepWhole
    this.#done = done
  }

  head(status: number, rawHeaders: readonly string[]): void {
    this.#status = status
    this.#rawHeaders = rawHeaders
    this.#isStream = isEventStream(rawHeaders)
    // An encoded reply is relayed, not read.
    this.#readable = (headerValue(rawHeaders, 'content-encoding') ?? 'identity') === 'identity'
    if (!this.#isStream || this.#keepWhole) this.#keep = wholeBytes
  }

  data(chunk: Buffer): void {
    if (!this.#readable) return
    this.#chunks.push(chunk)
    this.#kept += chunk.length
    this.#total += chunk.length
    while (this.#kept - this.#chunks[this.#first]!.length >= this.#keep) {
      this.#kept -= this.#chunks[this.#first]!.length
      this.#chunks[this.#first++] = nothing
    }
    // Taken out one by one, each would move all the others.
    if (this.#first > 1024 && this.#first * 2 > this.#chunks.length) {
      this.#chunks.splice(0, this.#first)
      this.#first = 0
    }
  }

  end(how: ReplyEnd): void {
    if (!this.#readable || this.#status === 0) return
    const kept = Buffer.concat(this.#chunks)
    const tail = kept.subarray(Math.max(0, kept.length - this.#keep))
    const reply = this.#isStream ? readTail(this.#reading, tail, tail.length === this.#total) : this.#readWhole(tail, tail.length === this.#total)
    // Some clients close as soon as they have the end mark.
    const cleanEnd = how === 'complete' || (how === 'client_gone' && this.#isStream && reply.done)
    this.#done({ status: this.#status, rawHeaders: this.#rawHeaders, reply, cleanEnd })
  }

  #readWhole(body: Buffer, isWhole: boolean): ReplyState {
    const reply = emptyReply()
    if (isWhole) this.#reading.addReply(reply, body)
    return reply
  }
}

const nothing = Buffer.alloc(0)
