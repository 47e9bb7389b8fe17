// How a test speaks to an endpoint: conversations and requests are described once, as chat, and what differs is here.

import type { Endpoint } from '../../../src/endpoint/endpoint.ts'
import type { SimulatorOptions } from '../../../src/simulator/simulator.ts'

/** A request as tests describe it, whatever the endpoint. */
export interface ChatBody {
  model: string
  messages: Message[]
  tools?: Tool[]
  [option: string]: unknown
}

export interface Message {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool'
  content: string | null
  reasoning?: string
  reasoning_content?: string
  tool_calls?: { id: string, type: 'function', function: { name: string, arguments: string } }[]
  tool_call_id?: string
}

export interface Tool {
  type: 'function'
  function: { name: string, description: string, parameters: object }
}

/** What a client takes from a reply, in the words of chat. */
export interface Said {
  /** The visible text. */
  readonly content: string
  readonly thinking: string
  readonly finish: string | null
  /** The stream's end mark came. */
  readonly done: boolean
  /** An error in place of a reply, or as a stream's event. */
  readonly error: { readonly code?: string, readonly type?: string, readonly message: string } | null
}

export interface Canned {
  readonly whole: string
  /** Events of a stream, up to the one that says how it finished. */
  readonly events: readonly string[]
  /** What follows them, '' where nothing does. */
  readonly end: string
}

export interface Spoken {
  readonly endpoint: Endpoint
  /** What an engine must have for a fork to be proven here. */
  readonly engine?: SimulatorOptions
  /** An empty text is none here. */
  readonly dropsEmptyTexts?: true
  /** A request that a test describes as chat. */
  write(body: ChatBody): object
  /** @param data the JSON of a whole reply, or the data of every event of a stream */
  read(data: readonly string[]): Said
  /** A reply that says these texts and stops, as an engine sends it. */
  canned(texts: readonly string[]): Canned
  /** An error of ours as a whole reply, and the last event's data of a stream that failed. @param type `summary_error` by default */
  error(code: string, message: string, type?: string): object
  /** @param before the data of the events before */
  errorEvent(code: string, message: string, before: readonly any[]): object
  /**
   * Members of a chat request that this endpoint has no word for, and what its engine does not say or take: `told prompt ids`, `no limit`, `an aborted finish`,
   * `an error event` when a stream fails; or always does: `unreported cached tokens`. What needs one is not tested here.
   */
  readonly lacks: readonly string[]
}

/** The JSON of those data that are JSON objects or the like. */
export function parts(data: readonly string[]): any[] {
  return data.flatMap((json) => {
    try {
      return [JSON.parse(json)]
    } catch {
      return []
    }
  })
}

/** What the outcome of a fork says whose prompt was the proven one. */
export function confirmedOn({ lacks }: Spoken): true | null {
  return lacks.includes('told prompt ids') ? null : true
}
