// Whether two requests belong to the same line, by their bytes. Ids alone never decide that.

import { createHash } from 'node:crypto'
import { bytesOf, elementsOf, sameBytes, skipSpace, type Slice } from '../wire/json-slices.ts'
import type { Endpoint, ReadRequest } from '../endpoint/endpoint.ts'
import { textInsides, type ChatRequest } from '../wire/chat-request.ts'

/** Hash of the first message behind the system text: what a conversation is called when it has no id. */
export function opening(request: ChatRequest): string | null {
  const first = request.messages[request.frontLength]
  return first ? createHash('sha256').update(bytesOf(request.body, first.slice)).digest('base64url') : null
}

/**
 * What recorded bodies of a request's conversation hold of that message: the message itself where the endpoint writes it
 * as chat does, else its longest text, since what stands beside that may change from request to request.
 */
export function openingBytes({ body, chat }: ReadRequest): Buffer | null {
  const first = chat.messages[chat.frontLength]
  if (!first) return null
  if (chat.body === body) return bytesOf(body, first.slice)
  const [longest] = (textInsides(chat.body, first.slice) ?? []).toSorted((a, b) => b.length - a.length)
  return longest ? Buffer.concat([quote, longest, quote]) : null
}

/** Bytes of a text that are searched for. */
const sampleBytes = 200

/** What the first message says, at least its beginning, as JSON writes it: what stays where an agent writes the message in another way. */
export function openingWords({ chat }: ReadRequest): Buffer | null {
  const first = chat.messages[chat.frontLength]
  const [longest] = first ? (textInsides(chat.body, first.slice) ?? []).toSorted((a, b) => b.length - a.length) : []
  return longest && longest.length > 0 ? longest.subarray(0, sampleBytes) : null
}

/** The message behind it, which stays as it was where an agent renews what it says in the first; null where that shows nothing. */
export function secondBytes({ body, chat }: ReadRequest): Buffer | null {
  const second = chat.messages[chat.frontLength + 1]
  return second && chat.body === body ? bytesOf(body, second.slice) : null
}

const quote = Buffer.from('"')
const quotedKeys: Readonly<Record<Endpoint['itemsKey'], Buffer>> = { messages: Buffer.from('"messages"'), input: Buffer.from('"input"') }
const closeBracket = 0x5d
const comma = 0x2c

/** Where a body differs from the recorded one that it grows. */
export interface Growth {
  /** The bytes in front of the items are the recorded ones. */
  readonly sameFront: boolean
  /** First byte of what is new. */
  readonly start: number
  /** What follows it is what follows the recorded items. */
  readonly end: number
}

/**
 * What a request adds to a recorded line: from its items' key on its bytes are the recorded ones, up to where the
 * recorded array ends and the new one goes on. One native comparison; a wrong guess costs a line, not a proof.
 * Where an endpoint's agents write what they said before in another way, its items are compared one by one then.
 * @param recorded body of the line's last request
 * @param body the new request's body
 * @returns null where it does not grow the line
 */
export function growth(recorded: Buffer, body: Buffer, { itemsKey, sameItem }: Pick<Endpoint, 'itemsKey' | 'sameItem'>): Growth | null {
  const key = quotedKeys[itemsKey]
  const from = recorded.indexOf(key)
  const at = body.indexOf(key)
  if (from < 0 || at < 0) return null
  const shared = sharedBytes(recorded, from, body, at)
  const rest = recorded.length - (from + shared)
  // White space in front of the bracket does not count.
  const next = recorded[skipSpace(recorded, from + shared)]
  if (rest > 0 && !(next === closeBracket && body[at + shared] === comma)) {
    const grows = sameItem !== undefined && growsByItems(recorded, from + key.length, body, at + key.length, sameItem)
    return grows ? { sameFront: false, start: at, end: body.length } : null
  }
  const start = at + shared
  const sameRest = body.length - rest >= start && body.compare(recorded, from + shared, recorded.length, body.length - rest) === 0
  return {
    sameFront: at === from && body.compare(recorded, 0, from, 0, at) === 0,
    start,
    end: sameRest ? body.length - rest : body.length,
  }
}

/** @param from where the array's colon stands in `recorded`, `at` in `body` */
function growsByItems(recorded: Buffer, from: number, body: Buffer, at: number, sameItem: NonNullable<Endpoint['sameItem']>): boolean {
  const itemsIn = (bytes: Buffer, colon: number, enough?: () => boolean): Slice[] =>
    elementsOf(bytes, skipSpace(bytes, skipSpace(bytes, colon) + 1), enough) ?? []
  const same = (ours: readonly Slice[], theirs: readonly Slice[]): boolean => ours.length > 0 && ours.length <= theirs.length &&
    ours.every((item, i) => sameBytes(recorded, item, body, theirs[i]!) || sameItem(recorded, item, body, theirs[i]!))
  // Mostly they are two conversations, which their first items tell.
  const first = (): boolean => true
  return same(itemsIn(recorded, from, first), itemsIn(body, at, first)) && same(itemsIn(recorded, from), itemsIn(body, at))
}

const loopBytes = 1 << 8

/** Number of bytes that two buffers share from two positions on. */
export function sharedBytes(a: Buffer, from: number, b: Buffer, at: number): number {
  const limit = Math.min(a.length - from, b.length - at)
  const same = (start: number, end: number): boolean => a.compare(b, at + start, at + end, from + start, from + end) === 0
  // Native comparisons take 0.1 ms per MB, where a loop takes 1 ms. Mostly all is shared but for some options at the end;
  // else pieces are compared, ever smaller ones. The last bytes are the loop's.
  let shared = limit > loopBytes && same(0, limit - loopBytes) ? limit - loopBytes : 0
  for (let step = 1 << 16; step >= loopBytes; step >>= 2) {
    while (shared + step < limit && same(shared, shared + step)) shared += step
  }
  while (shared < limit && a[from + shared] === b[at + shared]) shared++
  return shared
}
