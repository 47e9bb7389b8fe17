// When a fork's headers go out, and what ends when the client goes.

import t from 'tap'
import { overEndpoints } from '../helpers/endpoints/all.ts'
import { verdicts } from '../../src/summary/verdict.ts'
import { sleep } from '../helpers/http.ts'
import { collectChat, opencodeSession, startWarmfork, type Warmfork, whenForked } from '../helpers/warmfork.ts'

overEndpoints(t, async (t, spoken) => {
  /** Nothing stays cached, so a prompt of 2 400 tokens takes 0.6 s behind the head. */
  const slow = await startWarmfork(t, { spoken, engine: { cacheBlocks: 1, prefillTokensPerSecond: 4_000 }, config: { fork: { hold_headers_ms: 100, backoff_after: 1_000 } } })
  const patient = await startWarmfork(t, { spoken, engine: { cacheBlocks: 1, prefillTokensPerSecond: 4_000 }, config: { fork: { backoff_after: 1_000 } } })
  const warmfork = await startWarmfork(t, { spoken })

  t.test('headers go out after fork.hold_headers_ms where the engine has said nothing yet', async (t) => {
    const session = opencodeSession()
    await slow.main(session)
    slow.script.reply = whenForked({ content: '' })
    const { response } = await slow.begin({ ...session.summary, stream: true })
    const head = performance.now()
    const reply = await collectChat(response, spoken)
    t.ok(performance.now() - head > 200, 'well before the first event')
    t.equal(reply.status, 200)
    t.match(reply.warmfork, { decision: 'forked' })
    t.strictSame(reply.parts.at(-1), spoken.errorEvent('summary_empty', verdicts.summary_empty, reply.parts.slice(0, -1)), 'an empty reply can only be an error event then')
    t.notOk(reply.done)
    slow.script.reply = undefined
  })

  t.test('headers wait for the first event that says something', async (t) => {
    const session = opencodeSession()
    await patient.main(session)
    const { response } = await patient.begin({ ...session.summary, stream: true })
    const head = performance.now()
    await new Promise((resolve) => response.once('data', resolve))
    t.ok(performance.now() - head < 100, 'head and first event come together')
    const reply = await collectChat(response, spoken)
    const outcome = await patient.outcome(reply)
    t.ok(outcome['first_token_ms'] > 400)
    t.ok(outcome['total_ms'] >= outcome['first_token_ms'])
  })

  async function ends(running: Warmfork): Promise<number> {
    const from = performance.now()
    while (running.engine.running > 0) await sleep(2)
    return performance.now() - from
  }

  for (const [form, options] of [['streamed', { stream: true }], ['not streamed', {}]] as const) {
    t.test(`a client that leaves while a fork's headers are held ends the fork, ${form}`, async (t) => {
      const session = opencodeSession()
      await warmfork.main(session)
      await warmfork.line(({ msg }) => msg === 'calibration')
      warmfork.script.reply = whenForked({ fail: { kind: 'hang', at: 'after_headers' } })
      if (form === 'not streamed') warmfork.script.reply = whenForked({ fail: { kind: 'hang', at: 3 } })
      const lines = warmfork.logged.length
      const leaving = new AbortController()
      const asking = fetch(`${warmfork.app.url}${spoken.endpoint.path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: warmfork.write({ ...session.summary, ...options }), signal: leaving.signal })
      asking.catch(() => {})
      while (warmfork.engine.running === 0) await sleep(5)
      leaving.abort()
      t.ok(await ends(warmfork) < 100)
      const outcome = await warmfork.line((line) => line.msg === 'outcome' && warmfork.logged.indexOf(line) >= lines)
      t.match(outcome, { decision: 'forked', valid: null, invalid_reason: null })
      const receipt = warmfork.logged.slice(lines).filter(({ msg }) => msg === 'receipt')
      t.equal(receipt.length, 1)
      warmfork.script.reply = undefined
      t.equal((await warmfork.chat(session.summary)).warmfork['decision'], 'forked', 'which is nothing against the next fork')
    })
  }

  t.test('a client that leaves in the middle of a stream ends the fork', async (t) => {
    const session = opencodeSession()
    await warmfork.main(session)
    warmfork.script.reply = whenForked({ fail: { kind: 'hang', at: 3 } })
    const { response } = await warmfork.begin({ ...session.summary, stream: true })
    response.on('error', () => {})
    await new Promise((resolve) => response.once('data', resolve))
    t.equal(warmfork.engine.running, 1)
    response.destroy()
    t.ok(await ends(warmfork) < 100)
    const id = response.headers['x-warmfork-receipt']
    t.match(await warmfork.line(({ msg, receipt }) => msg === 'outcome' && receipt === id), { decision: 'forked', valid: null })
    warmfork.script.reply = undefined
  })

  t.test('a client that leaves a summary on the standalone path ends it, and its outcome says nothing about the reply', async (t) => {
    const session = opencodeSession()
    warmfork.script.reply = () => ({ fail: { kind: 'hang', at: 3 } })
    const { response } = await warmfork.begin({ ...session.summary, stream: true })
    response.on('error', () => {})
    await new Promise((resolve) => response.once('data', resolve))
    response.destroy()
    t.ok(await ends(warmfork) < 100)
    const id = response.headers['x-warmfork-receipt']
    t.match(await warmfork.line(({ msg, receipt }) => msg === 'outcome' && receipt === id), { decision: 'passed', valid: null })
    warmfork.script.reply = undefined
  })

  t.test('a client that leaves while its fork is planned has sent nothing', async (t) => {
    const session = opencodeSession()
    await warmfork.main(session)
    await warmfork.line(({ msg }) => msg === 'calibration')
    warmfork.script.fault = ({ path }) => path === '/tokenize' ? { kind: 'silence' } : undefined
    const since = warmfork.since()
    const lines = warmfork.logged.length
    const leaving = new AbortController()
    const asking = fetch(`${warmfork.app.url}${spoken.endpoint.path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: warmfork.write(session.summary), signal: leaving.signal })
    asking.catch(() => {})
    while (!since.questions().includes('POST /tokenize')) await sleep(5)
    leaving.abort()
    await sleep(100)
    t.strictSame(since.generations(), [])
    t.strictSame(warmfork.logged.slice(lines), [], 'no receipt either: nobody was answered')
    warmfork.script.fault = undefined
    t.equal((await warmfork.chat(session.summary)).warmfork['decision'], 'forked')
  })
})
