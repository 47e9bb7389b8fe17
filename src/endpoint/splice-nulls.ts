// Puts null in the place of values, in a whole reply or in an event of a stream; every other byte stays.

import type { Slice } from '../wire/json-slices.ts'
import type { SseEvent } from '../wire/sse.ts'

/** @param slices where the values stand, in ascending order */
export function spliceNulls(json: Buffer, slices: readonly Slice[]): Buffer {
  return splice(json, 0, slices)
}

/** @param slices where the values stand in its data, in ascending order */
export function eventWithNulls({ raw, data }: SseEvent, slices: readonly Slice[]): Buffer {
  if (data === null || slices.length === 0) return raw
  const at = placeIn(raw, data)
  if (at !== null) return splice(raw, at, slices)
  // Data over several lines is written as one; vLLM writes one. Its line feeds are white space between values.
  const edited = splice(data, 0, slices)
  for (let i = edited.indexOf(lineFeed); i >= 0; i = edited.indexOf(lineFeed, i + 1)) edited[i] = 0x20
  return Buffer.concat([Buffer.from('data: '), edited, Buffer.from('\n\n')])
}

const lineFeed = 0x0a

/** Where a part of a buffer stands in it; null where it is a copy. */
function placeIn(whole: Buffer, part: Buffer): number | null {
  const at = part.byteOffset - whole.byteOffset
  return part.buffer === whole.buffer && at >= 0 && at + part.length <= whole.length ? at : null
}

function splice(raw: Buffer, offset: number, slices: readonly Slice[]): Buffer {
  if (slices.length === 0) return raw
  const parts: Buffer[] = []
  let at = 0
  for (const { start, end } of slices) {
    parts.push(raw.subarray(at, offset + start), Buffer.from('null'))
    at = offset + end
  }
  parts.push(raw.subarray(at))
  return Buffer.concat(parts)
}
