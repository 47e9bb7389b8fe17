// What opens a message of a role, in tokens, and what a probe's content starts with: with both, a probe of the fork
// shows where the head ends (DESIGN, Proof). Forgetting the header makes a covered head look uncovered.

import { commonPrefix } from '../wire/token-ids.ts'
import { bytesOf, memberNamed, membersOf } from '../wire/json-slices.ts'
import type { ChatRequest } from '../wire/chat-request.ts'
import { sample } from './calibration.ts'
import type { Rendered } from './engine.ts'
import type { Prompt } from './prompt.ts'

export interface RoleHeader {
  /** Tokens between the end of the message before and the content; marks that open every role alike are not counted. */
  readonly length: number
  /** The first id of each probe's content. */
  readonly firstId: Readonly<Record<ProbeText, number>>
}

/** Two contents without a token in common at either end, so that one of them differs from any message. */
export const probeTexts = ['Quick look', 'Zebra crossing'] as const

export type ProbeText = (typeof probeTexts)[number]

/**
 * Renders a small conversation, the probed message with either content and in another role: where the contents part
 * the header ends, where the roles part it begins. Asks for more where roles open alike, never for less.
 * @param previous role of the message before
 * @returns null where the template takes no such conversation
 */
export async function measureRoleHeader(
  request: ChatRequest, previous: string, role: string, render: (prompt: Prompt) => Promise<Rendered>,
): Promise<RoleHeader | null> {
  const { options, messages } = sample(request)
  const upTo = messages.findLastIndex((message) => sampleRole(message) === previous)
  const lead = upTo < 0 ? [...messages, message(previous, 'Before.')] : messages.slice(0, upTo + 1)
  const probe = (role: string, text: ProbeText): Promise<Rendered> =>
    render({ options, messages: [...lead, message(role, text), ...closing(role)] })
  const own = await probe(role, probeTexts[0])
  const other = await probe(role, probeTexts[1])
  const foreign = await probe(role === 'assistant' ? 'user' : 'assistant', probeTexts[0])
  if (!('ids' in own) || !('ids' in other) || !('ids' in foreign)) return null
  const content = commonPrefix(own.ids, other.ids)
  const start = commonPrefix(own.ids, foreign.ids)
  if (start >= content) return null
  return { length: content - start, firstId: { [probeTexts[0]]: own.ids[content]!, [probeTexts[1]]: other.ids[content]! } }
}

/** A message with its role and calls kept and other content from its first token on. */
export function probeOf(json: Buffer): { json: Buffer, text: ProbeText } {
  const content = memberNamed(membersOf(json, 0) ?? [], 'content')
  const startsAlike = content !== undefined && bytesOf(json, content.value).subarray(0, 40).includes(probeTexts[0][0]!)
  const text = startsAlike ? probeTexts[1] : probeTexts[0]
  return { json: withText(json, text), text }
}

/**
 * A message with its role and calls kept and another content.
 * The last of equal keys counts for the engine, so appending is replacing.
 */
export function withText(json: Buffer, text: ProbeText): Buffer {
  const replaced = Buffer.from(`,"content":${JSON.stringify(text)},"reasoning":null,"reasoning_content":null}`)
  return Buffer.concat([json.subarray(0, json.lastIndexOf('}')), replaced])
}

function message(role: string, content: string): Buffer {
  return Buffer.from(JSON.stringify({ role, content }))
}

/** Ends with a user's turn whatever the probed role, so that which user turn is the last moves nothing. */
function closing(role: string): Buffer[] {
  const user = message('user', 'Go on.')
  return role === 'assistant' ? [user] : [message('assistant', 'Yes.'), user]
}

function sampleRole(json: Buffer): string {
  return (JSON.parse(json.toString('utf8')) as { role: string }).role
}
