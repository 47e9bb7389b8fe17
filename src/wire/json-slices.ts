// Finds where JSON values stand in a buffer, without building them: the bytes stay the owner's (R2).
// Reads what a JSON parser would accept; on anything else it answers null and decides nothing.

/** A byte range of a buffer: `start` inclusive, `end` exclusive. */
export interface Slice {
  readonly start: number
  readonly end: number
}

/** A member of an object: its key as the engine reads it (unescaped), and where key and value stand. */
export interface Member {
  readonly key: string
  /** From the key's opening quote to the end of the value. */
  readonly whole: Slice
  readonly value: Slice
}

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d

/** Position of the first byte at or after `at` that is not JSON white space (RFC 8259, section 2). */
export function skipSpace(bytes: Buffer, at: number): number {
  for (;;) {
    const byte = bytes[at]
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at
    at++
  }
}

/** So many bytes of a string are looked at one by one before a native search, which has its price, in bytes. */
const nearBytes = 16

/** End of the string whose opening quote stands at `at`, or -1. */
function stringEnd(bytes: Buffer, at: number): number {
  let i = at + 1
  for (;;) {
    for (const near = Math.min(i + nearBytes, bytes.length); i < near; i++) {
      const byte = bytes[i]
      if (byte === quote) return i + 1
      if (byte === backslash) i++
    }
    const next = i < bytes.length ? bytes.indexOf(quote, i) : -1
    if (next < 0) return -1
    let before = next
    while (before > i && bytes[before - 1] === backslash) before--
    // An even number of backslashes escapes itself, an odd one the quote.
    if ((next - before) % 2 === 0) return next + 1
    i = next + 1
  }
}

/** End of the value that starts at `at`, or -1. */
export function valueEnd(bytes: Buffer, at: number): number {
  const first = bytes[at]
  if (first === quote) return stringEnd(bytes, at)
  if (first === openBrace || first === openBracket) {
    let depth = 0
    for (let i = at; i < bytes.length; i++) {
      const byte = bytes[i]
      if (byte === quote) {
        const end = stringEnd(bytes, i)
        if (end < 0) return -1
        i = end - 1
      } else if (byte === openBrace || byte === openBracket) {
        depth++
      } else if (byte === closeBrace || byte === closeBracket) {
        if (--depth === 0) return i + 1
      }
    }
    return -1
  }
  let end = at
  while (end < bytes.length && isScalarByte(bytes[end]!)) end++
  return end > at ? end : -1
}

/** Bytes of numbers and of the words true, false, null. */
function isScalarByte(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x41 && byte <= 0x5a) ||
    byte === 0x2b || byte === 0x2d || byte === 0x2e
}

/**
 * The members of the object that starts at `at`, in the order written, repeats included.
 * @returns null where there is no well-formed object; what lies inside the values is not looked at
 */
export function membersOf(bytes: Buffer, at: number): Member[] | null {
  if (bytes[at] !== openBrace) return null
  const members: Member[] = []
  let i = skipSpace(bytes, at + 1)
  if (bytes[i] === closeBrace) return members
  for (;;) {
    if (bytes[i] !== quote) return null
    const keyEnd = stringEnd(bytes, i)
    if (keyEnd < 0) return null
    const key = stringAt(bytes, { start: i, end: keyEnd })
    const afterKey = skipSpace(bytes, keyEnd)
    if (key === null || bytes[afterKey] !== colon) return null
    const start = skipSpace(bytes, afterKey + 1)
    const end = valueEnd(bytes, start)
    if (end < 0) return null
    members.push({ key, whole: { start: i, end }, value: { start, end } })
    i = skipSpace(bytes, end)
    if (bytes[i] === closeBrace) return members
    if (bytes[i] !== comma) return null
    i = skipSpace(bytes, i + 1)
  }
}

/**
 * The elements of the array that starts at `at`.
 * @param enough stops after the first element for which it answers true
 * @returns null where there is no well-formed array
 */
export function elementsOf(bytes: Buffer, at: number, enough?: (element: Slice) => boolean): Slice[] | null {
  if (bytes[at] !== openBracket) return null
  const elements: Slice[] = []
  let i = skipSpace(bytes, at + 1)
  if (bytes[i] === closeBracket) return elements
  for (;;) {
    const end = valueEnd(bytes, i)
    if (end < 0) return null
    const element = { start: i, end }
    elements.push(element)
    if (enough?.(element)) return elements
    i = skipSpace(bytes, end)
    if (bytes[i] === closeBracket) return elements
    if (bytes[i] !== comma) return null
    i = skipSpace(bytes, i + 1)
  }
}

/** The last member with this key: what Python's json keeps of duplicates. */
export function memberNamed(members: readonly Member[], key: string): Member | undefined {
  return members.findLast((member) => member.key === key)
}

/** The bytes of a slice, not copied. */
export function bytesOf(bytes: Buffer, slice: Slice): Buffer {
  return bytes.subarray(slice.start, slice.end)
}

/** The text of the string that a slice holds, or null where it holds no string. */
export function stringAt(bytes: Buffer, slice: Slice): string | null {
  if (bytes[slice.start] !== quote) return null
  const inside = bytes.subarray(slice.start + 1, slice.end - 1)
  if (!inside.includes(backslash)) return inside.toString('utf8')
  try {
    return JSON.parse(bytes.toString('utf8', slice.start, slice.end)) as string
  } catch {
    return null
  }
}

/** The text under a key, or null. */
export function textNamed(bytes: Buffer, members: readonly Member[], key: string): string | null {
  const value = memberNamed(members, key)?.value
  return value ? stringAt(bytes, value) : null
}

/** The JSON string under a key, quotes and all, or null. */
export function stringNamed(bytes: Buffer, members: readonly Member[], key: string): Buffer | null {
  const value = memberNamed(members, key)?.value
  return value && bytes[value.start] === quote ? bytesOf(bytes, value) : null
}

/** Whether a slice holds the word null. */
export function isNull(bytes: Buffer, slice: Slice): boolean {
  return slice.end - slice.start === 4 && bytes[slice.start] === 0x6e
}

/** Whether two values are the same bytes. */
export function sameBytes(a: Buffer, x: Slice, b: Buffer, y: Slice): boolean {
  return x.end - x.start === y.end - y.start && a.compare(b, y.start, y.end, x.start, x.end) === 0
}
