// Numbers that no engine should give, and gateways do: none of them may be read as another number.

import t from 'tap'
import { opencodeSession, startWarmfork } from '../helpers/warmfork.ts'

for (const length of [null, 0, -5, 1e21, 100.5, '40960']) {
  t.test(`a window of ${JSON.stringify(length)} tokens is an unknown one`, async (t) => {
    const warmfork = await startWarmfork(t)
    const session = opencodeSession()
    await warmfork.main(session)
    await warmfork.line(({ msg }) => msg === 'calibration')
    warmfork.script.fault = ({ path }) => path === '/tokenize' ? { kind: 'rewrite', change: (answer) => ({ ...answer, max_model_len: length }) } : undefined
    const reply = await warmfork.chat(session.summary)
    t.equal(reply.warmfork['decision'], 'forked')
    t.match(await warmfork.receipt(reply), { max_tokens: 1_000 })
  })
}

t.test('ids beyond 2^31 are ids, and other ids than the engine prefills', async (t) => {
  const warmfork = await startWarmfork(t)
  const session = opencodeSession()
  await warmfork.main(session)
  await warmfork.line(({ msg }) => msg === 'calibration')
  warmfork.script.fault = ({ path }) => path === '/tokenize' ? { kind: 'rewrite', change: (answer) => ({ ...answer, tokens: answer.tokens.map((id: number) => id + 2 ** 31) }) } : undefined
  const reply = await warmfork.chat(session.summary)
  t.match(await warmfork.outcome(reply), { prompt_ids_confirmed: false })
})
