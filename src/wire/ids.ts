// Sequences of token ids: compared from either end, searched, joined.

/** Length of the common suffix of two sequences, in tokens. */
export function commonSuffix(a: Uint32Array, b: Uint32Array): number {
  const limit = Math.min(a.length, b.length)
  let i = 0
  while (i < limit && a[a.length - 1 - i] === b[b.length - 1 - i]) i++
  return i
}

/** Where a sequence starts in another, every time. */
export function placesOf(sought: Uint32Array, ids: Uint32Array): number[] {
  const places: number[] = []
  for (let at = ids.indexOf(sought[0]!); at >= 0; at = ids.indexOf(sought[0]!, at + 1)) {
    if (sought.every((id, i) => ids[at + i] === id)) places.push(at)
  }
  return places
}

/** One sequence of two. */
export function joinIds(a: Uint32Array, b: Uint32Array): Uint32Array {
  const joined = new Uint32Array(a.length + b.length)
  joined.set(a)
  joined.set(b, a.length)
  return joined
}
