// Takes out of a fork's reply what we asked for and the client did not: token ids become null, as vLLM answers who did
// not ask, the events go that are there for them alone, and the usage event goes. Every other byte stays.

import { elementsOf, isNull, memberNamed, membersOf, skipSpace, type Member, type Slice } from '../wire/json-slices.ts'
import type { SseEvent } from '../wire/sse.ts'
import { eventWithNulls, spliceNulls } from './splice-nulls.ts'

/** What the client asked for itself. */
export interface Asked {
  readonly usage: boolean
  readonly tokenIds: boolean
}

/** The members of a chat reply, whole or of one event, and of each of its choices. */
interface Seen {
  readonly json: Buffer
  readonly members: readonly Member[]
  /** Null where there is no such list. */
  readonly choices: readonly (readonly Member[])[] | null
}

/** A whole reply as the client is to see it. */
export function editReply(json: Buffer, asked: Asked): Buffer {
  return asked.tokenIds ? json : spliceNulls(json, idSlices(see(json)))
}

/** An event as the client is to see it; null where it does not see it. */
export function editEvent(event: SseEvent, asked: Asked): Buffer | null {
  if (event.data === null) return event.raw
  const seen = see(event.data)
  const usage = asked.usage ? undefined : usageMember(seen)
  // The event behind the finish holds usage and no choice (chat_completion/serving.py); some servers put both into one.
  if (usage && seen.choices?.length === 0) return null
  if (!asked.tokenIds && isForIds(seen)) return null
  const slices = [...(asked.tokenIds ? [] : idSlices(seen)), ...(usage ? [usage.value] : [])].sort((a, b) => a.start - b.start)
  return eventWithNulls(event, slices)
}

function see(json: Buffer): Seen {
  const members = membersOf(json, skipSpace(json, 0)) ?? []
  const list = memberNamed(members, 'choices')
  const choices = list && elementsOf(json, list.value.start)
  return { json, members, choices: choices?.map(({ start }) => membersOf(json, start) ?? []) ?? null }
}

/** Where token ids stand: the prompt's at the top, the reply's in each choice. */
function idSlices({ json, members, choices }: Seen): Slice[] {
  const found = [set(json, members, 'prompt_token_ids'), ...(choices ?? []).map((choice) => set(json, choice, 'token_ids'))]
  return found.flatMap((member) => member?.value ?? []).sort((a, b) => a.start - b.start)
}

/** vLLM says the ids of tokens that its parsers took, and nothing else of them, to who asked for ids (chat_completion/serving.py). */
function isForIds({ json, members, choices }: Seen): boolean {
  return choices !== null && choices.length > 0 && set(json, members, 'prompt_token_ids') === undefined && choices.every((choice) => {
    const delta = memberNamed(choice, 'delta')
    return set(json, choice, 'token_ids') !== undefined && set(json, choice, 'finish_reason') === undefined &&
      set(json, choice, 'logprobs') === undefined && delta !== undefined && membersOf(json, delta.value.start)?.length === 0
  })
}

/** The usage that an event reports, if it does. */
function usageMember({ json, members }: Seen): Member | undefined {
  return json.includes('"usage"') ? set(json, members, 'usage') : undefined
}

/** The member of this name, unless it is null. */
function set(json: Buffer, members: readonly Member[], key: string): Member | undefined {
  const member = memberNamed(members, key)
  return member && !isNull(json, member.value) ? member : undefined
}
