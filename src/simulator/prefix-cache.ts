// vLLM's prefix cache: full blocks of tokens, each named by a hash over all that stands before it
// (vllm/v1/core/kv_cache_utils.py), forgotten least recently used first.

import { hash } from 'node:crypto'

interface Block { holders: number }

/** The blocks that one running request holds. */
export interface Lease {
  /** Prompt tokens found in the cache: whole blocks, at most one token less than the prompt. */
  readonly cachedTokens: number
  /** Registers the full blocks among the first `computed` of `ids`; others may hit them from now on. */
  extend(ids: readonly number[], computed: number): void
  /** Lets the blocks go: they stay cached until room is needed, the tail going first. */
  release(): void
}

export class PrefixCache {
  readonly #blockSize: number
  readonly #budget: number
  readonly #enabled: boolean
  /** In the order of eviction: what was let go first comes first. Held blocks may stand anywhere. */
  readonly #blocks = new Map<string, Block>()

  /** @param budget blocks that the cache may hold, vLLM's num_gpu_blocks */
  constructor(blockSize: number, budget: number, enabled: boolean) {
    this.#blockSize = blockSize
    this.#budget = budget
    this.#enabled = enabled
  }

  get size(): number {
    return this.#blocks.size
  }

  clear(): void {
    this.#blocks.clear()
  }

  /**
   * Takes what is cached of a prompt.
   * @param salt goes into the first block's hash alone; the others depend on it by chaining
   * @param read false for requests with prompt_logprobs, which vLLM computes in full (vllm/sampling_params.py)
   */
  lease(prompt: readonly number[], salt: string | null, read: boolean): Lease {
    const size = this.#blockSize
    const held: string[] = []
    const hold = (name: string): void => {
      const block = this.#blocks.get(name) ?? { holders: 0 }
      block.holders++
      this.#blocks.delete(name)
      this.#blocks.set(name, block)
      held.push(name)
    }

    const limit = this.#enabled && read ? Math.floor((prompt.length - 1) / size) : 0
    while (held.length < limit) {
      const name = this.#name(held.at(-1), prompt, held.length, salt)
      if (!this.#blocks.has(name)) break
      hold(name)
    }

    return {
      cachedTokens: held.length * size,
      extend: (ids, computed) => {
        if (!this.#enabled) return
        const full = Math.floor(computed / size)
        while (held.length < full) hold(this.#name(held.at(-1), ids, held.length, salt))
        this.#evict()
      },
      release: () => {
        for (const name of held.splice(0).reverse()) {
          const block = this.#blocks.get(name)
          if (block === undefined) continue
          block.holders--
          this.#blocks.delete(name)
          this.#blocks.set(name, block)
        }
        this.#evict()
      },
    }
  }

  #name(parent: string | undefined, ids: readonly number[], index: number, salt: string | null): string {
    const tokens = ids.slice(index * this.#blockSize, (index + 1) * this.#blockSize).join()
    return hash('sha1', `${parent ?? `salt ${salt ?? ''}`}|${tokens}`, 'base64')
  }

  /** Running requests keep their blocks even over the budget: vLLM would preempt them, which nobody here relies on. */
  #evict(): void {
    if (this.#blocks.size <= this.#budget) return
    for (const [name, block] of this.#blocks) {
      if (this.#blocks.size <= this.#budget) return
      if (block.holders === 0) this.#blocks.delete(name)
    }
  }
}
