// Forks of a model that thinks, and whose template drops earlier thinking as soon as a user message follows.

import type { Test } from 'tap'
import { realThought, type RealEngine } from '../helpers/real-engine.ts'
import type { ChatReply } from './chat-client.ts'
import { carriesIds, openForkBench, streamWithUsage } from './fork-bench.ts'

/** @param engine of model `think` */
export async function thinkingForkSuite(t: Test, engine: RealEngine): Promise<void> {
  const bench = await openForkBench(t, engine)

  await t.test('a summary is forked, and its client sees what the model thinks first', async t => {
    const session = await bench.warmSession(t, { tokens: 3_000 })
    const { reply, receipt, outcome } = await bench.fork(t, session, 'user', streamWithUsage)
    t.ok(outcome.engine_cached_tokens! >= receipt.reusable_tokens! && receipt.reusable_tokens! > 0, 'the engine had cached what the receipt said was reusable')
    t.match(reply.reasoning, realThought)
  })

  for (const [how, options] of [['whole', {}], ['streamed', streamWithUsage]] as const) {
    await t.test(`a ${how} summary of a loop of 20 calls with echoed thinking extends the very ids of its parent`, async t => {
      const session = await bench.warmSession(t, { tokens: 8_000, reasoning: true })
      t.ok(JSON.stringify(session.main.messages).split('"role":"tool"').length > 20)
      const { reply, receipt, outcome, parentTokens } = await bench.fork(t, session, 'tokens', options)
      t.ok(receipt.lost_placements!.user < parentTokens / 4, `user would have shared ${receipt.lost_placements!.user} of ${parentTokens} tokens`)
      t.ok(receipt.common_prefix_tokens! > parentTokens - 8, 'all of the parent but its generation prompt')
      t.ok(receipt.common_prefix_tokens! - outcome.engine_cached_tokens! <= engine.blockSize, 'the engine had all of that cached, up to one block')
      t.notOk(carriesIds(reply), 'the client, who did not ask for ids, sees none')

      const chat = await bench.standalone(t, session, options)
      t.equal(reply.text, chat.text, 'content as the chat endpoint sends it')
      t.equal(reply.reasoning, chat.reasoning, 'and thinking')
      t.match(reply.reasoning, realThought)
      t.strictSame(shapes(reply), shapes(chat), 'in bodies and events with the same members')
    })
  }

  await t.test('a reply by token ids that is no summary is told as such', async t => {
    const cases = [
      { options: { max_tokens: 4 }, code: 'summary_truncated' },
      { options: { max_tokens: 14 }, code: 'summary_truncated' },
      { options: { stop: ['happened'] }, code: 'summary_thinking_open' },
      { options: { stop: ['happened'], include_reasoning: false }, code: 'summary_thinking_open' },
    ]
    for (const { options, code } of cases) {
      // A failed fork is not tried again until there is new evidence.
      const session = await bench.warmSession(t, { tokens: 3_000, reasoning: true })
      const { reply, receipt, outcome } = await bench.ask(session, options)
      t.equal(reply.status, 422)
      t.equal(reply.parts[0].error.code, code)
      t.match(receipt, { decision: 'refused', placement: 'tokens' })
      t.match(outcome, { valid: false, invalid_reason: code })
    }
  })

  await t.test('what completions refuse is asked once more as the agent asked', async t => {
    const session = await bench.warmSession(t, { tokens: 3_000, reasoning: true })
    const { reply, receipt } = await bench.ask(session, { temperature: -1 })
    t.match(receipt, { decision: 'passed', fallback_reason: 'fork_rejected', eligible: true, fork_sent: true, placement: 'tokens' })
    t.equal(reply.status, 400, 'and here the engine refuses that too')
  })
}

/** The members that bodies and events have, ids and numbers apart. */
function shapes({ parts }: ChatReply): string[] {
  const keys = parts.map(part => JSON.stringify([
    Object.keys(part),
    part.choices.map((choice: any) => [Object.keys(choice), Object.keys(choice.message ?? choice.delta)]),
    // Completions do not count the tokens of thinking.
    part.usage && Object.keys(part.usage).filter(key => key !== 'completion_tokens_details'),
  ]))
  return [...new Set(keys)]
}
