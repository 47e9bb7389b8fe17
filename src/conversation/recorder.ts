// Watches a main request's reply pass by and, when it ended well, records the request as evidence (R1).
// Keeps only the reply's tail, unless the whole is needed; parses nothing until the reply has ended.

import type { ReplyReading } from '../endpoint/endpoint.ts'
import { readEvents, readTail } from '../endpoint/tail.ts'
import { headerValue, isEventStream } from '../relay/headers.ts'
import type { ReplyEnd, ReplyObserver } from '../relay/types.ts'
import { emptyReply, type ReplyState } from '../wire/reply.ts'
import { EndOfReply } from './end-of-reply.ts'

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
  readonly #keepWhole: boolean
  #status = 0
  #rawHeaders: readonly string[] = []
  #isStream = false
  #readable = true
  #kept!: EndOfReply
  /** What is kept begins with the last event. */
  #isLast = false

  /**
   * @param reading how the endpoint's replies are read
   * @param options.keepWhole the reply's text is wanted, not only how it ended
   * @param done called once, when the reply is over; not for a reply that cannot be read
   */
  constructor(reading: ReplyReading, options: { keepWhole: boolean }, done: (reply: RecordedReply) => void) {
    this.#reading = reading
    this.#keepWhole = options.keepWhole
    this.#done = done
  }

  head(status: number, rawHeaders: readonly string[]): void {
    this.#status = status
    this.#rawHeaders = rawHeaders
    this.#isStream = isEventStream(rawHeaders)
    // An encoded reply is relayed, not read.
    this.#readable = (headerValue(rawHeaders, 'content-encoding') ?? 'identity') === 'identity'
    // A client that does not read keeps what was read for it here: not what cannot be read in the end.
    if (!this.#isStream && Number(headerValue(rawHeaders, 'content-length') ?? 0) > wholeBytes) this.#readable = false
    this.#kept = new EndOfReply(this.#isStream && !this.#keepWhole ? this.#reading.tailBytes : wholeBytes)
  }

  data(chunk: Buffer): void {
    if (!this.#readable) return
    const { lastEvent } = this.#reading
    if (lastEvent && this.#isStream && !this.#keepWhole && !this.#isLast) this.#findLast(lastEvent, chunk)
    else this.#kept.add(chunk)
  }

  /** An event that repeats all of the reply is longer than any tail: it is kept whole, and nothing before it. */
  #findLast(mark: Buffer, chunk: Buffer): void {
    const before = this.#kept.bytes.subarray(-(mark.length - 1))
    const seam = Buffer.concat([before, chunk.subarray(0, mark.length - 1)])
    const inSeam = seam.indexOf(mark)
    const at = inSeam >= 0 ? inSeam - before.length : chunk.indexOf(mark)
    if (inSeam < 0 && at < 0) return this.#kept.add(chunk)
    this.#isLast = true
    this.#kept = new EndOfReply(wholeBytes)
    if (at < 0) this.#kept.add(before.subarray(at))
    this.#kept.add(chunk.subarray(Math.max(0, at)))
  }

  end(how: ReplyEnd): void {
    if (!this.#readable || this.#status === 0) return
    const { bytes, total } = this.#kept
    const isWhole = bytes.length === total
    const readStream = this.#keepWhole ? readEvents : readTail
    const reply = this.#isStream ? readStream(this.#reading, bytes, isWhole) : this.#readWhole(bytes, isWhole)
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
