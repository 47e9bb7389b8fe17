// The conversation id that a client gave, as a keyed hash. An id only narrows the search for evidence (DESIGN, Conversation).

import type { IncomingHttpHeaders } from 'node:http'
import { stringAt, membersOf, memberNamed } from '../wire/json-slices.ts'
import type { ChatRequest } from '../wire/chat-request.ts'
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
export function conversationInBody(request: ChatRequest, sources: ConversationIdSources): string | null {
  for (const field of sources.bodyFields) {
    const value = stringAtPath(request, field.split('.'))
    if (value !== null && value !== '') return keyedHash('conversation', value)
  }
  return null
}

/** The string at a path of keys in a request's body, or null. */
export function stringAtPath(request: ChatRequest, path: readonly string[]): string | null {
  let members = request.members
  for (const [depth, key] of path.entries()) {
    const member = memberNamed(members, key)
    if (!member) return null
    if (depth === path.length - 1) return stringAt(request.body, member.value)
    members = membersOf(request.body, member.value.start) ?? []
  }
  return null
}
