// What is known of the engine may be voided while a plan or a fork runs: nothing older than that may count afterwards.

import t from 'tap'
import { send, sleep } from '../helpers/http.ts'
import { isFork, opencodeSession, startWarmfork } from '../helpers/warmfork.ts'

t.test('a plan whose calibration is voided on the way sends no fork', async (t) => {
  const first = opencodeSession()
  const second = opencodeSession()
  const warmfork = await startWarmfork(t, { engine: { chatPrompt: (rendered) => isFork(rendered) ? `${rendered} ` : rendered } })
  await warmfork.main(first)
  await warmfork.main(second)
  await warmfork.line(({ msg }) => msg === 'calibration')
  const own = String(second.main.messages[0]!.content)
  warmfork.script.fault = ({ path, body }) => path === '/tokenize' && body.includes(own) ? { kind: 'delay', ms: 400 } : undefined
  const since = warmfork.since()
  const slow = warmfork.chat(second.summary)
  while (!since.questions().includes('POST /tokenize')) await sleep(5)
  const voiding = await warmfork.chat(first.summary)
  t.match(await warmfork.outcome(voiding), { prompt_ids_confirmed: false })
  t.match((await slow).warmfork, { decision: 'passed', eligible: 'false', 'fork-sent': 'false', 'fallback-reason': 'tokenizer_uncalibrated' })
  t.equal((await slow).status, 200)
  t.equal(since.generations().filter(({ body }) => isFork(body)).length, 1)
})

t.test('a fork from before an engine start voids nothing that was calibrated after it', async (t) => {
  const [first, second] = [opencodeSession(), opencodeSession()]
  const own = String(first.main.messages[0]!.content)
  const warmfork = await startWarmfork(t, { engine: { chatPrompt: (rendered) => isFork(rendered) && rendered.includes(own) ? `${rendered} ` : rendered } })
  await warmfork.main(first)
  await warmfork.main(second)
  await warmfork.line(({ msg }) => msg === 'calibration')
  let held = true
  warmfork.script.reply = async ({ body }) => {
    while (held && isFork(JSON.stringify(body.messages)) && JSON.stringify(body.messages).includes(own)) await sleep(5)
    return {}
  }
  const since = warmfork.since()
  const slow = warmfork.chat(first.summary)
  while (!since.generations().some(({ body }) => isFork(body))) await sleep(5)
  const metrics = (await send(warmfork.engine.port, { method: 'GET', target: '/metrics' })).body.toString()
  const later = metrics.replace(/^(process_start_time_seconds) .*$/m, '$1 1999999999')
  warmfork.script.fault = ({ path }) => path === '/metrics' ? { kind: 'answer', status: 200, body: later, contentType: 'text/plain' } : undefined
  t.equal((await warmfork.chat(second.summary)).warmfork['decision'], 'forked', 'calibrated anew')
  held = false
  t.match(await warmfork.outcome(await slow), { prompt_ids_confirmed: false })
  const next = warmfork.since()
  t.equal((await warmfork.chat(second.summary)).warmfork['decision'], 'forked')
  t.notOk(next.questions().includes('POST /v1/chat/completions'), 'and not once more')
})

t.test('two forks that one void calibration proved are one warning', async (t) => {
  const sessions = [opencodeSession(), opencodeSession()]
  const warmfork = await startWarmfork(t, { engine: { chatPrompt: (rendered) => isFork(rendered) ? `${rendered} ` : rendered } })
  for (const session of sessions) await warmfork.main(session)
  await warmfork.line(({ msg }) => msg === 'calibration')
  const since = warmfork.since()
  let forks = 0
  warmfork.script.reply = async ({ body }) => {
    if (isFork(JSON.stringify(body.messages))) for (forks++; forks < 2;) await sleep(5)
    return {}
  }
  const replies = await Promise.all(sessions.map((session) => warmfork.chat(session.summary)))
  for (const reply of replies) t.match(await warmfork.outcome(reply), { prompt_ids_confirmed: false })
  t.equal(since.warnings().length, 1)
})
