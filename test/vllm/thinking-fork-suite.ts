// Forks of a model that thinks, and whose template drops earlier thinking as soon as a user message follows.

import type { Test } from 'tap'
import { realThought, type RealEngine } from '../helpers/real-engine.ts'
import { carriesIds, openForkBench, streamWithUsage } from './fork-bench.ts'

/** @param engine of model `think` */
export async function thinkingForkSuite(t: Test, engine: RealEngine): Promise<void> {
  const bench = await openForkBench(t, engine)

  await t.test('a summary is forked, and its client sees what the model thinks first', async t => {
    const session = await bench.warmSession(t, { tokens: 3_000 })
    const { reply, receipt, outcome } = await bench.fork(t, session, 'user', streamWithUsage)
    t.ok(outcome.engine_cached_tokens >= receipt.reusable_tokens, 'the engine had cached what the receipt said was reusable')
    t.match(reply.reasoning, realThought)
  })

  for (const [how, options] of [['whole', {}], ['streamed', streamWithUsage]] as const) {
    await t.test(`a ${how} summary of a tool loop with echoed thinking extends the very ids of its parent`, async t => {
      const session = await bench.warmSession(t, { tokens: 3_000, reasoning: true })
      const { reply, receipt, outcome, parentTokens } = await bench.fork(t, session, 'tokens', options)
      t.ok(receipt.common_prefix_tokens > parentTokens - 8, 'all of the parent but its generation prompt')
      t.ok(outcome.engine_cached_tokens >= receipt.reusable_tokens, 'the engine had cached what the receipt said was reusable')
      t.match(reply.reasoning, realThought, 'the thinking is split off, as the chat endpoint does')
      t.notOk(carriesIds(reply), 'the client, who did not ask for ids, sees none')
      await bench.standalone(t, session, streamWithUsage)
    })
  }
}
