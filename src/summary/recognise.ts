// What a chat request is: main, side or summary. Explicit beats inferred; a wrong fork is worse than a missed one.

import type { IncomingHttpHeaders } from 'node:http'
import { isFront, readText, type ChatRequest } from '../wire/chat-request.ts'
import { stringAtPath } from '../conversation/conversation-id.ts'
import type { Agent } from './agents.ts'

export type RequestKind =
  | { readonly kind: 'main' }
  | { readonly kind: 'side' }
  /** `agent` is null where the client said so itself and no data file knows the request. */
  | { readonly kind: 'summary', readonly agent: Agent | null }
  /** The messages hold only the directive, or nothing; there is no standalone request. */
  | { readonly kind: 'conversation-summary' }

const header = 'x-warmfork-request'
const metadataPath = ['metadata', 'warmfork', 'request'] as const
const metadataKey = '"warmfork"'

/** Where markers are looked for before anything is parsed, in bytes: system text leads, the last message trails. */
const headWindow = 32 * 1024
const tailWindow = 128 * 1024

/** Knows the agents' markers; made once. */
export class Recogniser {
  readonly #agents: readonly Agent[]
  readonly #markers: readonly Buffer[]

  constructor(agents: readonly Agent[]) {
    this.#agents = agents
    const markers = agents.map((agent) => agent.traits.last ?? agent.traits.system!)
    // In a JSON body a marker stands as JSON writes it.
    this.#markers = [...new Set([...markers.map((marker) => JSON.stringify(marker).slice(1, -1)), metadataKey])].map((marker) => Buffer.from(marker))
  }

  /** Whether reading the body could show anything but a main request. Native searches near both ends, nothing parsed. */
  mayBeSpecial(headers: IncomingHttpHeaders, body: Buffer): boolean {
    if (headers[header] !== undefined) return true
    const tailFrom = Math.max(0, body.length - tailWindow)
    const head = body.subarray(0, Math.min(headWindow, body.length))
    const windows = tailFrom <= headWindow ? [body] : [head, body.subarray(tailFrom)]
    return this.#markers.some((marker) => windows.some((window) => window.includes(marker)))
  }

  /** @param request the request as read, or null where its body cannot be read */
  recognise(headers: IncomingHttpHeaders, request: ChatRequest | null): RequestKind {
    const said = headers[header] ?? (request && stringAtPath(request, metadataPath))
    const agent = request ? this.#agents.find((candidate) => fits(candidate, request)) ?? null : null
    switch (said) {
      case 'main': return { kind: 'main' }
      case 'side': return { kind: 'side' }
      case 'summary': return { kind: 'summary', agent }
      case 'conversation-summary': return { kind: 'conversation-summary' }
      default: return agent ? { kind: 'summary', agent } : { kind: 'main' }
    }
  }
}

/** Every trait that the file names must hold. */
function fits(agent: Agent, request: ChatRequest): boolean {
  const { system, last, tools } = agent.traits
  const front = request.messages.slice(0, request.frontLength)
  const trailing = request.messages.at(-1)
  return toolsFit(tools, request) &&
    (system === undefined || front.some((message) => readText(request.body, message.slice).includes(system))) &&
    (last === undefined || (trailing !== undefined && isInstruction(trailing.role) && readText(request.body, trailing.slice).includes(last)))
}

/** A tool's output or an assistant's text that quotes a marker asks for nothing. */
function isInstruction(role: string): boolean {
  return role === 'user' || isFront(role)
}

function toolsFit(trait: Agent['traits']['tools'], request: ChatRequest): boolean {
  const { tools } = request
  switch (trait) {
    case 'absent': return tools === null
    case 'empty': return tools?.length === 0
    case 'absent-or-empty': return tools === null || tools.length === 0
    case 'present': return tools !== null && tools.length > 0
  }
}
