// The engine loop: one step after another, each with the next token of every running reply and a bounded piece of
// prefill, so that concurrent requests share the time as in vLLM's scheduler (vllm/v1/core/sched/scheduler.py).

import { setTimeout as sleep } from 'node:timers/promises'
import type { Lease, PrefixCache } from './prefix-cache.ts'

export interface EngineSpeed {
  /** Uncached prompt tokens per second; Infinity prefills at once. */
  readonly prefillTokensPerSecond: number
  /** Seconds a step takes that decodes, however many replies share it. */
  readonly decodeSecondsPerToken: number
  /** Tokens of one step, prefill and decode together: --max-num-batched-tokens. */
  readonly maxBatchedTokens: number
  /** Replies that run at once; more wait: --max-num-seqs. */
  readonly maxRunning: number
}

export interface EngineRequest {
  readonly prompt: readonly number[]
  /** The reply, as the tokens of each step. */
  readonly steps: readonly (readonly number[])[]
  /** Keeps running after its last step, for ever silent. */
  readonly hangs: boolean
  readonly salt: string | null
  readonly readCache: boolean
  /** Called after every step that gave tokens; the first call comes when the prompt is prefilled. */
  onTokens(tokens: readonly number[], finished: boolean): void
}

export interface EngineRun {
  /** Prompt tokens found in the cache; null until the request is scheduled. */
  readonly cachedTokens: number | null
  /** Stops the request; its finished blocks stay cached. */
  abort(): void
}

export interface EngineCounters {
  running: number
  waiting: number
  prefixQueries: number
  prefixHits: number
  promptTokens: number
  generationTokens: number
}

interface Running {
  readonly request: EngineRequest
  readonly ids: number[]
  lease: Lease | null
  /** Tokens whose keys and values are there. */
  computed: number
  step: number
  done: boolean
}

export class Engine {
  readonly #cache: PrefixCache
  readonly #speed: EngineSpeed
  readonly #waiting: Running[] = []
  #running: Running[] = []
  #looping = false
  #stopped = false
  readonly #counters = { prefixQueries: 0, prefixHits: 0, promptTokens: 0, generationTokens: 0 }

  constructor(cache: PrefixCache, speed: EngineSpeed) {
    this.#cache = cache
    this.#speed = speed
  }

  get counters(): EngineCounters {
    return { ...this.#counters, running: this.#running.length, waiting: this.#waiting.length }
  }

  submit(request: EngineRequest): EngineRun {
    const entry: Running = { request, ids: [...request.prompt], lease: null, computed: 0, step: 0, done: false }
    this.#waiting.push(entry)
    void this.#loop()
    return {
      get cachedTokens() {
        return entry.lease?.cachedTokens ?? null
      },
      abort: () => this.#finish(entry),
    }
  }

  /** Drops all requests without a word to them, as a dying engine does. */
  stop(): void {
    this.#stopped = true
    for (const entry of [...this.#running, ...this.#waiting]) this.#finish(entry)
  }

  async #loop(): Promise<void> {
    if (this.#looping) return
    this.#looping = true
    // Requests that arrive in the same turn of the event loop are scheduled together.
    await new Promise(setImmediate)
    let clock = performance.now()
    while (!this.#stopped && this.#schedulable()) {
      const work = this.#schedule()
      clock = Math.max(clock, performance.now() - 5) + this.#seconds(work) * 1000
      const wait = clock - performance.now()
      if (wait >= 1) await sleep(wait)
      else await new Promise(setImmediate)
      for (const { entry } of work) this.#emit(entry)
    }
    this.#looping = false
  }

  #schedulable(): boolean {
    return this.#waiting.length > 0 || this.#running.some((entry) => !stuck(entry))
  }

  #schedule(): { entry: Running, tokens: number, decode: boolean }[] {
    let budget = this.#speed.maxBatchedTokens
    while (this.#running.length < this.#speed.maxRunning && this.#waiting.length > 0) this.#admit(this.#waiting.shift()!)
    const work: { entry: Running, tokens: number, decode: boolean }[] = []
    const decodesFirst = [...this.#running].sort((a, b) => Number(prefilling(a)) - Number(prefilling(b)))
    for (const entry of decodesFirst) {
      if (stuck(entry)) continue
      const tokens = Math.min(entry.ids.length - entry.computed, budget)
      if (tokens <= 0) continue
      budget -= tokens
      work.push({ entry, tokens, decode: !prefilling(entry) })
      entry.computed += tokens
      // vLLM registers blocks when it schedules them, so an identical request in the same step hits already.
      entry.lease!.extend(entry.ids, entry.computed)
    }
    return work
  }

  #admit(entry: Running): void {
    const { prompt, salt, readCache } = entry.request
    entry.lease = this.#cache.lease(prompt, salt, readCache)
    entry.computed = entry.lease.cachedTokens
    this.#running.push(entry)
    this.#counters.promptTokens += prompt.length
    if (readCache) {
      this.#counters.prefixQueries += prompt.length
      this.#counters.prefixHits += entry.computed
    }
  }

  #seconds(work: readonly { tokens: number, decode: boolean }[]): number {
    const prefill = work.filter((item) => !item.decode).reduce((sum, item) => sum + item.tokens, 0)
    const decode = work.some((item) => item.decode)
    return prefill / this.#speed.prefillTokensPerSecond + (decode ? this.#speed.decodeSecondsPerToken : 0)
  }

  #emit(entry: Running): void {
    if (entry.done || entry.computed < entry.ids.length) return
    const tokens = entry.request.steps[entry.step]
    if (tokens === undefined) return
    entry.step++
    for (const token of tokens) entry.ids.push(token)
    this.#counters.generationTokens += tokens.length
    const finished = entry.step === entry.request.steps.length && !entry.request.hangs
    if (finished) this.#finish(entry)
    entry.request.onTokens(tokens, finished)
  }

  #finish(entry: Running): void {
    if (entry.done) return
    entry.done = true
    const waiting = this.#waiting.indexOf(entry)
    if (waiting >= 0) this.#waiting.splice(waiting, 1)
    this.#running = this.#running.filter((other) => other !== entry)
    entry.lease?.release()
  }
}

function prefilling(entry: Running): boolean {
  return entry.computed < entry.request.prompt.length
}

/** Nothing left to compute: a reply that hangs. */
function stuck(entry: Running): boolean {
  return entry.computed >= entry.ids.length
}
