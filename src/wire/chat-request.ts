// A chat request seen as the engine reads it, by slices of its own bytes. Reads lazily and changes nothing.

import { isUtf8 } from 'node:buffer'
import { bytesOf, elementsOf, isNull, memberNamed, membersOf, skipSpace, stringAt, type Member, type Slice } from './json-slices.ts'

/** What one message is, as far as forks care. */
export interface Message {
  readonly slice: Slice
  readonly role: string
  /** Ids of the calls that an assistant message makes; '' for one without an id. */
  readonly callIds: readonly string[]
  /** The call that a tool message answers. */
  readonly answers: string | null
}

export interface ChatRequest {
  readonly body: Buffer
  /** Top-level members in the order written; no key twice. */
  readonly members: readonly Member[]
  readonly messages: readonly Message[]
  /** How many messages lead with system or developer text. */
  readonly frontLength: number
  /** The elements of `tools`; null where it is absent or null. */
  readonly tools: readonly Slice[] | null
}

/**
 * Reads a chat request.
 * @returns null where the engine would read something else than we do or nothing at all: not UTF-8, not a JSON
 *   object, a key twice at the top level, no array of message objects
 */
export function readChatRequest(body: Buffer): ChatRequest | null {
  const members = topMembers(body)
  if (members === null) return null
  const messagesAt = memberNamed(members, 'messages')
  const slices = messagesAt && elementsOf(body, messagesAt.value.start)
  if (!slices) return null
  const messages: Message[] = []
  for (const slice of slices) {
    const message = readMessage(body, slice)
    if (message === null) return null
    messages.push(message)
  }
  const toolsAt = memberNamed(members, 'tools')
  const tools = toolsAt && !isNull(body, toolsAt.value) ? elementsOf(body, toolsAt.value.start) : null
  if (toolsAt && tools === null && !isNull(body, toolsAt.value)) return null
  const firstTurn = messages.findIndex((message) => !isFront(message.role))
  return { body, members, messages, frontLength: firstTurn < 0 ? messages.length : firstTurn, tools }
}

/** The members of a body that is a JSON object; null where it is none, not UTF-8, or has a key twice at the top level. */
export function topMembers(body: Buffer): Member[] | null {
  const members = isUtf8(body) ? membersOf(body, skipSpace(body, 0)) : null
  return members !== null && new Set(members.map(({ key }) => key)).size === members.length ? members : null
}

/** Whether a body is JSON to the last byte: the slices alone do not look inside strings and numbers. */
export function isWholeJson(body: Buffer): boolean {
  try {
    JSON.parse(body.toString('utf8'))
    return true
  } catch {
    return false
  }
}

/** Roles whose leading messages set the stage and carry no turn of the conversation. */
export function isFront(role: string): boolean {
  return role === 'system' || role === 'developer'
}

function readMessage(body: Buffer, slice: Slice): Message | null {
  const members = membersOf(body, slice.start)
  if (members === null) return null
  const roleAt = memberNamed(members, 'role')
  const role = roleAt ? stringAt(body, roleAt.value) : null
  if (role === null) return null
  const callsAt = memberNamed(members, 'tool_calls')
  const calls = callsAt && !isNull(body, callsAt.value) ? elementsOf(body, callsAt.value.start) : []
  if (calls === null) return null
  const answersAt = memberNamed(members, 'tool_call_id')
  return {
    slice,
    role,
    callIds: calls.map((call) => stringMember(body, call, 'id') ?? ''),
    answers: answersAt ? stringAt(body, answersAt.value) : null,
  }
}

/** The string under a key of the object that a slice holds, or null. */
export function stringMember(body: Buffer, object: Slice, key: string): string | null {
  const member = memberNamed(membersOf(body, object.start) ?? [], key)
  return member ? stringAt(body, member.value) : null
}

/** The top-level members of a request of any endpoint. */
export type WithMembers = Pick<ChatRequest, 'body' | 'members'>

/** The value under a top-level key; undefined where it is absent or null, which vLLM takes for absent. */
export function option(request: WithMembers, key: string): Slice | undefined {
  const member = memberNamed(request.members, key)
  return member && !isNull(request.body, member.value) ? member.value : undefined
}

/** The string under a top-level key, or null. */
export function stringOption(request: WithMembers, key: string): string | null {
  const value = option(request, key)
  return value ? stringAt(request.body, value) : null
}

/** The number under a top-level key, or null. vLLM takes a number in quotes, and a boolean, for a number (pydantic, lax). */
export function numberOption(request: WithMembers, key: string): number | null {
  const value = option(request, key)
  if (!value) return null
  const text = stringAt(request.body, value) ?? request.body.toString('latin1', value.start, value.end)
  if (text === 'true') return 1
  if (text === 'false') return 0
  const number = text.trim() === '' ? Number.NaN : Number(text)
  return Number.isFinite(number) ? number : null
}

/** The boolean under a top-level key as vLLM reads it (pydantic, lax), or null where it is absent or none. */
export function booleanOption(request: WithMembers, key: string): boolean | null {
  const value = option(request, key)
  return value ? booleanAt(request.body, value) : null
}

/** The boolean that a slice holds as vLLM reads it, or null. */
export function booleanAt(body: Buffer, value: Slice): boolean | null {
  const text = (stringAt(body, value) ?? body.toString('latin1', value.start, value.end)).toLowerCase()
  if (['true', '1', 't', 'y', 'yes', 'on'].includes(text) || Number(text) === 1) return true
  if (['false', '0', 'f', 'n', 'no', 'off'].includes(text) || (text !== '' && Number(text) === 0)) return false
  return null
}

/**
 * The text of a message as raw JSON string insides (escapes untouched), one per text part.
 * @returns null where its content holds anything but text
 */
export function textInsides(body: Buffer, message: Slice): Buffer[] | null {
  const content = memberNamed(membersOf(body, message.start) ?? [], 'content')
  if (!content || isNull(body, content.value)) return []
  if (body[content.value.start] === 0x22) return [insideOf(body, content.value)]
  const parts = elementsOf(body, content.value.start)
  if (parts === null) return null
  const insides: Buffer[] = []
  for (const part of parts) {
    if (body[part.start] === 0x22) {
      insides.push(insideOf(body, part))
      continue
    }
    const members = membersOf(body, part.start)
    const text = members && memberNamed(members, 'text')
    if (!text || body[text.value.start] !== 0x22 || stringMember(body, part, 'type') !== 'text') return null
    insides.push(insideOf(body, text.value))
  }
  return insides
}

/** The text of a message as a reader sees it, '' where it has none. For recognising, never for forwarding. */
export function readText(body: Buffer, message: Slice): string {
  return textParts(body, message).join('\n')
}

/** The same, one text per part. */
export function textParts(body: Buffer, message: Slice): string[] {
  return (textInsides(body, message) ?? []).map((inside) => unescaped(inside))
}

function insideOf(body: Buffer, string: Slice): Buffer {
  return bytesOf(body, { start: string.start + 1, end: string.end - 1 })
}

function unescaped(inside: Buffer): string {
  const text = inside.toString('utf8')
  if (!text.includes('\\')) return text
  try {
    return JSON.parse(`"${text}"`) as string
  } catch {
    return ''
  }
}
