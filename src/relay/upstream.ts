// The engine's address and its sockets: the only file of the relay that knows undici.
// Sends what it is given and reports what comes back; it never reads, changes or copies a body.

import type { Socket } from 'node:net'
import { rootCertificates } from 'node:tls'
import { buildConnector, Client, type Dispatcher, Pool } from 'undici'
import type { Presence } from './presence.ts'
import type { Exchange, ExchangeHandler, Outgoing, Upstream, UpstreamFault } from './types.ts'

/** Idle sockets are closed after this many ms: before uvicorn closes its own at 5 s. */
const keepAliveMs = 4_000

/** A reused socket that fails later than this many ms after the write may have reached a working engine. */
const retryWithinMs = 1_000

/** Bytes of a reply's head; undici's own 16 KiB are less than some gateways send. */
const replyHeadBytes = 256 * 1024

const clientOptions = {
  pipelining: 1,
  allowH2: false,
  // vLLM answers its headers, then prefills for minutes: only the client's patience ends an exchange.
  headersTimeout: 0,
  bodyTimeout: 0,
  keepAliveTimeout: keepAliveMs,
  keepAliveMaxTimeout: keepAliveMs,
  maxHeaderSize: replyHeadBytes,
} satisfies Client.Options

/** What a running exchange must know about the connection that carries it. */
interface Line {
  socket: Socket | undefined
  /** Requests written to `socket` so far. */
  requests: number
}

interface LineOptions extends Dispatcher.DispatchOptions {
  readonly onLine: (line: Line) => void
}

/** An undici client, which holds one connection at a time, that tells a request which line it got. */
class LineClient extends Client {
  readonly #line: Line

  constructor(origin: string | URL, connector: buildConnector.connector) {
    const line: Line = { socket: undefined, requests: 0 }
    super(origin, {
      ...clientOptions,
      connect: (target, done) =>
        connector(target, (...result) => {
          line.socket = result[1] ?? undefined
          line.requests = 0
          done(...result)
        }),
    })
    this.#line = line
  }

  override dispatch(options: LineOptions, handler: Dispatcher.DispatchHandler): boolean {
    options.onLine(this.#line)
    return super.dispatch(options, handler)
  }
}

export interface UpstreamOptions {
  /** Scheme, host and port. */
  readonly origin: string
  /** Limit for name lookup, TCP and TLS together, in ms. */
  readonly connectTimeoutMs: number
  /** Certificates that count beside the public authorities'. */
  readonly ca?: readonly string[]
  /** Told of every connection that was made or could not be. */
  readonly presence?: Presence
}

/** Opens connections to the engine that are no part of its pool: for other protocols than HTTP. */
export interface Connect {
  /** What a Host header says. */
  readonly host: string
  open(): Promise<Socket>
}

export function createConnect(options: UpstreamOptions): Connect {
  const connector = createConnector(options)
  const { protocol, hostname, host, port } = new URL(options.origin)
  return {
    host,
    open: () => new Promise((resolve, reject) => {
      connector({ protocol, hostname, host, port }, (error, socket) => (error ? reject(error) : resolve(socket!)))
    }),
  }
}

function createConnector({ connectTimeoutMs, ca = [], presence }: UpstreamOptions): buildConnector.connector {
  const connector = buildConnector({
    timeout: connectTimeoutMs,
    allowH2: false,
    // A name with several addresses is tried at all of them.
    autoSelectFamily: true,
    // Given any, Node forgets its own.
    ...(ca.length > 0 && { ca: [...rootCertificates, ...ca] }),
  })
  if (!presence) return connector
  return (target, done) => {
    const begunAt = performance.now()
    connector(target, (...result) => {
      const [error] = result
      if (error === null) presence.reached()
      // That this process has no descriptor left says nothing about the engine.
      else if (!outOfDescriptors(error)) presence.failed(error, begunAt)
      done(...result)
    })
  }
}

/** The engine behind one address, and how many connections to it are open. */
export function createUpstream(options: UpstreamOptions): Upstream & { connections(): number } {
  const connector = createConnector(options)
  const pool = new Pool(options.origin, {
    connections: null,
    connect: connector,
    factory: (origin) => new LineClient(origin, connector),
  })
  const closingClients = new Set<Promise<void>>()

  /** A client of its own for one request, so that no pooled socket, stale like the last, can be picked. */
  function fresh(send: (dispatcher: Dispatcher) => void): void {
    const client = new LineClient(options.origin, connector)
    send(client)
    const closing = client.close().finally(() => closingClients.delete(closing))
    closingClients.add(closing)
  }

  return {
    origin: options.origin,
    connections: () => pool.stats.connected,
    exchange(outgoing, handler, { retryReused }) {
      const exchange = new RunningExchange(outgoing, handler, retryReused ? fresh : undefined)
      // Not in this tick: whoever calls must have the exchange in hand before its first callback.
      queueMicrotask(() => exchange.send(pool))
      return exchange
    },
    async close() {
      await pool.close()
      await Promise.all(closingClients)
    },
  }
}

/**
 * Whether a connection failed for lack of time, and not for a refusal.
 * @param error of a fault 'unreachable'
 */
export function connectTimedOut(error: Error): boolean {
  const code = codeOf(error)
  return code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT'
}

/**
 * Whether a connection failed because this process may open no more files.
 * @param error of a fault 'unreachable'
 */
export function outOfDescriptors(error: Error): boolean {
  const code = codeOf(error)
  return code === 'EMFILE' || code === 'ENFILE'
}

function codeOf(error: Error): unknown {
  return 'code' in error ? error.code : undefined
}

class RunningExchange implements Exchange, Dispatcher.DispatchHandler {
  readonly #outgoing: Outgoing
  readonly #handler: ExchangeHandler
  #fresh: ((send: (dispatcher: Dispatcher) => void) => void) | undefined
  #controller: Dispatcher.DispatchController | undefined
  #line: Line | undefined
  #over = false
  #written = false
  #writtenAt = 0
  #onReusedSocket = false
  #byteArrived = false
  /** Of the reply; 0 as long as its head has not arrived. */
  #status = 0

