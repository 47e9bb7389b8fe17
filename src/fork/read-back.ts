// Whether a fork's body, read as its endpoint reads requests, is the chat form that is proven. What an endpoint writes
// is not what its requests are made of where items merge into the message before, so the body itself is read back.

import { chatOptions } from '../endpoint/chat-options.ts'
import { roleOf } from '../endpoint/role.ts'
import type { ChatRequest } from '../wire/chat-request.ts'
import { bytesOf } from '../wire/json-slices.ts'
import { forkMessages, ownMessages } from './build.ts'
import type { ForkParts } from './parts.ts'

/** @returns whether the engine would make of the fork the very messages and options that are proven */
export function readsAsPlanned(parts: ForkParts): boolean {
  const { endpoint, body, chat } = parts.evidence
  // A chat request is its own chat form, and so is its fork.
  if (chat.body === body) return true
  const read = endpoint.read(endpoint.forkBody(parts, { toolChoiceNone: true, maxTokens: null }))
  return read !== null && sameBuffers(ownMessages(read.chat), forkMessages(parts)) && sameBuffers(promptMembers(read.chat), promptMembers(chat))
}

/** What shapes a request's prompt beside its messages. */
function promptMembers({ body, members }: ChatRequest): Buffer[] {
  return members.filter(({ key }) => key === 'tools' || roleOf(chatOptions, key) === 'prompt').map(({ whole }) => bytesOf(body, whole))
}

function sameBuffers(a: readonly Buffer[], b: readonly Buffer[]): boolean {
  return a.length === b.length && a.every((bytes, i) => bytes.equals(b[i]!))
}
