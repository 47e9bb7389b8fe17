// One running warmfork, put together: the engine's address, the port for agents, the port for its own pages.
// Whatever is opened here is closed here.

import type { AddressInfo } from 'node:net'
import type { Logger } from 'pino'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { createAdminServer } from './admin.ts'
import type { Config } from './config.ts'
import { readTlsCa } from './config/tls-ca.ts'
import { upstreamOrigin } from './config/upstream-url.ts'
import { composeHandler } from './compose.ts'
import { askAtStart } from './engine/readiness.ts'
import { Ledger } from './receipt/ledger.ts'
import { faultFields } from './relay/fault.ts'
import { Presence } from './relay/presence.ts'
import { createTrafficMetrics } from './relay/traffic-metrics.ts'
import { createConnect, createUpstream } from './relay/upstream.ts'
import { createTrafficServer, type TrafficServer } from './server.ts'
import { knownAgents } from './summary/agents.ts'

export { TlsCaError } from './config/tls-ca.ts'
export { AgentFilesError } from './summary/agents.ts'

export interface App {
  /** Where agents connect to, without a path. */
  readonly url: string
  /** Where warmfork's own pages are, without a path. */
  readonly adminUrl: string
  /**
   * Stops listening and closes everything; running replies may finish first.
   * @param graceMs after so many ms whatever still runs is cut
   */
  close(graceMs: number): Promise<void>
}

/** A port or host of the configuration that cannot be listened on. */
export class ListenError extends Error {
  readonly server: 'server' | 'admin'
  /** The system's code: EADDRINUSE, EACCES, … */
  readonly code: string

  constructor(server: 'server' | 'admin', cause: NodeJS.ErrnoException) {
    super(`cannot listen as ${server} says`, { cause })
    this.server = server
    this.code = cause.code ?? cause.name
  }
}

/**
 * Starts everything that the configuration asks for and logs where it listens.
 * @throws ListenError, AgentFilesError and TlsCaError, with nothing left open
 */
export async function startApp(config: Config, log: Logger): Promise<App> {
  const agents = knownAgents(config.agents.directory)
  const ca = config.upstream.tls_ca === null ? [] : readTlsCa(config.upstream.tls_ca)
  const engine = await startEngine(config)
  const presence = new Presence(log)
  const address = { origin: engine.origin, connectTimeoutMs: config.upstream.connect_timeout_ms, ca, presence }
  const upstream = createUpstream(address)
  const replyHeaders = config.simulator ? ['x-warmfork-simulator', 'true'] : []

  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const metrics = { contentType: registry.contentType, render: () => registry.metrics() }
  const ledger = new Ledger(log, registry)
  const closing = new AbortController()
  const conversation = composeHandler(config, { agents, upstream, ledger, registry, log, replyHeaders, closing: closing.signal })

  const connections = { clients: () => traffic.connections(), upstream: () => upstream.connections() }
  const traffic: TrafficServer = createTrafficServer({ config, upstream, connect: createConnect(address), metrics: createTrafficMetrics(registry, connections), conversation, log, replyHeaders })
  const admin = createAdminServer({ upstream, metrics, recentReceipts: () => ledger.recent() })

  /** The first question, on a connection of its own: it leaves nothing in the pool that clients share. */
  const askAlone = async () => {
    const alone = createUpstream(address)
    await askAtStart(alone, presence, log, { connectMs: address.connectTimeoutMs, signal: closing.signal })
    await alone.close()
  }

  // The admin pages answer as long as replies drain, and close last.
  const close = async (graceMs: number) => {
    await traffic.close(graceMs)
    closing.abort()
    await upstream.close()
    await admin.close()
    await engine.close()
  }
  try {
    const adminUrl = await listening('admin', () => listen(admin, config.admin))
    const url = await listening('server', () => traffic.listen())
    log.info(
      { url, admin_url: adminUrl, upstream: upstream.origin, fork_mode: config.fork.mode, simulator: config.simulator },
      config.simulator ? 'listening, with the simulator in place of an engine' : 'listening',
    )
    void askAlone().catch((error: unknown) => log.warn(faultFields(error), 'the engine could not be asked at the start'))
    return { url, adminUrl, close }
  } catch (error) {
    await close(0)
    throw error
  }
}

/** The engine's origin: the one configured, or the built-in engine's, which is loaded only when asked for. */
async function startEngine(config: Config): Promise<{ origin: string; close(): Promise<void> }> {
  if (config.upstream.url !== null) return { origin: upstreamOrigin(config.upstream.url), close: async () => {} }
  const { startSimulator } = await import('./simulator/simulator.ts')
  const simulator = await startSimulator()
  return { origin: upstreamOrigin(simulator.url), close: () => simulator.close() }
}

async function listen(admin: ReturnType<typeof createAdminServer>, { host, port }: Config['admin']): Promise<AddressInfo> {
  await admin.listen({ host, port, listenTextResolver: () => '' })
  return admin.server.address() as AddressInfo
}

/** @returns the URL that the server listens on */
async function listening(server: 'server' | 'admin', listen: () => Promise<AddressInfo>): Promise<string> {
  try {
    const { address, family, port } = await listen()
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
  } catch (error) {
    throw new ListenError(server, error as NodeJS.ErrnoException)
  }
}
