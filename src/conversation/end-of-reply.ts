// The end of a reply while it runs, copied into one buffer. The pieces themselves are let go: of a stream they are many
// and small, and kept for seconds each of them costs the collector more than its bytes. Only the first is kept as it came,
// until another comes: a whole reply is mostly one.

/** The least that is taken at once. */
const leastBytes = 1024

/** Up to here it grows in few steps, beyond in small ones: what is large has few pieces, or a slow client. */
const fastBytes = 64 * 1024

const nothing: Buffer = Buffer.alloc(0)

export class EndOfReply {
  readonly #keep: number
  /** The first piece; empty once another came. */
  #first = nothing
  #buffer = nothing
  #length = 0
  #total = 0

  /** @param keep bytes of the end that are wanted; twice as many are held at most, and mostly a quarter more */
  constructor(keep: number) {
    this.#keep = keep
  }

  /** Bytes that came so far. */
  get total(): number {
    return this.#total
  }

  /** The last bytes that came, at most as many as are wanted. */
  get bytes(): Buffer {
    const held = this.#total === this.#first.length ? this.#first : this.#buffer.subarray(0, this.#length)
    return held.length > this.#keep ? held.subarray(-this.#keep) : held
  }

  add(piece: Buffer): void {
    if (this.#total === 0) {
      this.#total = piece.length
      this.#first = piece
      return
    }
    if (this.#first.length > 0) {
      const first = this.#first
      this.#first = nothing
      this.#append(first)
    }
    this.#total += piece.length
    this.#append(piece)
  }

  #append(piece: Buffer): void {
    const end = piece.length > this.#keep ? piece.subarray(-this.#keep) : piece
    if (this.#length + end.length > this.#buffer.length) this.#makeRoom(end.length)
    this.#length += end.copy(this.#buffer, this.#length)
  }

  #makeRoom(bytes: number): void {
    // What stands before the end goes when it is a quarter as long: so each byte is moved four times at most.
    const most = Math.max(bytes, this.#keep >> 2) + this.#keep
    const kept = this.#length + bytes > most ? this.bytes : this.#buffer.subarray(0, this.#length)
    const needed = kept.length + bytes
    const size = Math.min(most, Math.max(leastBytes, (needed < fastBytes ? 4 : 1.5) * needed))
    const buffer = size > this.#buffer.length ? Buffer.allocUnsafeSlow(size) : this.#buffer
    this.#length = kept.copy(buffer)
    this.#buffer = buffer
  }
}
