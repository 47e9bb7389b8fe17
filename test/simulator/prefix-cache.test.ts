import t from 'tap'
import { PrefixCache } from '../../src/simulator/prefix-cache.ts'

const ids = (length: number, from = 0): number[] => Array.from({ length }, (_, index) => from + index)

/** Runs a prompt through and says how much of it was cached. */
function run(cache: PrefixCache, prompt: number[], salt: string | null = null, read = true): number {
  const lease = cache.lease(prompt, salt, read)
  lease.extend(prompt, prompt.length)
  lease.release()
  return lease.cachedTokens
}

t.test('only full blocks hit, and never the last token', async (t) => {
  const cache = new PrefixCache(4, 100, true)
  t.equal(run(cache, ids(8)), 0)
  t.equal(run(cache, ids(8)), 4, 'the second block holds the last token')
  t.equal(run(cache, ids(9)), 8)
  t.equal(run(cache, [...ids(7), 99, 98]), 4, 'a block with another token is another block')
  t.equal(run(cache, ids(9, 1)), 0, 'equal tokens at other places are other blocks')
})

t.test('the same block behind another one is another block', async (t) => {
  const cache = new PrefixCache(2, 100, true)
  run(cache, [1, 2, 5, 6, 7])
  run(cache, [3, 4, 9, 9, 9])
  t.equal(run(cache, [3, 4, 5, 6, 7]), 2)
})

t.test('a salt separates from the first block on', async (t) => {
  const cache = new PrefixCache(2, 100, true)
  run(cache, ids(5), 'a')
  t.equal(run(cache, ids(5), 'a'), 4)
  t.equal(run(cache, ids(5), 'b'), 0)
  t.equal(run(cache, ids(5)), 0)
})

t.test('the least recently used goes first, the tail before the head', async (t) => {
  const cache = new PrefixCache(2, 6, true)
  run(cache, ids(6))
  run(cache, ids(6, 100))
  t.equal(cache.size, 6)
  run(cache, ids(2, 200))
  t.equal(cache.size, 6)
  t.equal(run(cache, ids(7)), 4, 'the first prompt lost its tail')
  t.equal(run(cache, ids(7, 100)), 4, 'and then the second')
})

t.test('blocks that are held are not evicted', async (t) => {
  const cache = new PrefixCache(2, 2, true)
  const held = cache.lease(ids(5), null, true)
  held.extend(ids(5), 5)
  run(cache, ids(5, 100))
  t.equal(run(cache, ids(5)), 4)
  held.release()
  t.equal(cache.size, 2)
})

t.test('without reading, or switched off, nothing hits', async (t) => {
  const cache = new PrefixCache(2, 100, true)
  run(cache, ids(5))
  t.equal(run(cache, ids(5), null, false), 0)
  const off = new PrefixCache(2, 100, false)
  run(off, ids(5))
  t.equal(run(off, ids(5)), 0)
  t.equal(off.size, 0)
})
