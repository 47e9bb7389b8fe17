// Several engines behind one address: every other question meets another start, which is no restart.

import t from 'tap'
import { send } from '../helpers/http.ts'
import { opencodeSession, startWarmfork } from '../helpers/warmfork.ts'

t.test('engines that take turns are calibrated a few times, not for every summary, and void no plan under way', async (t) => {
  const warmfork = await startWarmfork(t)
  const metrics = (await send(warmfork.engine.port, { method: 'GET', target: '/metrics' })).body.toString()
  let asked = 0
  warmfork.script.fault = ({ path }) => path !== '/metrics' ? undefined : {
    kind: 'answer', status: 200, contentType: 'text/plain', body: metrics.replace(/^(process_start_time_seconds) .*$/m, `$1 17000000${asked++ % 3}`),
  }
  const sessions = Array.from({ length: 6 }, () => opencodeSession())
  for (const session of sessions) await warmfork.main(session)
  for (const { summary } of sessions.slice(0, 3)) await warmfork.chat(summary)
  const since = warmfork.since()
  const replies = await Promise.all(sessions.map(({ summary }) => warmfork.chat(summary)))
  t.strictSame(replies.map(({ warmfork }) => warmfork['decision']), sessions.map(() => 'forked'))
  t.notOk(since.questions().includes('POST /v1/chat/completions'))
})

t.test('a start that was never seen is one', async (t) => {
  const warmfork = await startWarmfork(t)
  const session = opencodeSession()
  await warmfork.main(session)
  await warmfork.line(({ msg }) => msg === 'calibration')
  for (let i = 0; i < 2; i++) {
    warmfork.engine.restart()
    const since = warmfork.since()
    t.equal((await warmfork.chat(session.summary)).warmfork['decision'], 'forked')
    t.ok(since.questions().includes('POST /v1/chat/completions'))
  }
})

t.test('a calibration is logged under the whole name of its model', async (t) => {
  const model = 'a model with spaces'
  const warmfork = await startWarmfork(t, { engine: { model } })
  const { main } = opencodeSession()
  await warmfork.chat({ ...main, model })
  t.equal((await warmfork.line(({ msg }) => msg === 'calibration'))['model'], model)
})
