// Values in the order of their last use. A Map or a Set keeps that order too, but leaves a hole where a value was, and who
// walks it from its front walks over all of them.

/** A value's place in the order. */
export interface Use<T> {
  value: T
  newer: Use<T> | undefined
  older: Use<T> | undefined
}

export class Recency<T> {
  #newest: Use<T> | undefined
  #oldest: Use<T> | undefined

  get oldest(): Use<T> | undefined {
    return this.#oldest
  }

  get isEmpty(): boolean {
    return this.#newest === undefined
  }

  /** @returns its place, as the most recently used */
  add(value: T): Use<T> {
    const use: Use<T> = { value, newer: undefined, older: undefined }
    this.#toFront(use)
    return use
  }

  /** Puts a value in the place of another, as the most recently used. */
  renew(use: Use<T>, value: T): void {
    use.value = value
    if (use === this.#newest) return
    this.remove(use)
    this.#toFront(use)
  }

  /** @param use a place in this order, which is none from now on */
  remove({ newer, older }: Use<T>): void {
    if (newer) newer.older = older
    else this.#newest = older
    if (older) older.newer = newer
    else this.#oldest = newer
  }

  #toFront(use: Use<T>): void {
    use.newer = undefined
    use.older = this.#newest
    if (this.#newest) this.#newest.newer = use
    else this.#oldest = use
    this.#newest = use
  }

  /** The most recently used first, at most `limit` of them. */
  newest(limit = Infinity): T[] {
    const values: T[] = []
    for (let use = this.#newest; use && values.length < limit; use = use.older) values.push(use.value)
    return values
  }
}
