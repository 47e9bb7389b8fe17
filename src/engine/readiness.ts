// Whether the engine says of itself that it is well: for the page /readyz, and once at the start.

import type { Logger } from 'pino'
import type { Presence } from '../relay/presence.ts'
import type { Upstream } from '../relay/types.ts'

/** How long the engine may take to answer GET /health, in ms. */
const readyWithinMs = 2_000

export type Readiness =
  | { readonly ready: true }
  | { readonly ready: false; readonly reason: 'engine_unreachable' | 'engine_silent' | 'engine_unhealthy' }

/**
 * Asks the engine's own health check.
 * @param connectMs what the time of a connection is let in addition
 * @param signal ends the question, answered or not; its socket is closed
 */
export function askReadiness(upstream: Upstream, { connectMs = 0, signal }: { connectMs?: number, signal?: AbortSignal } = {}): Promise<Readiness> {
  return new Promise((resolve) => {
    const over = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', giveUp)
    }
    const giveUp = (): void => {
      over()
      exchange.abort()
      resolve({ ready: false, reason: 'engine_silent' })
    }
    const exchange = upstream.exchange(
      { method: 'GET', target: '/health', headers: [], body: Buffer.alloc(0) },
      {
        // Its body must end in time too: the answer is known by then, the connection is not free.
        head: (status) => resolve(status === 200 ? { ready: true } : { ready: false, reason: 'engine_unhealthy' }),
        data() {},
        end: over,
        fault() {
          over()
          resolve({ ready: false, reason: 'engine_unreachable' })
        },
      },
      { retryReused: true },
    )
    const timer = setTimeout(giveUp, connectMs + readyWithinMs)
    signal?.addEventListener('abort', giveUp, { once: true })
  })
}

/**
 * Asks once, so that an address which is wrong shows in the log before the first agent meets it.
 * @param presence has told already of an engine that cannot be reached
 */
export async function askAtStart(upstream: Upstream, presence: Presence, log: Logger, options: { connectMs: number, signal: AbortSignal }): Promise<void> {
  const readiness = await askReadiness(upstream, options)
  if (readiness.ready || presence.isAway || options.signal.aborted) return
  log.warn({ reason: readiness.reason }, 'what upstream.url names does not answer GET /health as a vLLM that is well does')
}
