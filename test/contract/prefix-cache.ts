// What is cached, and what an engine says about it. Exact on an idle engine: run alone.

import type { Test } from 'tap'
import {
  cachedTokens, chat, chatPath, complete, completionsPath, type ContractEngine, events, freshIds, freshText, post, reusable, tokenize,
} from './http.ts'
import { counter } from './metrics.ts'

export async function prefixCache(t: Test, engine: ContractEngine): Promise<void> {
  const { blockSize } = engine
  const size = blockSize * 3 + Math.floor(blockSize / 2)

  await t.test('a repeated prompt hits its full blocks, but never its last token', async (t) => {
    for (const length of [blockSize * 2, blockSize * 2 + 1, size]) {
      const prompt = freshIds(length)
      t.equal(cachedTokens(await complete(engine, prompt)), 0, `${length} tokens, cold`)
      t.equal(cachedTokens(await complete(engine, prompt)), reusable(length, length, blockSize), `${length} tokens, warm`)
    }
  })

  await t.test('a prompt shorter than a block hits nothing', async (t) => {
    const prompt = freshIds(blockSize - 1)
    await complete(engine, prompt)
    t.equal(cachedTokens(await complete(engine, prompt)), 0)
  })

  await t.test('cached tokens are the common prefix in full blocks', async (t) => {
    const parent = freshIds(size)
    await complete(engine, parent)
    for (const shared of [blockSize - 1, blockSize, blockSize + 1, blockSize * 2, size]) {
      const fork = [...parent.slice(0, shared), ...freshIds(blockSize)]
      t.equal(cachedTokens(await complete(engine, fork)), reusable(shared, fork.length, blockSize), `${shared} tokens shared`)
    }
  })

  await t.test('generated tokens are cached too, all but the last', async (t) => {
    // The reply crosses the border of a block only if its tokens are cached.
    const prompt = freshIds(blockSize * 2 - 4)
    const reply = (await complete(engine, prompt, { max_tokens: 10 })).choices[0].token_ids
    t.ok(reply.length >= 6, 'the reply is long enough to cross')
    const next = [...prompt, ...reply, ...freshIds(blockSize)]
    t.equal(cachedTokens(await complete(engine, next)), reusable(prompt.length + reply.length - 1, next.length, blockSize))
    t.equal(reusable(prompt.length + reply.length - 1, next.length, blockSize), blockSize * 2, 'and that is past the prompt')
  })

  await t.test('the last generated token is not cached', async (t) => {
    const prompt = freshIds(blockSize * 2 - 3)
    const reply = (await complete(engine, prompt, { max_tokens: 3 })).choices[0].token_ids
    t.equal(cachedTokens(await complete(engine, [...prompt, ...reply, ...freshIds(9)])), blockSize)
  })

  await t.test('chat and token-id completions share one cache', async (t) => {
    const messages = [{ role: 'user', content: freshText(size) }]
    const ids = (await chat(engine, { messages })).prompt_token_ids
    t.equal(cachedTokens(await complete(engine, ids)), reusable(ids.length, ids.length, blockSize))
    const other = [{ role: 'user', content: freshText(size) }]
    const otherIds = await tokenize(engine, { messages: other })
    await complete(engine, otherIds)
    t.equal(cachedTokens(await chat(engine, { messages: other })), reusable(otherIds.length, otherIds.length, blockSize))
  })

  await t.test('tokenizing warms nothing', async (t) => {
    const messages = [{ role: 'user', content: freshText(size) }]
    await tokenize(engine, { messages })
    t.equal(cachedTokens(await chat(engine, { messages })), 0)
  })

  await t.test('the next turn of a conversation hits the turn before with its reply', async (t) => {
    const messages: object[] = [{ role: 'user', content: freshText(size) }]
    const first = await chat(engine, { messages, max_tokens: 40 })
    const next = [...messages, { role: 'assistant', content: first.choices[0].message.content }, { role: 'user', content: 'go on' }]
    const second = await chat(engine, { messages: next })
    // A content that begins with a newline merges with the one that ends the header.
    const kept = first.prompt_token_ids.length - 1
    t.ok(cachedTokens(second) >= reusable(kept, second.prompt_token_ids.length, blockSize))
  })

  await t.test('a cache_salt separates, the same salt does not', async (t) => {
    const prompt = freshIds(size)
    const warm = reusable(size, size, blockSize)
    await complete(engine, prompt, { cache_salt: 'one' })
    t.equal(cachedTokens(await complete(engine, prompt, { cache_salt: 'one' })), warm)
    t.equal(cachedTokens(await complete(engine, prompt, { cache_salt: 'two' })), 0)
    t.equal(cachedTokens(await complete(engine, prompt)), 0)
    t.equal(cachedTokens(await complete(engine, prompt, { cache_salt: 'one' })), warm)
  })

  await t.test('user, metadata and sampling do not change the cache key', async (t) => {
    const messages = [{ role: 'user', content: freshText(size) }]
    const ids = (await chat(engine, { messages, user: 'a', temperature: 1, seed: 1 })).prompt_token_ids
    t.equal(cachedTokens(await chat(engine, { messages, user: 'b', metadata: { a: 'b' }, temperature: 0, top_p: 0.5 })),
      reusable(ids.length, ids.length, blockSize))
  })

  await t.test('prompt_logprobs turn reading the cache off', async (t) => {
    const prompt = freshIds(blockSize * 2 + 1)
    await complete(engine, prompt)
    t.equal(cachedTokens(await complete(engine, prompt, { prompt_logprobs: 0 })), 0)
  })

  await t.test('a stream reports cached tokens in its usage chunk alone', async (t) => {
    const messages = [{ role: 'user', content: freshText(size) }]
    const ids = (await chat(engine, { messages })).prompt_token_ids
    const answer = await post(engine, chatPath, { messages, max_tokens: 2, stream: true, stream_options: { include_usage: true } })
    const chunks = events(answer.text).slice(0, -1).map((event) => JSON.parse(event))
    const [usage, ...more] = chunks.filter((chunk) => chunk.usage !== undefined)
    t.equal(more.length, 0)
    t.equal(usage.usage.prompt_tokens_details.cached_tokens, reusable(ids.length, ids.length, blockSize))
  })

  await t.test('identical requests at once share what the first computes', async (t) => {
    const prompt = freshIds(size)
    const replies = await Promise.all([1, 2, 3].map(() => complete(engine, prompt)))
    const cached = replies.map(cachedTokens).sort((a, b) => a - b)
    t.equal(cached[0], 0)
    t.equal(cached[2], reusable(size, size, blockSize))
  })

  await t.test('/reset_prefix_cache is not served', async (t) => {
    t.equal((await post(engine, '/reset_prefix_cache', {})).status, 404)
  })

  await t.test('counters of the metrics page count queries and hits in tokens', async (t) => {
    const prompt = freshIds(size)
    await complete(engine, prompt)
    const names = ['prefix_cache_queries', 'prefix_cache_hits', 'prompt_tokens_cached'].map((name) => `vllm:${name}_total`)
    const read = async (): Promise<number[]> => await Promise.all(names.map((name) => counter(engine, name)))
    const before = await read()
    await post(engine, completionsPath, { prompt, max_tokens: 1 })
    const after = await read()
    const hit = reusable(size, size, blockSize)
    t.strictSame(after.map((value, index) => value - before[index]!), [size, hit, hit])
  })
}
