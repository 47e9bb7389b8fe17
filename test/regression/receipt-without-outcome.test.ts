// Every receipt has its outcome, and every reply to a summary request its receipt, whatever goes wrong on the way.

import t from 'tap'
import { SseSplitter } from '../../src/wire/sse.ts'
import { defaultContent } from '../../src/simulator/simulator.ts'
import { isFork, opencodeSession, startWarmfork, streamed, whenForked } from '../helpers/warmfork.ts'

t.test('a summary by id that is refused has an outcome too', async (t) => {
  const warmfork = await startWarmfork(t, { config: { summary: { by_id: 'on' } } })
  const session = opencodeSession({ finished: true })
  const id = ['x-warmfork-conversation', 'c1']
  const byId = { headers: ['x-warmfork-request', 'conversation-summary', ...id] }
  const ask = { model: session.main.model, messages: [] }
  const unknown = await warmfork.chat(ask, byId)
  t.match(unknown.warmfork, { decision: 'refused', 'fork-sent': 'false', 'fallback-reason': 'no_warm_evidence' })
  t.match(await warmfork.outcome(unknown), { decision: 'refused', valid: null, finish_reason: null, prompt_tokens: null })
  await warmfork.main(session, { headers: id })
  warmfork.script.reply = whenForked({ refuse: { status: 400 } })
  const rejected = await warmfork.chat(ask, byId)
  t.match(rejected.warmfork, { decision: 'refused', 'fork-sent': 'true', 'fallback-reason': 'fork_rejected' })
  t.match(await warmfork.outcome(rejected), { decision: 'refused', valid: null })
})

t.test("a fault while a fork's reply is read leaves a receipt that says so", async (t) => {
  const warmfork = await startWarmfork(t)
  const session = opencodeSession()
  await warmfork.main(session)
  const since = warmfork.since()
  const { push } = SseSplitter.prototype
  SseSplitter.prototype.push = function () {
    SseSplitter.prototype.push = push
    throw new TypeError('once')
  }
  const reply = await warmfork.chat({ ...session.summary, ...streamed })
  t.equal(reply.content, defaultContent)
  t.match(reply.warmfork, { decision: 'passed', eligible: 'true', 'fork-sent': 'true', 'fallback-reason': 'internal_error' })
  t.match(await warmfork.receipt(reply), { decision: 'passed', fork_sent: true, fallback_reason: 'internal_error' })
  t.match(await warmfork.outcome(reply), { decision: 'passed', valid: true })
  t.strictSame(since.generations().map(({ body }) => isFork(body)), [true, false])
  t.equal(since.warnings().length, 1)
})

t.test("a fault in the middle of a fork's stream leaves its receipt an outcome, and nothing is generated twice", async (t) => {
  const warmfork = await startWarmfork(t, { engine: { decodeSecondsPerToken: 0.05 } })
  const session = opencodeSession()
  await warmfork.main(session)
  const since = warmfork.since()
  const { push } = SseSplitter.prototype
  warmfork.script.reply = whenForked({ pieces: ['One. ', 'Two. ', 'Three. '] })
  SseSplitter.prototype.push = function (chunk) {
    if (!chunk.includes('Two. ')) return push.call(this, chunk)
    SseSplitter.prototype.push = push
    throw new TypeError('once')
  }
  const reply = await warmfork.chat({ ...session.summary, ...streamed })
  t.equal(reply.warmfork['decision'], 'forked')
  t.notOk(reply.whole)
  t.notOk(reply.done)
  t.match(await warmfork.outcome(reply), { decision: 'forked', valid: null })
  t.equal(since.generations().length, 1)
})
