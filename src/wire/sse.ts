// Splits an event stream into its events, byte for byte (WHATWG HTML, section 9.2: LF, CR and CRLF end a line).
// The raw bytes of all events together are the bytes that came in; nothing is decoded.

const lf = 0x0a
const cr = 0x0d

/** One event, or one comment or keep-alive, with the blank line that ends it. */
export interface SseEvent {
  readonly raw: Buffer
  /** The `data` lines joined by line feeds, null where there are none. A single line is a part of `raw`, not a copy. */
  readonly data: Buffer | null
}

/** The value of one `data` line, by its place in the bytes of its event. */
interface DataLine {
  readonly start: number
  readonly end: number
}

export class SseSplitter {
  #pending: Buffer = Buffer.alloc(0)
  /** What came behind #pending without a line end: put together once, however many chunks a long line takes. */
  #held: Buffer[] = []
  /** Where in #pending the line starts whose end was not found yet. */
  #lineStart = 0
  /** Up to where #pending was searched for it. */
  #searched = 0
  /** The last line ended with CR: an LF that follows belongs to that end. */
  #endedWithCr = false
  /** A CR came at all; vLLM writes none, and LF alone is found by native searches. */
  #hasCr = false
  #data: DataLine[] = []
  #first = true

  /** @returns the events that this chunk completed */
  push(chunk: Buffer): SseEvent[] {
    this.#hasCr ||= chunk.includes(cr)
    if (this.#pending.length > 0 && !this.#hasCr && !chunk.includes(lf)) {
      this.#held.push(chunk)
      return []
    }
    this.#join(chunk)
    const events: SseEvent[] = []
    for (;;) {
      if (this.#endedWithCr && this.#searched < this.#pending.length) {
        if (this.#pending[this.#searched] === lf) this.#lineStart = ++this.#searched
        this.#endedWithCr = false
      }
      const end = this.#lineEnd()
      if (end < 0) return events
      this.#endedWithCr = this.#pending[end] === cr
      if (end === this.#lineStart) {
        events.push(this.#cut(end + 1))
      } else {
        this.#takeLine(this.#lineStart, end)
        this.#lineStart = this.#searched = end + 1
      }
    }
  }

  /** @returns the bytes behind the last complete event, once the stream has ended */
  rest(): Buffer {
    this.#join()
    return this.#pending
  }

  #join(...chunks: Buffer[]): void {
    const parts = [this.#pending, ...this.#held, ...chunks].filter((part) => part.length > 0)
    this.#pending = parts.length === 1 ? parts[0]! : Buffer.concat(parts)
    this.#held = []
  }

  #lineEnd(): number {
    if (!this.#hasCr) {
      const at = this.#pending.indexOf(lf, this.#searched)
      this.#searched = at < 0 ? this.#pending.length : at
      return at
    }
    while (this.#searched < this.#pending.length) {
      const byte = this.#pending[this.#searched]
      if (byte === lf || byte === cr) return this.#searched
      this.#searched++
    }
    return -1
  }

  #cut(end: number): SseEvent {
    const raw = this.#pending.subarray(0, end)
    const lines = this.#data
    this.#pending = this.#pending.subarray(end)
    this.#lineStart = this.#searched = 0
    this.#data = []
    this.#first = false
    return { raw, data: lines.length === 0 ? null : joinLines(raw, lines) }
  }

  #takeLine(start: number, end: number): void {
    const bytes = this.#pending
    // A byte order mark may lead the stream.
    if (this.#first && bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf) start += 3
    this.#first = false
    const field = bytes.toString('latin1', start, Math.min(start + 5, end))
    if (field === 'data:') this.#data.push({ start: start + (start + 5 < end && bytes[start + 5] === 0x20 ? 6 : 5), end })
    else if (field === 'data') this.#data.push({ start: end, end })
  }
}

function joinLines(raw: Buffer, lines: readonly DataLine[]): Buffer {
  const parts = lines.map(({ start, end }) => raw.subarray(start, end))
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts.flatMap((part, i) => (i === 0 ? [part] : [lineFeed, part])))
}

const lineFeed = Buffer.from('\n')

/** Whether an event's data is OpenAI's end mark. */
export function isDone(data: Buffer): boolean {
  return data.length === 6 && data.toString('latin1') === '[DONE]'
}
