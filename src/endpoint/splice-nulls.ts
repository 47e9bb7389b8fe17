// Puts null in the place of values, in a whole reply or in an event of a stream, or a member behind an event's others;
// every other byte stays.

import { skipSpace, valueEnd, type Slice } from '../wire/json-slices.ts'
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
  return inOneLine(splice(data, 0, slices))
}

/** @param event whose data is an object with a member */
export function eventWithMember(event: SseEvent, member: Buffer): SseEvent {
  const data = event.data!
  const end = valueEnd(data, skipSpace(data, 0)) - 1
  const edited = Buffer.concat([data.subarray(0, end), Buffer.from(','), member, data.subarray(end)])
  const at = placeIn(event.raw, data)
  const lead = at === null ? Buffer.from('data: ') : event.raw.subarray(0, at)
  const raw = at === null ? inOneLine(edited) : Buffer.concat([lead, edited, event.raw.subarray(at + data.length)])
  return { raw, data: raw.subarray(lead.length, lead.length + edited.length) }
}

/** Data over several lines is written as one; vLLM writes one. Its line feeds are white space between values. */
function inOneLine(data: Buffer): Buffer {
  const line = Buffer.from(data)
  for (let i = line.indexOf(lineFeed); i >= 0; i = line.indexOf(lineFeed, i + 1)) line[i] = 0x20
  return Buffer.concat([Buffer.from('data: '), line, Buffer.from('\n\n')])
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