  constructor(
    outgoing: Outgoing,
    handler: ExchangeHandler,
    fresh: ((send: (dispatcher: Dispatcher) => void) => void) | undefined,
  ) {
    this.#outgoing = outgoing
    this.#handler = handler
    this.#fresh = fresh
  }

  send(dispatcher: Dispatcher): void {
    if (this.#over) return
    const options: LineOptions = {
      method: this.#outgoing.method as Dispatcher.HttpMethod,
      path: this.#outgoing.target,
      headers: this.#outgoing.headers as string[],
      body: this.#outgoing.body,
      onLine: (line) => {
        this.#line = line
      },
    }
    dispatcher.dispatch(options, this)
  }

  abort(): void {
    if (this.#over) return
    this.#over = true
    // Before the request is written there is no controller; onRequestStart then writes nothing. Afterwards the socket is
    // its own: an abort by undici's controller would make undici open another one, for a request that is none any more.
    const socket = this.#written ? this.#line?.socket : undefined
    if (socket) socket.destroy(abandoned)
    else this.#controller?.abort(abandoned)
  }

  pause(): void {
    this.#controller?.pause()
  }

  resume(): void {
    this.#controller?.resume()
  }

  /** undici is about to write the request. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#over) {
      controller.abort(abandoned)
      return
    }
    this.#written = true
    this.#writtenAt = performance.now()
    this.#onReusedSocket = this.#line !== undefined && this.#line.requests > 0
    if (this.#line !== undefined) this.#line.requests += 1
  }

  /** The first byte of a reply is there. Deprecated in undici's types, and the only sign of it. */
  onResponseStarted(): void {
    this.#byteArrived = true
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    _headers: unknown,
    statusMessage = '',
  ): void {
    if (this.#over || status < 200) return
    this.#status = status
    this.#tell(() => this.#handler.head(status, reasonOf(statusMessage), latin1(controller.rawHeaders)))
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#over) this.#tell(() => this.#handler.data(chunk))
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    if (this.#over) return
    const socket = this.#line?.socket
    // undici takes a reset for the end of a body that has no length and no chunks.
    const reset = socket?.errored
    if (reset) return this.#fail('died_mid_body', reset)
    this.#finish(latin1(controller.rawTrailers))
    // Answered before the engine has read the body: what is left of it would stand in front of the next request.
    if (socket && socket.writableLength > 0) socket.destroy()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#over) return
    const fresh = this.#fresh
    if (fresh && this.#mayGoAgain()) {
      this.#fresh = undefined
      fresh((dispatcher) => this.send(dispatcher))
      return
    }
    if (this.#status === 304 && codeOf(error) === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') {
      // The length is that of the body which a 304 does not bring (RFC 9110, 8.6); undici misses the body.
      return this.#finish([])
    }
    if (this.#status > 0) this.#fail('died_mid_body', error)
    else this.#fail(this.#written ? 'reset_before_head' : 'unreachable', error)
  }

  #finish(rawTrailers: string[]): void {
    this.#tell(() => this.#handler.end(rawTrailers))
    this.#over = true
  }

  #fail(fault: UpstreamFault, error: Error): void {
    this.#over = true
    this.#handler.fault(fault, error)
  }

  /** undici must not see a throw: it would call back no more, and the client would wait for ever. */
  #tell(step: () => void): void {
    try {
      step()
    } catch (error) {
      if (this.#over) return
      this.abort()
      this.#fail('died_mid_body', error as Error)
    }
  }

  #mayGoAgain(): boolean {
    return this.#onReusedSocket && !this.#byteArrived && performance.now() - this.#writtenAt <= retryWithinMs
  }
}

const abandoned = new Error('The exchange was abandoned.')

/** undici decodes the reason as UTF-8; Node writes latin1, so this gives the bytes back, but for those that Node refuses to write. */
function reasonOf(statusMessage: string): string {
  return Buffer.from(statusMessage).toString('latin1').replace(/[^\t\x20-\x7e\x80-\xff]/g, ' ')
}

function latin1(raw: Dispatcher.DispatchController['rawHeaders']): string[] {
  return Array.isArray(raw) ? raw.map((part) => (typeof part === 'string' ? part : part.toString('latin1'))) : []
}
