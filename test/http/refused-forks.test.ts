// A fork that the engine refuses before it generates leaves the client with the answer to its own request; whatever may
// have come after generation is the client's to see, and nothing is generated twice.

import t from 'tap'
import { overEndpoints } from '../helpers/endpoints/all.ts'
import { sleep } from '../helpers/http.ts'
import { isFork, opencodeSession, sameForAll, startWarmfork, streamed, whenForked } from '../helpers/warmfork.ts'

overEndpoints(t, async (t, spoken) => {
  const warmfork = await startWarmfork(t, { spoken })
  const forms = [['not streamed', {}], ['streamed', streamed]] as const

  t.beforeEach(() => {
    warmfork.script.reply = undefined
  })

  for (const [form, options] of forms) {
    for (const status of [400, 404, 413, 422, 503]) {
      t.test(`[case 45] a fork refused with ${status} is followed by the agent's own request, once, ${form}`, async (t) => {
        const session = opencodeSession()
        await warmfork.main(session)
        warmfork.script.reply = whenForked({ refuse: { status, body: { error: { message: 'quoted input', code: status } } } }, { content: 'The summary.' })
        const since = warmfork.since()
        const reply = await warmfork.chat({ ...session.summary, ...options })
        t.strictSame(since.generations().map(({ body }) => isFork(body)), [true, false])
        t.ok(since.generations()[1]!.body.equals(warmfork.write({ ...session.summary, ...options })))
        t.equal(reply.status, 200)
        t.equal(reply.content, 'The summary.')
        t.match(reply.warmfork, { decision: 'passed', eligible: 'true', 'fork-sent': 'true', 'fallback-reason': 'fork_rejected' })
        t.match(await warmfork.outcome(reply), { decision: 'passed', valid: true, prompt_ids_confirmed: null })
        t.equal(sameForAll(reply), sameForAll(await warmfork.engineAlone({ ...session.summary, ...options })))
        warmfork.script.reply = undefined
        t.equal((await warmfork.chat(session.summary)).warmfork['decision'], 'forked', 'one refusal is nothing against the next fork')
      })
    }

    for (const status of [401, 403, 429, 500, 502]) {
      t.test(`[case 42] a fork answered with ${status} is the client's to see, and not sent again, ${form}`, async (t) => {
        const session = opencodeSession()
        await warmfork.main(session)
        const body = { error: { message: `status ${status}`, code: status } }
        warmfork.script.reply = whenForked({ refuse: { status, body, headers: { 'retry-after': '7', 'x-of-the-engine': 'kept' } } })
        const since = warmfork.since()
        const reply = await warmfork.chat({ ...session.summary, ...options })
        t.equal(since.generations().length, 1)
        t.equal(reply.status, status)
        t.strictSame(JSON.parse(reply.text), body)
        t.equal(reply.header('retry-after'), '7')
        t.equal(reply.header('x-of-the-engine'), 'kept')
        t.match(reply.warmfork, { decision: 'forked', eligible: 'true', 'fork-sent': 'true' })
        t.equal(reply.warmfork['fallback-reason'], undefined)
        const generated = status >= 500
        t.match(await warmfork.outcome(reply), { valid: generated ? false : null, invalid_reason: generated ? 'summary_engine_error' : null })
        warmfork.script.reply = undefined
        const next = await warmfork.chat({ ...session.summary, ...options })
        t.equal(next.warmfork['decision'], generated ? 'passed' : 'forked', 'what cannot have generated is no failed fork')
      })
    }

    for (const at of ['before_headers', 'after_headers', 4] as const) {
      t.test(`a connection that breaks under a fork (${at}) is no second generation, ${form}`, async (t) => {
        const session = opencodeSession()
        await warmfork.main(session)
        warmfork.script.reply = whenForked({ fail: { kind: 'reset', at } })
        const since = warmfork.since()
        const reply = await warmfork.chat({ ...session.summary, ...options })
        t.equal(since.generations().length, 1)
        if (form === 'streamed' && at === 4) {
          t.equal(reply.status, 200)
          t.notOk(reply.whole, 'the client sees that the rest is missing')
          t.notOk(reply.done)
        } else {
          t.equal(reply.status, 502)
          t.equal(reply.header('x-warmfork-error'), 'upstream_reset')
          t.ok(reply.error)
          t.equal(reply.header('x-should-retry'), 'false')
        }
        t.match(await warmfork.outcome(reply), { decision: 'forked', valid: false, invalid_reason: 'summary_engine_error' })
        warmfork.script.reply = undefined
        t.equal((await warmfork.chat(session.summary)).warmfork['fallback-reason'], 'fork_failed_before')
      })
    }
  }

  t.test('[case 45] three refusals in a row switch forking off for the model, said once, until the engine starts anew', async (t) => {
    const session = opencodeSession()
    await warmfork.main(session)
    const since = warmfork.since()
    warmfork.script.reply = whenForked({ refuse: { status: 400 } })
    for (const reason of ['fork_rejected', 'fork_rejected', 'fork_rejected', 'model_switched_off', 'model_switched_off']) {
      t.equal((await warmfork.chat(session.summary)).warmfork['fallback-reason'], reason)
    }
    t.equal(since.generations().filter(({ body }) => isFork(body)).length, 3)
    t.equal(since.warnings().length, 1)

    warmfork.script.reply = undefined
    warmfork.engine.restart()
    t.equal((await warmfork.chat(session.summary)).warmfork['decision'], 'forked')
  })

  t.test('an engine that refuses the agent\'s own request too says nothing about forks', async (t) => {
    const session = opencodeSession()
    await warmfork.main(session)
    warmfork.script.reply = () => ({ refuse: { status: 400 } })
    for (let i = 0; i < 4; i++) {
      const reply = await warmfork.chat(session.summary)
      t.equal(reply.status, 400)
      t.equal(reply.warmfork['fallback-reason'], 'fork_rejected')
    }
    warmfork.script.reply = undefined
    t.equal((await warmfork.chat(session.summary)).warmfork['decision'], 'forked')
  })

  t.test('a fork that is answered between refusals leaves the model on', async (t) => {
    const session = opencodeSession()
    await warmfork.main(session)
    const decisions = []
    for (const refused of [true, true, false, true, true, false]) {
      warmfork.script.reply = refused ? whenForked({ refuse: { status: 400 } }) : undefined
      decisions.push((await warmfork.chat(session.summary)).warmfork['decision'])
    }
    t.strictSame(decisions, ['passed', 'passed', 'forked', 'passed', 'passed', 'forked'])
  })

  t.test('after a failed fork the conversation is compacted without one, until there is new evidence', async (t) => {
    const session = opencodeSession()
    await warmfork.main(session)
    warmfork.script.reply = whenForked({ content: '' })
    t.equal((await warmfork.chat(session.summary)).status, 422)
    const retry = await warmfork.chat(session.summary)
    t.equal(retry.status, 200)
    t.equal(retry.warmfork['fallback-reason'], 'fork_failed_before')

    warmfork.script.reply = undefined
    const more = [{ role: 'assistant', content: 'It is read.' }, { role: 'user', content: 'Go on with the lexer.' }] as const
    await warmfork.chat({ ...session.main, messages: [...session.main.messages, ...more] })
    const { messages } = session.summary
    const next = await warmfork.chat({ ...session.summary, messages: [messages[0]!, ...session.main.messages.slice(1), ...more, ...messages.slice(-2)] })
    t.equal(next.warmfork['decision'], 'forked')
  })

  t.test('[case 18] a fork that fails while another is planned still counts as failed', async (t) => {
    const session = opencodeSession()
    await warmfork.main(session)
    await warmfork.line(({ msg }) => msg === 'calibration')
    let forks = 0
    warmfork.script.reply = ({ body }) => isFork(JSON.stringify(body)) && ++forks === 1 ? { content: '' } : {}
    warmfork.script.fault = ({ path }) => path === '/tokenize' ? { kind: 'delay', ms: 300 } : undefined
    const since = warmfork.since()
    const slow = warmfork.chat(session.summary)
    while (!since.questions().includes('POST /tokenize')) await sleep(5)
    warmfork.script.fault = undefined
    t.equal((await warmfork.chat(session.summary)).status, 422)
    t.equal((await slow).warmfork['decision'], 'forked')
    t.equal((await warmfork.chat(session.summary)).warmfork['fallback-reason'], 'fork_failed_before')
  })
})
