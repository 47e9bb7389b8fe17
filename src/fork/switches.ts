// What turns forking off for a while: refusals in a row for a model, and forks that the engine did not find cached.

const refusalsInARow = 3

export class ForkSwitches {
  readonly #backoffAfter: number
  readonly #backoffMs: number
  readonly #now: () => number
  /** By model; void with the calibration they were counted under. */
  readonly #refusals = new Map<string, { epoch: string, count: number }>()
  #missed = 0
  #pausedUntil = 0

  /** @param options.backoffMs how long forking pauses after `backoffAfter` forks without reuse, in ms */
  constructor(options: { backoffAfter: number, backoffMs: number, now?: () => number }) {
    this.#backoffAfter = options.backoffAfter
    this.#backoffMs = options.backoffMs
    this.#now = options.now ?? Date.now
  }

  /** @param epoch the engine's calibration state: a new one switches the model on again */
  isModelOff(model: string, epoch: string): boolean {
    const refusals = this.#refusals.get(model)
    return refusals !== undefined && refusals.epoch === epoch && refusals.count >= refusalsInARow
  }

  isPaused(): boolean {
    return this.#now() < this.#pausedUntil
  }

  /** @returns whether this refusal switched the model off */
  refused(model: string, epoch: string): boolean {
    const before = this.#refusals.get(model)
    const count = before?.epoch === epoch ? before.count + 1 : 1
    this.#refusals.set(model, { epoch, count })
    return count === refusalsInARow
  }

  accepted(model: string): void {
    this.#refusals.delete(model)
  }

  /**
   * @param cachedTokens as the engine reported them; null says nothing
   * @param reusableTokens what was to be expected
   * @returns whether this fork made forking pause
   */
  observed(cachedTokens: number | null, reusableTokens: number): boolean {
    if (cachedTokens === null) return false
    if (cachedTokens * 10 >= reusableTokens) {
      this.#missed = 0
      return false
    }
    this.#missed++
    if (this.#missed < this.#backoffAfter) return false
    this.#missed = 0
    this.#pausedUntil = this.#now() + this.#backoffMs
    return true
  }
}
