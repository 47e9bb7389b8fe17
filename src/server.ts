// The port that agents talk to: connection, route, body, and then the handler of conversations or the relay.
// Fastify holds the server; no request passes through it. Its router would refuse or rewrite targets (%zz, //, *), and it
// takes as much time as half of what the relay adds.

import { once } from 'node:events'
import Fastify, { type FastifyInstance } from 'fastify'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Logger } from 'pino'
import type { Endpoint } from './endpoint/endpoint.ts'
import { endpointAt, errorsAt } from './endpoint/endpoints.ts'
import type { ErrorCode } from './errors.ts'
import { readBody, refuse } from './relay/body.ts'
import { type Connections, trackConnections } from './relay/connections.ts'
import { faultFields } from './relay/fault.ts'
import { ReceivedRequest } from './relay/received.ts'
import { createRelay } from './relay/relay.ts'
import { errorReplyBytes } from './relay/respond.ts'
import { createRoutes } from './relay/routes.ts'
import type { TrafficMetrics } from './relay/traffic-metrics.ts'
import { takeUpgraded, type Upgraded } from './relay/upgraded.ts'
import { asksForWebsocket, tunnel } from './relay/websocket.ts'
import type { Connect } from './relay/upstream.ts'
import type { ClientRequest, ConversationHandler, Relay, ReplyEnd, Upstream } from './relay/types.ts'

/** Above the idle time of usual client pools, so that the client closes first and no request meets a closing socket. */
const keepAliveTimeoutMs = 75_000
/** Node wants it above the keep-alive time; bounds the reading of a head. */
const headersTimeoutMs = 80_000
/** After so long without a packet the system asks whether a client is still there; it gives up some minutes later. */
const clientSilenceMs = 60_000

export interface TrafficOptions {
  readonly config: {
    readonly server: { readonly host: string; readonly port: number }
    readonly limits: { readonly body_bytes: number; readonly header_bytes: number; readonly connections: number | null }
    readonly routes: { readonly allow: readonly string[] }
  }
  readonly upstream: Upstream
  /** How websockets reach the engine; without it none are made. */
  readonly connect?: Connect
  /** Gets every POST to an endpoint of conversations; all else is relayed. */
  readonly conversation: ConversationHandler
  readonly log: Logger
  readonly metrics?: TrafficMetrics
  /** Headers on every reply, errors of ours included. Name, value, … */
  readonly replyHeaders?: readonly string[]
}

export interface TrafficServer {
  readonly app: FastifyInstance
  /** Open connections of clients. */
  connections(): number
  /** Listens where the configuration says; port 0 takes a free one. */
  listen(): Promise<AddressInfo>
  /**
   * Stops listening, closes idle connections at once and lets running replies finish.
   * @param graceMs after so many ms whatever still runs is cut
   */
  close(graceMs: number): Promise<void>
}

/** The traffic server; it owns its client connections, and not the upstream. */
export function createTrafficServer(options: TrafficOptions): TrafficServer {
  const { config, conversation, log } = options
  const replyHeaders = options.replyHeaders ?? []
  const mayPass = createRoutes(config.routes.allow)
  const relay = createRelay(options.upstream, {
    replyHeaders,
    onObserverFault: (error) => log.warn(faultFields(error), 'an observer of a reply failed; the reply went on'),
  })

  const unreadableSockets = new WeakSet<Socket>()
  let server!: Server
  let connections!: Connections
  const app = Fastify({
    serverFactory() {
      server = createHttpServer(config.limits.header_bytes, receive, mayUpgrade)
      connections = trackConnections(server, config.limits.connections)
      server.on('checkExpectation', (request, response) => receive(request, response, 'expectation_failed'))
      server.on('connect', (_request, socket: Socket) => refuseTunnel(takeUpgraded(socket, upgraded)))
      // Older versions of Node cannot leave other upgrades to the HTTP server: there no websocket is made.
      if (options.connect && 'shouldUpgradeCallback' in server) server.on('upgrade', (request, socket: Socket, head) => openTunnel(options.connect!, request, socket, head))
      return server
    },
    clientErrorHandler(error, socket) {
      // Each further piece of what cannot be read is told of again.
      if (unreadableSockets.has(socket)) return
      unreadableSockets.add(socket)
      // Nothing is read any more that would tell that the client has gone.
      socket.once('end', () => socket.destroy())
      answerUnreadable(error, socket, connections, replyHeaders)
    },
  })

  /** @param refusal why the request is not read, if it is not */
  function receive(request: IncomingMessage, response: ServerResponse, refusal?: ErrorCode): void {
    handle(request, response, refusal).catch((error: unknown) => {
      log.error(faultFields(error), 'a request failed inside warmfork')
      response.destroy()
    })
  }

  async function handle(request: IncomingMessage, response: ServerResponse, refusal?: ErrorCode): Promise<void> {
    const receivedAt = performance.now()
    const target = request.url!
    const path = mayPass(target)
    const before = connections.enter(response, () => {
      options.metrics?.request(path, response.headersSent ? response.statusCode : 0)
    })

    if (!connections.admits(request.socket)) {
      response.shouldKeepAlive = false
      return refuse(request, response, errorsAt(path), 'too_many_connections', replyHeaders)
    }
    if (path === undefined) return refuse(request, response, errorsAt(path), 'route_not_allowed', replyHeaders)
    if (refusal) return refuse(request, response, errorsAt(path), refusal, replyHeaders)
    const reading = await readBody(request, config.limits.body_bytes)
    if (reading.kind === 'gone') return
    if (reading.kind === 'too_large') return refuse(request, response, errorsAt(path), 'body_too_large', replyHeaders)
    // One at a time, as the client's own connection to the engine would: else one client could take all there are.
    if (before && !before.closed) await once(before, 'close')
    if (response.destroyed) return

    const whole = new ReceivedRequest(request, response, { target, path, body: reading.body, errors: errorsAt(path), receivedAt })
    const endpoint = whole.method === 'POST' ? endpointAt(path) : undefined
    if (endpoint) await answerConversation(whole, endpoint, conversation, relay, log)
    else await relay.pass(whole)
  }

  const upgraded = new Set<Upgraded>()

  /** Behind a reply that is not finished both would be written at once: there the request passes without its upgrade. */
  function mayUpgrade(request: IncomingMessage): boolean {
    return asksForWebsocket(request) && connections.unfinished(request.socket).length === 0
  }

  /** A CONNECT, behind the replies of the requests in front of it. */
  function refuseTunnel(client: Upgraded): void {
    const before = connections.unfinished(client.socket).at(-1)
    if (before) return void before.once('close', () => refuseTunnel(client))
    connections.leave(client.socket)
    client.endWith(errorReplyBytes('route_not_allowed', replyHeaders))
  }

  function openTunnel(connect: Connect, request: IncomingMessage, socket: Socket, head: Buffer): void {
    const client = takeUpgraded(socket, upgraded)
    connections.leave(socket)
    if (!connections.admits(socket)) return client.endWith(errorReplyBytes('too_many_connections', replyHeaders))
    if (mayPass(request.url!) === undefined) return client.endWith(errorReplyBytes('route_not_allowed', replyHeaders))
    tunnel(connect, request, client, head, replyHeaders)
  }

  return {
    app,
    connections: () => connections.count(),
    async listen() {
      await app.listen({ host: config.server.host, port: config.server.port })
      return server.address() as AddressInfo
    },
    async close(graceMs) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      connections.drain()
      const timer = setTimeout(() => {
        server.closeAllConnections()
        for (const client of upgraded) client.destroy()
      }, graceMs)
      await closed
      clearTimeout(timer)
      await app.close()
    },
  }
}

