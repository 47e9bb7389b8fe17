// The directive's turn as token ids, found without knowing the template: small renderings by the engine itself show what
// stands behind a message where another turn follows, and one more of the evidence shows where its head's text ends.

import { probeTexts, withText, type ProbeText } from '../engine/role-header.ts'
import type { Rendered } from '../engine/engine.ts'
import type { Prompt } from '../engine/prompt.ts'
import { commonPrefix } from '../wire/token-ids.ts'
import { commonSuffix, joinIds, placesOf } from '../wire/ids.ts'
import { bytesOf, memberNamed, membersOf } from '../wire/json-slices.ts'
import { isFront, stringMember, type ChatRequest } from '../wire/chat-request.ts'
import { ownMessages } from './build.ts'

type Render = (prompt: Prompt) => Promise<Rendered>

/** Where the text of the head's last message ends in the evidence's prompt. */
export interface HeadText {
  /** Tokens up to and with its last one. */
  readonly end: number
  /** Ids of what follows a message that are merged into that last token, as they are without the merge. */
  readonly merged: Uint32Array
}

/**
 * Renders the evidence with another text in the head's last message: where the two renderings meet again, its text ends.
 * @param sentinels last id of each probe's text, as the small conversation has it
 * @returns null where the template does not show the message, or the engine does not answer
 */
export async function measureHeadText(
  evidence: ChatRequest, headLength: number, prompt: Uint32Array, sentinels: Readonly<Record<ProbeText, number>>, render: Render,
): Promise<HeadText | null> {
  const messages = ownMessages(evidence)
  const last = messages[headLength - 1]!
  const text = probeTexts.find((text) => !endsLike(last, text)) ?? probeTexts[0]
  const probed = await render({ options: evidence, messages: messages.with(headLength - 1, withText(last, text)) })
  return 'ids' in probed ? headText(prompt, probed.ids, sentinels[text]) : null
}

/** Whether a message could end with the last token of a probe's text. */
function endsLike(message: Buffer, text: ProbeText): boolean {
  const content = memberNamed(membersOf(message, 0) ?? [], 'content')
  return content !== undefined && bytesOf(message, content.value).subarray(-40).includes(text.slice(text.indexOf(' ') + 1))
}

/** @param sentinel last id of the text that the probe has in place of the head's last */
export function headText(prompt: Uint32Array, probed: Uint32Array, sentinel: number): HeadText | null {
  const shared = commonPrefix(prompt, probed)
  if (shared === probed.length || shared === prompt.length) return null
  const suffix = Math.min(commonSuffix(prompt, probed), prompt.length - shared, probed.length - shared)
  const probeEnd = probed.lastIndexOf(sentinel, probed.length - suffix - 1) + 1
  const merged = probed.slice(probeEnd, probed.length - suffix)
  return probeEnd <= shared || merged.length > maxMerged ? null : { end: prompt.length - suffix, merged }
}

/** A merge reaches over few ids: a full stop, line feeds, the beginning of a mark that is ordinary text. */
const maxMerged = 8

export interface TokenTurn {
  /** What stands behind a message of the head's last role: whatever follows the head, the directive, the generation prompt. */
  readonly turn: Uint32Array
  readonly sentinels: Readonly<Record<ProbeText, number>>
}

/**
 * Measures in a small conversation of the evidence's own parts, since templates write calls and their results by what
 * they hold, and some write the system text or the tools behind the last user turn: front, one user turn, last group.
 * @param behind messages of the fork behind the head, the directive last
 * @returns null where the template takes no such conversation
 */
export async function measureTurn(evidence: ChatRequest, headLength: number, behind: readonly Buffer[], render: Render): Promise<TokenTurn | null> {
  const messages = ownMessages(evidence)
  const { role } = evidence.messages[headLength - 1]!
  const caller = role === 'tool' ? evidence.messages.slice(0, headLength).findLastIndex(({ callIds }) => callIds.length > 0) : headLength - 1
  const lead = [...messages.slice(0, evidence.frontLength), ...(role === 'user' ? [] : [user]), ...messages.slice(caller, headLength - 1)]
  // The text ends in a word of its own.
  const ending = (text: ProbeText): Buffer[] => [...lead, withText(messages[headLength - 1]!, text)]
  const [one, other, followed, before, after] = await Promise.all([
    render({ options: evidence, messages: ending(probeTexts[0]) }),
    render({ options: evidence, messages: ending(probeTexts[1]) }),
    render({ options: evidence, messages: [...ending(probeTexts[0]), ...behind] }),
    // System text may be moved to the front: what stands before and behind it shows whether it is.
    isFront(role) ? render({ options: evidence, messages: [...lead.slice(0, -1), withText(lead.at(-1)!, probeTexts[1]), ...ending(probeTexts[0]).slice(-1)] }) : null,
    behind.some(isSystem) ? render({ options: evidence, messages: [...ending(probeTexts[0]), ...behind.map((message) => (isSystem(message) ? withText(message, probeTexts[1]) : message))] }) : null,
  ])
  if (!('ids' in one) || !('ids' in other) || !('ids' in followed) || (before && !('ids' in before)) || (after && !('ids' in after))) return null
  const start = commonPrefix(one.ids, other.ids)
  const suffix = commonSuffix(one.ids, other.ids)
  const text = one.ids.subarray(start, one.ids.length - suffix)
  const otherText = other.ids.subarray(start, other.ids.length - suffix)
  if (text.length === 0 || otherText.length === 0 || (before && commonPrefix(one.ids, before.ids) >= start)) return null
  // The system text may hold the same words: then only the place where they stood before is sure.
  const places = placesOf(text, followed.ids)
  const place = places.length === 1 ? places[0]! : places.includes(start) ? start : -1
  if (place < 0 || (after && commonPrefix(followed.ids, after.ids) < place + text.length)) return null
  return {
    turn: followed.ids.slice(place + text.length),
    sentinels: { [probeTexts[0]]: text.at(-1)!, [probeTexts[1]]: otherText.at(-1)! } as Record<ProbeText, number>,
  }
}

/**
 * The fork's ids: the evidence's up to the end of the head's text, then the turn.
 * @returns null where the turn does not begin with what is merged into the head's last token
 */
export function placeTurn(prompt: Uint32Array, { end, merged }: HeadText, { turn }: Pick<TokenTurn, 'turn'>): Uint32Array | null {
  return merged.every((id, i) => turn[i] === id) ? joinIds(prompt.subarray(0, end), turn.subarray(merged.length)) : null
}

function isSystem(message: Buffer): boolean {
  return isFront(stringMember(message, { start: 0, end: message.length }, 'role') ?? '')
}

const user = Buffer.from('{"role":"user","content":"Look it up."}')
