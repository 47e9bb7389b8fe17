// Reads the token ids of an engine's answer from its bytes into a typed array: no boxed numbers, 4 bytes an id.

/**
 * The array of ids behind a key.
 * @param key with its quotes, colon and bracket, as the engine writes it; an engine's text can hold it only escaped
 * @returns null where the key is missing or what follows is not an array of whole numbers from 0 to 2^32 - 1
 */
export function readTokenIds(answer: Buffer, key: '"tokens":[' | '"token_ids":[' | '"prompt_token_ids":['): Uint32Array | null {
  const at = answer.indexOf(key)
  if (at < 0) return null
  const start = at + key.length
  const end = answer.indexOf(0x5d, start)
  if (end < 0) return null
  let ids = scratch
  if (start === end) return new Uint32Array(0)
  let count = 0
  for (let i = start; ; i++) {
    while (answer[i] === space) i++
    const first = i
    let value = 0
    for (let digit = digitAt(answer, i); digit >= 0 && digit <= 9; digit = digitAt(answer, ++i)) value = value * 10 + digit
    if (i === first || value > 0xffffffff) return null
    if (count === ids.length) ids = larger(ids)
    ids[count++] = value
    while (answer[i] === space) i++
    if (i === end) return ids.slice(0, count)
    if (answer[i] !== comma) return null
  }
}

/** Where ids are gathered, for prompts of usual length: memory outside the heap makes the collector run. */
const scratch = new Uint32Array(1 << 17)

function larger(ids: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const twice = new Uint32Array(2 * ids.length)
  twice.set(ids)
  return twice
}

const space = 0x20
const comma = 0x2c

function digitAt(bytes: Buffer, at: number): number {
  return bytes[at]! - 0x30
}

/**
 * Length of the common prefix of two token-id sequences, in tokens.
 * @returns 0 to min(a.length, b.length)
 */
export function commonPrefix(a: Uint32Array, b: Uint32Array): number {
  const limit = Math.min(a.length, b.length)
  let i = 0
  while (i < limit && a[i] === b[i]) i++
  return i
}
