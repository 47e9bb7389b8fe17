// A fork's token limit (R7): the agent's own, lowered only to what the window or the configuration leaves, and said so.

import t from 'tap'
import { overEndpoints } from '../helpers/endpoints/all.ts'
import { opencodeSession, startWarmfork, type ConfigOverrides } from '../helpers/warmfork.ts'

interface Row {
  /** What an endpoint must have for it, among what its helper says it lacks. */
  readonly needs?: string
  readonly config?: ConfigOverrides['summary']
  readonly window?: number
  readonly asked: object
  /** Members of the fork, and the limit in the receipt. */
  readonly sent: object
  readonly said: (forkTokens: number) => number | null
}

const rows: Record<string, Row> = {
  "[case 51] the agent's own limit stays": { asked: { max_tokens: 1_234 }, sent: { max_tokens: 1_234 }, said: () => 1_234 },
  'a limit under its new name stays under it': { asked: { max_tokens: undefined, max_completion_tokens: 777 }, sent: { max_completion_tokens: 777, max_tokens: undefined }, said: () => 777 },
  'no limit stays none': { needs: 'no limit', asked: { max_tokens: undefined }, sent: { max_tokens: undefined, max_completion_tokens: undefined }, said: () => null },
  'the allowance bounds what the agent asks for': { config: { output_allowance_tokens: 500 }, asked: { max_tokens: 1_000 }, sent: { max_tokens: 500 }, said: () => 500 },
  'the allowance bounds an agent that asks for no limit': { needs: 'no limit', config: { output_allowance_tokens: 500 }, asked: { max_tokens: undefined }, sent: { max_tokens: 500 }, said: () => 500 },
  'the window lowers what the agent asks for': { window: 4_000, config: { min_output_tokens: 1_000 }, asked: { max_tokens: 3_000 }, sent: {}, said: (fork) => 4_000 - fork },
}

overEndpoints(t, async (t, spoken) => {
  for (const [what, { needs, config = {}, window, asked, sent, said }] of Object.entries(rows)) {
    if ((needs !== undefined && spoken.lacks.includes(needs)) || Object.keys(asked).some((member) => spoken.lacks.includes(member))) continue
    t.test(what, async (t) => {
      const warmfork = await startWarmfork(t, { spoken, config: { summary: config }, engine: { maxModelLen: window ?? 40_960 } })
      const session = opencodeSession()
      await warmfork.main(session)
      const since = warmfork.since()
      const reply = await warmfork.chat({ ...session.summary, ...asked })
      t.equal(reply.warmfork['decision'], 'forked')
      const receipt = await warmfork.receipt(reply)
      const fork = warmfork.asChat(since.generations()[0]!.body)
      const limit = said(receipt['fork_tokens'])
      t.equal(receipt['max_tokens'], limit)
      for (const [name, value] of Object.entries(sent)) t.equal(fork[name], value, name)
      if (limit !== null) t.equal(fork['max_tokens'] ?? fork['max_completion_tokens'], limit)
    })
  }

  t.test('no other request loses a token of its limit', async (t) => {
    const warmfork = await startWarmfork(t, { spoken, config: { summary: { output_allowance_tokens: 10, input_cap_tokens: 10 } } })
    const session = opencodeSession()
    const since = warmfork.since()
    await warmfork.chat({ ...session.main, max_tokens: 5_000 })
    const reply = await warmfork.chat({ ...session.summary, max_tokens: 5_000 })
    t.equal(reply.warmfork['fallback-reason'], 'head_over_cap')
    for (const { body } of since.generations()) t.equal(warmfork.asChat(body)['max_tokens'], 5_000)
  })
})
