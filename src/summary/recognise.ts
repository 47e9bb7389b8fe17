// What a request is: main, side or summary. Explicit beats inferred; a wrong fork is worse than a missed one.

import type { IncomingHttpHeaders } from 'node:http'
import type { ReadRequest } from '../endpoint/endpoint.ts'
import { isFront, readText, textParts, type ChatRequest } from '../wire/chat-request.ts'
import { stringAtPath } from '../conversation/conversation-id.ts'
import type { Growth } from '../conversation/content.ts'
import type { Agent } from './agents.ts'
import { hasTools, isPossible, mentionsCondensing } from './generic.ts'

export type RequestKind =
  | { readonly kind: 'main' }
  | { readonly kind: 'side' }
  /** `agent` is null where the client said so itself and no data file knows the request. */
  | { readonly kind: 'summary', readonly agent: Agent | null }
  /**
   * What is recorded of the conversation decides whether it is a summary or a main request: no data file knows it, or
   * that of `agent` does where its system text is not the conversation's.
   */
  | { readonly kind: 'possible', readonly agent: Agent | null }
  /** The messages hold only the directive, or nothing; there is no standalone request. */
  | { readonly kind: 'conversation-summary' }

const header = 'x-warmfork-request'
const metadataPath = ['metadata', 'warmfork', 'request'] as const
const metadataKey = '"warmfork"'

/** Where markers are looked for before anything is parsed, in bytes: system text leads, the last message trails. */
const headWindow = 32 * 1024
const tailWindow = 128 * 1024

/** What was found of a body that is nothing special: it spares searching what grows it. */
export interface Plain {
  readonly hasTools: boolean
}

const withTools: Plain = { hasTools: true }
const withoutTools: Plain = { hasTools: false }

/** Knows the agents' markers; made once. */
export class Recogniser {
  readonly #agents: readonly Agent[]
  readonly #headers: readonly HeaderTrait[]
  /** As JSON writes them, one character for each byte of a body. */
  readonly #markers: readonly string[]
  readonly #longestMarker: number
  readonly #generic: boolean

  /** @param options.generic requests that no data file knows may be summaries too */
  constructor(agents: readonly Agent[], options: { generic: boolean } = { generic: false }) {
    this.#agents = agents
    this.#generic = options.generic
    this.#headers = agents.flatMap(({ traits }) => traits.header ?? [])
    // Every trait must hold: of an agent that says itself what it asks for nothing else is searched.
    const markers = agents.filter(({ traits }) => !traits.header).map(({ traits }) => traits.starts ?? traits.last ?? traits.system!)
    this.#markers = [...new Set([...markers.map((marker) => JSON.stringify(marker).slice(1, -1)), metadataKey])].map((marker) => Buffer.from(marker).toString('latin1'))
    this.#longestMarker = Math.max(...this.#markers.map((marker) => marker.length))
  }

