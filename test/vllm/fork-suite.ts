// Forks of a plain model: their receipts are true, and they begin sooner.

import type { Test } from 'tap'
import type { RealEngine } from '../helpers/real-engine.ts'
import { carriesIds, openForkBench, streamWithUsage } from './fork-bench.ts'
import type { Session } from './opencode.ts'

/** @param engine of model `large`: its prefill is slow enough to be seen */
export async function forkSuite(t: Test, engine: RealEngine): Promise<void> {
  const bench = await openForkBench(t, engine)

  await t.test('a summary of 2 000 tokens is forked', async t => {
    const session = await bench.warmSession(t, { tokens: 2_000 })
    const { reply, receipt, outcome } = await bench.fork(t, session, 'user', {})
    t.ok(outcome.engine_cached_tokens! >= receipt.reusable_tokens! && receipt.reusable_tokens! > 0, 'the engine had cached what the receipt said was reusable')
    t.equal(reply.usage?.prompt_tokens_details.cached_tokens, outcome.engine_cached_tokens)
    t.notOk(carriesIds(reply), 'the client, who did not ask for ids, sees none')
    await bench.standalone(t, session, {})
  })

  let parent: Session
  await t.test('a streamed summary of 4 000 tokens is forked, and the client sees only what it asked for', async t => {
    parent = await bench.warmSession(t, { tokens: 4_000 })
    const { reply, receipt, outcome } = await bench.fork(t, parent, 'user', { stream: true })
    t.ok(outcome.engine_cached_tokens! >= receipt.reusable_tokens! && receipt.reusable_tokens! > 0, 'the engine had cached what the receipt said was reusable')
    t.equal(reply.usage, null, 'no usage in the stream')
    t.notOk(reply.parts.some(part => part.choices.length === 0), 'nor an event that held nothing else')
    t.notOk(carriesIds(reply), 'nor ids')
    await bench.standalone(t, parent, streamWithUsage)
  })

  await t.test('a summary of 20 000 tokens begins ten times sooner as a fork', async t => {
    const session = await bench.warmSession(t, { tokens: 20_000 })
    const { reply, receipt, outcome } = await bench.fork(t, session, 'user', streamWithUsage)
    t.ok(outcome.engine_cached_tokens! >= receipt.reusable_tokens! && receipt.reusable_tokens! > 0, 'the engine had cached what the receipt said was reusable')
    t.equal(reply.usage?.prompt_tokens_details.cached_tokens, outcome.engine_cached_tokens, 'the client, who asked for usage, sees it')
    t.notOk(carriesIds(reply), 'and no ids')
    const cold = await bench.standalone(t, session, streamWithUsage)
    const times = cold.firstTokenMs! / reply.firstTokenMs!
    t.ok(times >= 10, `first token after ${Math.round(reply.firstTokenMs!)} ms as a fork, ${Math.round(cold.firstTokenMs!)} ms standalone: ${times.toFixed(1)} times sooner`)
  })

  await t.test('behind a restarted engine a fork is no hit, and nobody says so', async t => {
    await engine.restart()
    const { receipt, outcome } = await bench.fork(t, parent, 'user', {})
    t.equal(receipt.cache_hit_verified, false)
    t.equal(outcome.engine_cached_tokens, 0, "the engine's 0 is reported as 0")
  })
}