function createHttpServer(
  headerBytes: number,
  handler: (request: IncomingMessage, response: ServerResponse) => void,
  mayUpgrade: (request: IncomingMessage) => boolean,
): Server {
  const server = createServer(
    {
      keepAliveTimeout: keepAliveTimeoutMs,
      headersTimeout: headersTimeoutMs,
      requestTimeout: 0,
      maxHeaderSize: headerBytes,
      noDelay: true,
      // A client whose machine is gone sends nothing that would say so.
      keepAlive: true,
      keepAliveInitialDelay: clientSilenceMs,
      // Node would answer an empty 400, which agents may take for an overflow; the host is made anew anyway.
      requireHostHeader: false,
      // Any other upgrade, as Java's client asks for one to HTTP/2, is not made, and its request passes without.
      shouldUpgradeCallback: mayUpgrade,
    },
    handler,
  )
  // Node drops headers beyond 1000 without a word; their size is bounded already.
  server.maxHeadersCount = 0
  return server
}

/** Fails open: a fault of the handler costs the client nothing as long as nothing was sent. */
async function answerConversation(request: ClientRequest, endpoint: Endpoint, conversation: ConversationHandler, relay: Relay, log: Logger): Promise<void> {
  let passing: Promise<ReplyEnd> | undefined
  const watched: Relay = { pass: (...args) => (passing = relay.pass(...args)) }
  const { response } = request
  try {
    await conversation(request, watched, endpoint)
    await passing
    if (response.headersSent || response.destroyed) return
    log.warn('the handler of conversations left a request unanswered; it is passed as it came')
  } catch (error) {
    log.warn(faultFields(error), 'the handler of conversations failed; the request is passed as it came if nothing was sent')
    // Already on its way: a second pass would make the engine generate twice.
    if (passing !== undefined) return void (await passing)
    if (response.headersSent) return void (response.writableEnded || response.destroy())
  }
  await relay.pass(request)
}

/**
 * What cannot be read as a request: malformed, too large a head, or too slow. It is refused behind the replies of the
 * requests in front of it, which are none the worse for it.
 */
function answerUnreadable(error: NodeJS.ErrnoException, socket: Socket, connections: Connections, replyHeaders: readonly string[]): void {
  if (error.code === 'ECONNRESET') return void socket.destroy()
  const unfinished = connections.unfinished(socket)
  const before = unfinished.findLast(({ req }) => req.complete)
  if (before) return void before.once('close', () => answerUnreadable(error, socket, connections, replyHeaders))
  const answered = unfinished.some((response) => response.headersSent)
  if (socket.writable && !answered) socket.write(errorReplyBytes(unreadable(error), replyHeaders))
  socket.destroySoon()
}

function unreadable(error: NodeJS.ErrnoException): ErrorCode {
  if (error.code === 'HPE_HEADER_OVERFLOW') return 'headers_too_large'
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request_timeout'
  return 'malformed_request'
}