  /**
   * Native searches near both ends of a body, nothing parsed.
   * @param grown what was found of the recorded body that this one grows, and by what: of a plain one only what is new is searched
   * @returns null where reading the body could show anything but a main request
   */
  plainOf(headers: IncomingHttpHeaders, body: Buffer, grown?: { plain: Plain | null, growth: Growth }): Plain | null {
    if (headers[header] !== undefined || this.#headers.some((trait) => headerHolds(trait, headers))) return null
    const known = grown?.growth.sameFront ? grown.plain : null
    const windows = known ? [this.#news(body, grown!.growth)] : ends(body)
    if (windows.some((window) => this.#hasMarker(window))) return null
    if (known && grown!.growth.end < body.length) {
      // What stands in front of the news and behind it was searched when it was recorded.
      if (known.hasTools || hasTools(body.subarray(grown!.growth.start, grown!.growth.end))) return withTools
      return this.#generic && mentionsCondensing(windows[0]!) ? null : withoutTools
    }
    if (hasTools(body)) return withTools
    return this.#generic && mentionsCondensing(body) ? null : withoutTools
  }

  #hasMarker(bytes: Buffer): boolean {
    const text = bytes.toString('latin1')
    return this.#markers.some((marker) => text.includes(marker))
  }

  /** What is new, with as much in front and behind as a marker may reach into. */
  #news(body: Buffer, { start, end }: Growth): Buffer {
    const from = Math.max(0, start - this.#longestMarker, body.length - tailWindow)
    return body.subarray(from, Math.max(from, end + this.#longestMarker))
  }

  /** @param request the request as read, or null where its body cannot be read */
  recognise(headers: IncomingHttpHeaders, request: ReadRequest | null): RequestKind {
    const said = saidBy(headers, request)
    const agent = request ? this.#agents.find((candidate) => traitsOf(candidate, headers, request).every(({ holds }) => holds)) ?? null : null
    switch (said) {
      case 'main': return { kind: 'main' }
      case 'side': return { kind: 'side' }
      case 'summary': return { kind: 'summary', agent }
      case 'conversation-summary': return { kind: 'conversation-summary' }
      default:
        if (agent) return { kind: agent.traits.front === 'foreign' ? 'possible' : 'summary', agent }
        return this.#generic && request && isPossible(request.chat) ? { kind: 'possible', agent: null } : { kind: 'main' }
    }
  }
}

function ends(body: Buffer): Buffer[] {
  const tailFrom = Math.max(0, body.length - tailWindow)
  return tailFrom <= headWindow ? [body] : [body.subarray(0, headWindow), body.subarray(tailFrom)]
}

/** What a client may say that its request is. */
export const requestWords = ['summary', 'main', 'side', 'conversation-summary'] as const

/** What the client says that its request is, in lower case, or null. It may be none of the words. */
export function saidBy(headers: IncomingHttpHeaders, request: ReadRequest | null): string | null {
  const value = headers[header] ?? (request && stringAtPath(request, metadataPath))
  return value === null ? null : String(value).trim().toLowerCase()
}

/** Whether the client says something that is none of the words. */
export function isMisspelt(said: string | null): said is string {
  return said !== null && !(requestWords as readonly string[]).includes(said)
}

export interface Trait {
  readonly name: 'endpoint' | 'header' | 'system' | 'starts' | 'last' | 'tools'
  /** What the agent's file says of it. */
  readonly wanted: string
  readonly holds: boolean
}

/** The traits that an agent's file names and that a request has by itself: all of them must hold. */
export function traitsOf(agent: Agent, headers: IncomingHttpHeaders, request: ReadRequest): Trait[] {
  const { endpoint, header, system, starts, last, tools } = agent.traits
  const { front, trailing } = endsOf(request.chat)
  const found: Trait[] = [{ name: 'tools', wanted: tools, holds: toolsFit(tools, request.chat) }]
  if (endpoint !== undefined) found.push({ name: 'endpoint', wanted: endpoint, holds: endpoint === request.endpoint.name })
  if (header !== undefined) found.push({ name: 'header', wanted: `${header.name}: ${header.contains}`, holds: headerHolds(header, headers) })
  if (system !== undefined) found.push({ name: 'system', wanted: system, holds: front.some((text) => text.includes(system)) })
  if (starts !== undefined) found.push({ name: 'starts', wanted: starts, holds: trailing.some((text) => text.trimStart().startsWith(starts)) })
  if (last !== undefined) found.push({ name: 'last', wanted: last, holds: trailing.some((text) => text.includes(last)) })
  return found
}

type HeaderTrait = NonNullable<Agent['traits']['header']>

function headerHolds({ name, contains }: HeaderTrait, headers: IncomingHttpHeaders): boolean {
  return String(headers[name] ?? '').includes(contains)
}

interface Ends {
  readonly front: readonly string[]
  /** The last message's texts, none where it can ask for nothing: a tool's output or an assistant's text only quotes. */
  readonly trailing: readonly string[]
}

const readEnds = new WeakMap<ChatRequest, Ends>()

/** The texts that markers are looked for in, read once for all agents. */
function endsOf(request: ChatRequest): Ends {
  let ends = readEnds.get(request)
  if (!ends) {
    const last = request.messages.at(-1)
    const asks = last !== undefined && (last.role === 'user' || isFront(last.role))
    ends = {
      front: request.messages.slice(0, request.frontLength).map(({ slice }) => readText(request.body, slice)),
      trailing: asks ? textParts(request.body, last.slice) : [],
    }
    readEnds.set(request, ends)
  }
  return ends
}

function toolsFit(trait: Agent['traits']['tools'], request: ChatRequest): boolean {
  const { tools } = request
  switch (trait) {
    case 'absent': return tools === null
    case 'empty': return tools?.length === 0
    case 'absent-or-empty': return tools === null || tools.length === 0
    // Whether the conversation has it too shows beside what is recorded.
    case 'one-foreign': return tools?.length === 1
    case 'present': return tools !== null && tools.length > 0
  }
}
