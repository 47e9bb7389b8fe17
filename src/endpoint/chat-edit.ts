// Takes out of a fork's reply what we asked for and the client did not: token ids become null, as vLLM answers who did
// not ask, the events go that are there for them alone, and the usage event goes, all but the fingerprint that it took
// from the finish. Every other byte stays.

import { openAiErrors } from '../errors.ts'
import { bytesOf, elementsOf, isNull, memberNamed, membersOf, skipSpace, type Member, type Slice } from '../wire/json-slices.ts'
import type { SseEvent } from '../wire/sse.ts'
import type { ReplyEdit } from './endpoint.ts'
import { eventWithMember, eventWithNulls, spliceNulls } from './splice-nulls.ts'

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

export class ChatEdit implements ReplyEdit {
  readonly #asked: Asked
  /** The event with the finish, and comments behind it: they wait for the usage, which vLLM sends at once. */
  #held: { readonly finish: SseEvent, readonly comments: Buffer[] } | null = null

  constructor(asked: Asked) {
    this.#asked = asked
  }

  reply(json: Buffer): Buffer {
    return this.#asked.tokenIds ? json : spliceNulls(json, idSlices(see(json)))
  }

  event(event: SseEvent): Buffer | null {
    if (event.data === null) {
      if (this.#held === null) return event.raw
      this.#held.comments.push(event.raw)
      return null
    }
    const seen = see(event.data)
    const usage = this.#asked.usage ? undefined : usageMember(seen)
    // The event behind the finish holds usage and no choice (chat_completion/serving.py); some servers put both into one.
    if (usage && seen.choices?.length === 0) {
      const mark = set(seen.json, seen.members, fingerprint)
      return this.#release(mark && bytesOf(seen.json, mark.whole))
    }
    if (!this.#asked.tokenIds && isForIds(seen)) return null
    const before = this.rest()
    if (!this.#asked.usage && lacksFingerprint(seen)) {
      this.#held = { finish: event, comments: [] }
      return before
    }
    const edited = this.#edited(event, seen)
    return before ? Buffer.concat([before, edited]) : edited
  }

  rest(): Buffer | null {
    return this.#release()
  }

  failed(code: string, message: string, type: string): Buffer {
    return Buffer.concat([Buffer.from('data: '), openAiErrors.body(code, message, type), Buffer.from('\n\n')])
  }

  /** @param mark the fingerprint: where usage is asked for, vLLM says it with the usage and not with the finish (chat_completion/serving.py) */
  #release(mark?: Buffer): Buffer | null {
    if (this.#held === null) return null
    const { finish, comments } = this.#held
    this.#held = null
    return Buffer.concat([this.#edited(mark ? eventWithMember(finish, mark) : finish), ...comments])
  }

  /** An event as the client is to see it. */
  #edited(event: SseEvent, seen = see(event.data!)): Buffer {
    const usage = this.#asked.usage ? undefined : usageMember(seen)
    const slices = [...(this.#asked.tokenIds ? [] : idSlices(seen)), ...(usage ? [usage.value] : [])].sort((a, b) => a.start - b.start)
    return eventWithNulls(event, slices)
  }
}

const fingerprint = 'system_fingerprint'

/** Whether it is the finish of a reply, without the engine's fingerprint. */
function lacksFingerprint({ json, members, choices }: Seen): boolean {
  return memberNamed(members, fingerprint) === undefined && (choices ?? []).some((choice) => set(json, choice, 'finish_reason') !== undefined)
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
