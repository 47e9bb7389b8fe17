// What an endpoint is to warmfork. Every request of another endpoint can be seen as the chat request that vLLM itself
// makes of it: the core works on that chat form, and only the ends differ, one small module for each. Types only.

import type { Asking, Calibrated, Calibration } from '../engine/calibration.ts'
import type { ErrorForm } from '../errors.ts'
import type { ForkParts, ForkSettings } from '../fork/parts.ts'
import type { Reason } from '../receipt/reasons.ts'
import type { ChatRequest } from '../wire/chat-request.ts'
import type { Member, Slice } from '../wire/json-slices.ts'
import type { ReplyState } from '../wire/reply.ts'
import type { SseEvent } from '../wire/sse.ts'

export type EndpointName = 'chat' | 'responses' | 'messages'

/** The chat request that vLLM makes of a request: for reading and proving, never sent. */
export interface AsChat {
  /** Made of slices of the request's own bytes; what vLLM does not render is not in it. For chat the request itself. */
  readonly chat: ChatRequest
  /** The elements that a conversation grows by as the request wrote them: messages, or input items. */
  readonly items: readonly Slice[]
  /** For each chat message the number of items up to and with the last that it is made of; 0 for text that stands apart. */
  readonly itemsEnd: readonly number[]
}

/** A request as its endpoint wrote it, and as chat. */
export interface ReadRequest extends AsChat {
  readonly endpoint: Endpoint
  /** As it came. */
  readonly body: Buffer
  /** Its top-level members in the order written; no key twice. */
  readonly members: readonly Member[]
}

/** How a member of a request goes into a fork. */
export type Role =
  /** Shapes only the answer: the summary request's value, or none. */
  | 'answer'
  /** vLLM ignores it: the summary request's value, or none. */
  | 'ignored'
  /** Decides which engine or rank answers: the evidence's value, or none. */
  | 'routing'
  /** Part of the conversation, and looked at with it: the evidence's value, or none. */
  | 'conversation'
  /** Made anew for every request. */
  | 'per-request'
  /** Written by the plan itself. */
  | 'planned'

/** What the members of an endpoint's requests are to a fork (R2). One that no row names shapes the prompt. */
export interface OptionTable {
  readonly roles: Readonly<Record<string, Role>>
  /** Those whose difference has a reason of its own. */
  readonly ownReasons: Readonly<Record<string, Reason>>
  /** What makes a request unforkable when it is set, whichever of the two sets it. */
  readonly unforkable: readonly string[]
  /** Switches that must be off, or on, where they are given. */
  readonly switches: Readonly<Record<string, boolean>>
  /** How many answers are generated: one, where they are given. */
  readonly choiceCounts: readonly string[]
}

/** Reads replies, whole or event by event, into what is known of them. */
export interface ReplyReading {
  /** So many bytes of a stream's end hold what `addEvent` needs to say how it ended. */
  readonly tailBytes: number
  /** How the event begins that ends a stream and repeats all of it, whatever its length; not there where no event does. */
  readonly lastEvent?: Buffer
  /** Adds what one event of a stream says. @returns whether it says something: text beyond white space, thinking, a call, a finish or an error */
  addEvent(state: ReplyState, event: SseEvent): boolean
  /** Adds what a whole reply says. */
  addReply(state: ReplyState, json: Buffer): void
  /** Ids that the engine says it prefilled, of a whole reply or of one event's data; null where it does not say. */
  promptIds(json: Buffer): Uint32Array | null
}

/** Takes out of one fork's reply what we asked for and the client did not, and ends a stream that failed. */
export interface ReplyEdit {
  /** A whole reply as the client is to see it. */
  reply(json: Buffer): Buffer
  /** An event as the client is to see it, behind what was held back for it; null where it does not see it, or not yet. */
  event(event: SseEvent): Buffer | null
  /** What is held back for an event that does not come; null where nothing is. Not there where nothing ever is. */
  rest?(): Buffer | null
  /**
   * The event that ends a stream which failed, behind those that the client has seen: none that it could take for success.
   * Code and type are names of ours, the message is one sentence that says what to do.
   */
  failed(code: string, message: string, type: string): Buffer
}

/** Turns one reply into another form, whole or event by event. */
export interface ReplyTranslator {
  reply(json: Buffer): Buffer
  events(event: SseEvent): SseEvent[]
  /** The body of an answer that is no success. Not there where engines write errors alike on both sides. */
  error?(body: Buffer): Buffer
}

export interface Endpoint {
  readonly name: EndpointName
  /** The decoded path that requests are posted to. */
  readonly path: string
  /** Key of the array that a conversation grows by. */
  readonly itemsKey: 'messages' | 'input'
  /** Whether vLLM makes the same of two items, where agents write what they said before in another way. */
  sameItem?(a: Buffer, itemA: Slice, b: Buffer, itemB: Slice): boolean
  readonly options: OptionTable
  readonly reply: ReplyReading
  readonly errors: ErrorForm
  /**
   * Reads a request.
   * @returns null where the engine would read something else than we do or nothing at all: not UTF-8, not a JSON object,
   *   a key twice at the top level, shapes that vLLM refuses
   */
  read(body: Buffer): ReadRequest | null
  /** The body of a fork, spliced from slices of what both requests wrote. */
  forkBody(parts: ForkParts, settings: ForkSettings): Buffer
  /** @param summary the request that the fork answers */
  edit(summary: ReadRequest): ReplyEdit
  /**
   * Turns a chat reply into the endpoint's own, for one made of token ids; null where chat replies are its own.
   * @param promptTokens of the fork
   */
  fromChat(summary: ReadRequest, promptTokens: number): ReplyTranslator | null
  /** What of a request decides how it is rendered and is not in its chat form: shapes that are calibrated apart. */
  shape?(request: ReadRequest): string
  /**
   * Asks the engine whether the endpoint prefills what the chat form renders to, for the shapes of a request.
   * Not there for chat, whose calibration is all there is to ask.
   * @param calibrated what was found for the chat form
   * @param blockSize tokens of one cache block, or null where unknown
   */
  calibrate?(request: ReadRequest, calibrated: Calibrated, ask: Asking, blockSize?: number | null): Promise<Calibration>
}
