// The conversation id that a client gave, as a keyed hash. An id only narrows the search for evidence (DESIGN, Conversation).

import type { IncomingHttpHeaders } from 'node:http'
import { bytesOf, stringAt, membersOf, memberNamed, type Slice } from '../wire/json-slices.ts'
import type { WithMembers } from '../wire/chat-request.ts'
import { keyedHash } from './tenant.ts'

/** Always first: what a user sets on purpose. */
const ownHeader = 'x-warmfork-conversation'

export interface ConversationIdSources {
  /** Header names in lower case, first match wins. */
  readonly headers: readonly string[]
  /** Body fields, `name` or `metadata.name`; looked at when no header gave an id. */
  readonly bodyFields: readonly string[]
}

/** @returns the hash of the id in the headers, or null */
export function conversationInHeaders(headers: IncomingHttpHeaders, sources: ConversationIdSources): string | null {
  for (const name of [ownHeader, ...sources.headers]) {
    const value = headers[name]
    if (value !== undefined && value !== '') return keyedHash('conversation', String(value))
  }
  return null
}

/** @returns the hash of the id in the body's fields, or null */
export function conversationInBody(request: WithMembers, sources: ConversationIdSources): string | null {
  const id = fieldWithId(request, sources)
  return id && keyedHash('conversation', stringAt(request.body, id)!)
}

/** The id in the body's fields with its quotes, as it is written there, or null. */
export function idInBody(request: WithMembers, sources: ConversationIdSources): Buffer | null {
  const id = fieldWithId(request, sources)
  return id && bytesOf(request.body, id)
}

function fieldWithId(request: WithMembers, sources: ConversationIdSources): Slice | null {
  for (const field of sources.bodyFields) {
    const value = valueAtPath(request, field.split('.'))
    if (value && (stringAt(request.body, value) ?? '') !== '') return value
  }
  return null
}

/** The string at a path of keys in a request's body, or null. */
export function stringAtPath(request: WithMembers, path: readonly string[]): string | null {
  const value = valueAtPath(request, path)
  return value && stringAt(request.body, value)
}

function valueAtPath(request: WithMembers, path: readonly string[]): Slice | null {
  let { members } = request
  for (const [depth, key] of path.entries()) {
    const member = memberNamed(members, key)
    if (!member) return null
    if (depth === path.length - 1) return member.value
    members = membersOf(request.body, member.value.start) ?? []
  }
  return null
}
