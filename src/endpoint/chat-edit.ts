// Takes out of a fork's reply what we asked for and the client did not: token ids become null, as vLLM answers who did
// not ask, and the usage event goes. Every other byte stays.

import { elementsOf, isNull, memberNamed, membersOf, skipSpace, type Member, type Slice } from '../wire/json-slices.ts'
import type { SseEvent } from '../wire/sse.ts'
import { eventWithNulls, spliceNulls } from './splice-nulls.ts'

/** What the client asked for itself. */
export interface Asked {
  readonly usage: boolean
  readonly tokenIds: boolean
}

/** A whole reply as the client is to see it. */
export function editReply(json: Buffer, asked: Asked): Buffer {
  return asked.tokenIds ? json : spliceNulls(json, idSlices(json))
}

/** An event as the client is to see it; null where it does not see it. */
export function editEvent(event: SseEvent, asked: Asked): Buffer | null {
  const { raw, data } = event
  if (data === null) return raw
  const usage = asked.usage ? undefined : usageMember(data)
  if (usage && holdsNoChoice(data)) return null
  const slices = [...(asked.tokenIds ? [] : idSlices(data)), ...(usage ? [usage.value] : [])].sort((a, b) => a.start - b.start)
  return eventWithNulls(event, slices)
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

/** The usage that an event reports, if it does. */
function usageMember(data: Buffer): Member | undefined {
  if (!data.includes('"usage"')) return undefined
  const usage = memberNamed(membersOf(data, skipSpace(data, 0)) ?? [], 'usage')
  return usage && !isNull(data, usage.value) ? usage : undefined
}

/** The event behind the finish holds usage and no choice (chat_completion/serving.py); some servers put both into one. */
function holdsNoChoice(data: Buffer): boolean {
  const choices = memberNamed(membersOf(data, skipSpace(data, 0)) ?? [], 'choices')
  return choices !== undefined && elementsOf(data, choices.value.start)?.length === 0
}
