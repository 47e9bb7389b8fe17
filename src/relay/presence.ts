// Whether the engine can be reached, for the log: one line when it no longer can, one when it can again.
// Hears of connections only, so that a request costs nothing; of an error it tells the code, never the message, which has the address.

import type { Logger } from 'pino'

export class Presence {
  readonly #log: Logger
  /** In performance.now(); null while it can be reached. */
  #awaySince: number | null = null
  #reachedAt = Number.NEGATIVE_INFINITY

  constructor(log: Logger) {
    this.#log = log
  }

  get isAway(): boolean {
    return this.#awaySince !== null
  }

  /** A connection was made. */
  reached(): void {
    this.#reachedAt = performance.now()
    if (this.#awaySince === null) return
    this.#log.info({ away_ms: Math.round(this.#reachedAt - this.#awaySince) }, 'the engine can be reached now')
    this.#awaySince = null
  }

  /**
   * A connection could not be made.
   * @param begunAt when it was begun, in performance.now()
   */
  failed(error: Error, begunAt: number): void {
    // An engine under load lets some time out while it takes others: two lines for each of them would tell nothing.
    if (this.#awaySince !== null || this.#reachedAt > begunAt) return
    this.#awaySince = performance.now()
    const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
    this.#log.warn({ code }, 'the engine cannot be reached: check that it runs and that upstream.url is right')
  }
}
