// warmfork's traffic port in front of an engine, as a test needs it.

import { pino } from 'pino'
import type { ConversationHandler, Upstream } from '../../src/relay/types.ts'
import { createConnect, createUpstream } from '../../src/relay/upstream.ts'
import { createTrafficServer, type TrafficServer } from '../../src/server.ts'

export interface ProxyOptions {
  readonly conversation?: ConversationHandler
  readonly bodyBytes?: number
  readonly headerBytes?: number
  readonly connections?: number
  readonly allow?: readonly string[]
  readonly connectTimeoutMs?: number
  readonly ca?: readonly string[]
  readonly replyHeaders?: readonly string[]
}

export interface Proxy {
  readonly port: number
  readonly server: TrafficServer
  readonly upstream: Upstream
  /** Every line that was logged, at level trace. */
  readonly logged: string[]
}

interface Teardown {
  teardown(handler: () => Promise<void>): unknown
}

/** Starts warmfork before an engine; without a handler of conversations, they are relayed. The test's teardown stops it. */
export async function startProxy(t: Teardown, origin: string, options: ProxyOptions = {}): Promise<Proxy> {
  const logged: string[] = []
  const address = { origin, connectTimeoutMs: options.connectTimeoutMs ?? 2_000, ca: options.ca ?? [] }
  const upstream = createUpstream(address)
  const server = createTrafficServer({
    config: {
      server: { host: '127.0.0.1', port: 0 },
      limits: { body_bytes: options.bodyBytes ?? 256 * 1024 * 1024, header_bytes: options.headerBytes ?? 65_536, connections: options.connections ?? null },
      routes: { allow: options.allow ?? [] },
    },
    upstream,
    connect: createConnect(address),
    conversation: options.conversation ?? (async (request, relay) => void (await relay.pass(request))),
    log: pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) }),
    ...(options.replyHeaders && { replyHeaders: options.replyHeaders }),
  })
  const { port } = await server.listen()
  t.teardown(async () => {
    await server.close(0)
    await upstream.close()
  })
  return { port, server, upstream, logged }
}
