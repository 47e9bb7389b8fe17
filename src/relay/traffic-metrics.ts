// Requests by route and status for Prometheus. Never a label that grows with users: targets are named by a short table.

import { Counter, Gauge, type Registry } from 'prom-client'

/** Routes with a name of their own; all else under /v1 is `/v1/*`, and what routes.allow opens is `other`. */
const named: ReadonlySet<string> = new Set([
  '/v1/chat/completions', '/v1/completions', '/v1/responses', '/v1/messages', '/v1/embeddings', '/v1/models',
  '/tokenize', '/detokenize', '/health', '/ping', '/version', '/metrics',
])

export interface TrafficMetrics {
  /**
   * Counts a request that is over.
   * @param path decoded path, undefined where it may not pass
   * @param status of the reply, 0 where none began before the client went
   */
  request(path: string | undefined, status: number): void
}

/** @param connections how many are open: of clients, and to the engine */
export function createTrafficMetrics(registry: Registry, connections: { clients(): number, upstream(): number }): TrafficMetrics {
  // Added up here and handed over when asked: a labelled counter costs more than the rest of this.
  const counts = new Map<string, { route: string, status: string, count: number }>()
  new Counter({
    name: 'warmfork_requests_total', help: 'Requests by route and status of the reply; none where the client went before it began.',
    labelNames: ['route', 'status'], registers: [registry],
    collect() {
      this.reset()
      for (const { route, status, count } of counts.values()) this.inc({ route, status }, count)
    },
  })
  new Gauge({
    name: 'warmfork_upstream_connections', help: 'Open connections to the engine.', registers: [registry],
    collect() { this.set(connections.upstream()) },
  })
  new Gauge({
    name: 'warmfork_client_connections', help: 'Open connections of clients.', registers: [registry],
    collect() { this.set(connections.clients()) },
  })
  return {
    request(path, status) {
      const route = routeOf(path)
      const key = `${status} ${route}`
      const known = counts.get(key)
      if (known) known.count += 1
      else counts.set(key, { route, status: status === 0 ? 'none' : String(status), count: 1 })
    },
  }
}

function routeOf(path: string | undefined): string {
  if (path === undefined) return 'refused'
  if (named.has(path)) return path
  return path.startsWith('/v1/') ? '/v1/*' : 'other'
}
