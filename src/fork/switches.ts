// What turns forking off for a while: refusals in a row for a model, and forks that the engine did not find cached.
// Each tenant's forks count for that tenant alone: a gateway may refuse them to one key, or send one to another engine.

const refusalsInARow = 3

export class ForkSwitches {
  readonly #backoffAfter: number
  readonly #backoffMs: number
  readonly #now: () => number
  /** By tenant and model; void with the calibration they were counted under. */
  readonly #refusals = new Map<string, { epoch: string, count: number }>()
  /** By tenant. */
  readonly #reuse = new Map<string, { missed: number, pausedUntil: number }>()

  /** @param options.backoffMs how long forking pauses after `backoffAfter` forks without reuse, in ms */
  constructor(options: { backoffAfter: number, backoffMs: number, now?: () => number }) {
    this.#backoffAfter = options.backoffAfter
    this.#backoffMs = options.backoffMs
    this.#now = options.now ?? Date.now
  }

  /** @param epoch the engine's calibration state: a new one switches the model on again */
  isModelOff(tenant: string, model: string, epoch: string): boolean {
    const refusals = this.#refusals.get(`${tenant} ${model}`)
    return refusals !== undefined && refusals.epoch === epoch && refusals.count >= refusalsInARow
  }

  isPaused(tenant: string): boolean {
    return this.#now() < (this.#reuse.get(tenant)?.pausedUntil ?? 0)
  }

  /** @returns whether this refusal switched the model off */
  refused(tenant: string, model: string, epoch: string): boolean {
    const key = `${tenant} ${model}`
    const before = this.#refusals.get(key)
    const count = before?.epoch === epoch ? before.count + 1 : 1
    keep(this.#refusals, key, { epoch, count })
    return count === refusalsInARow
  }

  accepted(tenant: string, model: string): void {
    this.#refusals.delete(`${tenant} ${model}`)
  }

  /**
   * @param cachedTokens as the engine reported them; null says nothing
   * @param reusableTokens what was to be expected
   * @returns whether this fork made forking pause
   */
  observed(tenant: string, cachedTokens: number | null, reusableTokens: number): boolean {
    if (cachedTokens === null) return false
    if (cachedTokens * 10 >= reusableTokens) {
      this.#reuse.delete(tenant)
      return false
    }
    const missed = (this.#reuse.get(tenant)?.missed ?? 0) + 1
    const pauses = missed >= this.#backoffAfter
    keep(this.#reuse, tenant, pauses ? { missed: 0, pausedUntil: this.#now() + this.#backoffMs } : { missed, pausedUntil: 0 })
    return pauses
  }
}

/** Tenants and models that are remembered: clients name both, so there may be any number. */
const maxKept = 4096

/** The ones longest without news are forgotten. */
function keep<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key)
  map.set(key, value)
  if (map.size > maxKept) map.delete(map.keys().next().value!)
}
