// The pages of warmfork itself, on a port of their own: never reachable through the traffic port, never about content.

import Fastify, { type FastifyInstance } from 'fastify'
import { askReadiness } from './engine/readiness.ts'
import type { Upstream } from './relay/types.ts'

/** What the root answers to who looks around. */
const contents = [
  '/healthz   whether warmfork runs',
  '/readyz    whether the engine answers',
  '/metrics   figures for Prometheus',
  '/receipts  the last summary requests and what became of them',
]

export interface AdminOptions {
  readonly upstream: Upstream
  /** Prometheus text. */
  readonly metrics: { readonly contentType: string; render(): Promise<string> }
  /** The last receipts, oldest first; answered as JSON. */
  readonly recentReceipts: () => readonly unknown[]
}

/** The admin server; call `listen` with host and port, and `close`. */
export function createAdminServer(options: AdminOptions): FastifyInstance {
  const app = Fastify({ forceCloseConnections: true })

  app.get('/', (_request, reply) => reply.type('text/plain; charset=utf-8').send(`${contents.join('\n')}\n`))

  app.get('/healthz', () => ({ status: 'ok' }))

  app.get('/readyz', async (_request, reply) => {
    const readiness = await askReadiness(options.upstream)
    return reply.code(readiness.ready ? 200 : 503).send(readiness)
  })

  app.get('/metrics', async (_request, reply) => {
    const text = await options.metrics.render()
    return reply.header('content-type', options.metrics.contentType).send(text)
  })

  app.get('/receipts', () => options.recentReceipts())

  return app
}
