// Takes out of a fork's reply what we asked for and the client did not: token ids become null, as vLLM answers who did
// not ask, and the usage event goes. Every other byte stays.

import { elementsOf, isNull, memberNamed, membersOf, skipSpace, bytesOf, type Slice } from '../wire/json-slices.ts'
import type { SseEvent } from '../wire/sse.ts'

/** What the client asked for itself. */
export interface Asked {
  readonly usage: boolean
  readonly tokenIds: boolean
}

/** A whole reply as the client is to see it. */
export function editReply(json: Buffer, asked: Asked): Buffer {
  return asked.tokenIds ? json : spliceNulls(json, 0, idSlices(json))
}

/** An event as the client is to see it; null where it does not see it. */
export function editEvent(event: SseEvent, asked: Asked): Buffer | null {
  const { raw, data } = event
  if (data === null) return raw
  if (!asked.usage && isUsageEvent(data)) return null
  // Data over several lines is no part of the raw bytes; vLLM writes one.
  if (asked.tokenIds || data.buffer !== raw.buffer || data.byteOffset < raw.byteOffset) return raw
  return spliceNulls(raw, data.byteOffset - raw.byteOffset, idSlices(data))
}

/** Where token ids stand: the prompt's at the top, the reply's in each choice. */
function idSlices(json: Buffer): Slice[] {
  const members = membersOf(json, skipSpace(json, 0)) ?? []
  const prompt = memberNamed(members, 'prompt_token_ids')
  const choices = memberNamed(members, 'choices')
  const found = prompt ? [prompt.value] : []
  for (const choice of (choices && elementsOf(json, choices.value.start)) ?? []) {
    const ids = memberNamed(membersOf(json, choice.start) ?? [], 'token_ids')
    if (ids) found.push(ids.value)
  }
  return found.filter((slice) => !isNull(json, slice)).sort((a, b) => a.start - b.start)
}

function spliceNulls(raw: Buffer, offset: number, slices: readonly Slice[]): Buffer {
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

/** The event behind the finish that holds usage and no choice (chat_completion/serving.py). */
function isUsageEvent(data: Buffer): boolean {
  if (!data.includes('"usage"')) return false
  const members = membersOf(data, skipSpace(data, 0)) ?? []
  const usage = memberNamed(members, 'usage')
  const choices = memberNamed(members, 'choices')
  return usage !== undefined && !isNull(data, usage.value) &&
    choices !== undefined && bytesOf(data, choices.value).toString('latin1').replace(/\s/g, '') === '[]'
}
