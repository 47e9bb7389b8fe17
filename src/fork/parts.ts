// What a fork is made of, whatever the endpoint. Types only.

import type { ReadRequest } from '../endpoint/endpoint.ts'

/** A message of the fork behind the head. */
export interface FollowingMessage {
  readonly role: string
  /** A chat message. */
  readonly json: Buffer
  /** The items that it is made of, as the endpoint writes them, commas between them; empty where the message before holds them. */
  readonly items: Buffer
}

export interface ForkParts {
  readonly evidence: ReadRequest
  readonly summary: ReadRequest
  /** Leading messages of the evidence's chat form that are kept. */
  readonly headLength: number
  readonly following: readonly FollowingMessage[]
  /** The directive, a JSON message of role and text: every endpoint takes it as it is. */
  readonly directive: Buffer
}

export interface ForkSettings {
  /** Say that no tool may be called; else the evidence's own choice stays. */
  readonly toolChoiceNone: boolean
  /** The reply's token limit, or null for none of our making. */
  readonly maxTokens: number | null
}
