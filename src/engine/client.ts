// Our own questions to the engine: small, bounded in time by the caller, answered whole.

import type { Upstream } from '../relay/types.ts'

export interface Question {
  readonly method: 'GET' | 'POST'
  readonly target: string
  /** JSON, for a POST. */
  readonly body?: Buffer
  /** The tenant's credential headers: name, value, … */
  readonly credentials: readonly string[]
}

export interface Answer {
  readonly status: number
  readonly body: Buffer
}

/** An answer larger than this is no answer to a question of ours, in bytes. */
const maxAnswer = 64 * 1024 * 1024

/**
 * Asks the engine.
 * @param signal ends the question; its socket is closed
 * @returns null where there was no whole answer: no connection, cut short, too large, or out of time
 */
export function ask(upstream: Upstream, question: Question, signal: AbortSignal): Promise<Answer | null> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve(null)
    const chunks: Buffer[] = []
    let size = 0
    let status = 0
    const finish = (answer: Answer | null): void => {
      signal.removeEventListener('abort', giveUp)
      resolve(answer)
    }
    const giveUp = (): void => {
      exchange.abort()
      finish(null)
    }
    const exchange = upstream.exchange({
      method: question.method,
      target: question.target,
      headers: [...question.credentials, ...(question.body ? ['content-type', 'application/json'] : [])],
      body: question.body ?? Buffer.alloc(0),
    }, {
      head(code) {
        status = code
      },
      data(chunk) {
        size += chunk.length
        if (size > maxAnswer) giveUp()
        else chunks.push(chunk)
      },
      end() {
        finish({ status, body: Buffer.concat(chunks) })
      },
      fault() {
        finish(null)
      },
    }, { retryReused: true })
    signal.addEventListener('abort', giveUp, { once: true })
  })
}
