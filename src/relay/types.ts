// What relay, fork and engine say to each other about one HTTP exchange. Types only.

import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { Endpoint } from '../endpoint/endpoint.ts'
import type { ErrorForm } from '../errors.ts'

/** A client's request, its body held whole, as the traffic server hands it on. */
export interface ClientRequest {
  readonly method: string
  /** The request target as received, query included; forwarded byte for byte. */
  readonly target: string
  /** The decoded path without the query: what routes are decided on. */
  readonly path: string
  /** Name, value, name, value, … in the order, case and number received. */
  readonly rawHeaders: readonly string[]
  /** The same headers joined and in lower case, for reading. */
  readonly headers: IncomingHttpHeaders
  /** The whole body; empty when there was none. Never changed. */
  readonly body: Buffer
  readonly response: ServerResponse
  /** How errors of ours look on its route. */
  readonly errors: ErrorForm
  /** Aborts when the client goes before its reply was finished. */
  readonly gone: AbortSignal
  /** performance.now() when the request head was read, in ms. */
  readonly receivedAt: number
}

/** A request to the engine. `headers` have no hop-by-hop header, no host and no length: those are made anew. */
export interface Outgoing {
  readonly method: string
  readonly target: string
  readonly headers: readonly string[]
  readonly body: Buffer
}

/** Why an exchange with the engine failed. */
export type UpstreamFault =
  /** No connection: nothing was sent (refused, unknown name, TLS, connect timeout). */
  | 'unreachable'
  /** The connection ended before a response head; the engine may or may not have worked on it. */
  | 'reset_before_head'
  /** The connection ended inside the body. */
  | 'died_mid_body'

/** What an exchange reports, in this order: head, data…, then exactly one of end and fault (neither after abort). */
export interface ExchangeHandler {
  head(status: number, statusMessage: string, rawHeaders: string[]): void
  data(chunk: Buffer): void
  /** @param rawTrailers name, value, …; empty when there were none */
  end(rawTrailers: string[]): void
  fault(fault: UpstreamFault, error: Error): void
}

/** A running exchange. */
export interface Exchange {
  /** Closes the engine's socket at once (vLLM stops generating on it); no callback follows. */
  abort(): void
  pause(): void
  resume(): void
}

/** The engine's address with its connection pool. */
export interface Upstream {
  /** Scheme, host and port, without a path. */
  readonly origin: string
  /**
   * @param options.retryReused one more try on a fresh socket when a reused one was reset before any
   *   response byte and within a second of the write; never for a fork
   */
  exchange(outgoing: Outgoing, handler: ExchangeHandler, options: { retryReused: boolean }): Exchange
  /** Resolves when all sockets are closed; running exchanges finish first. */
  close(): Promise<void>
}

/** How a relayed reply ended, as the client saw it. */
export type ReplyEnd = 'complete' | 'client_gone' | 'upstream_died' | 'unreachable'

/** Sees a reply pass by; must not throw, must not keep the caller waiting. */
export interface ReplyObserver {
  head(status: number, rawHeaders: readonly string[]): void
  data(chunk: Buffer): void
  end(how: ReplyEnd): void
}

export interface PassOptions {
  readonly observer?: ReplyObserver
  /** Headers added behind the engine's own: receipts. Name, value, … */
  readonly replyHeaders?: readonly string[]
}

/** Sends a client's request to the engine as it came and streams the reply back as it comes. */
export interface Relay {
  /** Resolves when the exchange is over on both sides; never rejects. */
  pass(request: ClientRequest, options?: PassOptions): Promise<ReplyEnd>
}

/** Handles a POST to an endpoint of conversations; whatever it does, the client gets its answer. */
export type ConversationHandler = (request: ClientRequest, relay: Relay, endpoint: Endpoint) => Promise<void>
