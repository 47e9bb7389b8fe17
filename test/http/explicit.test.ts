// Explicit beats inferred: the header and the metadata field that say what a request is, and the modes of fork.mode.

import t from 'tap'
import { reasons } from '../../src/receipt/reasons.ts'
import { simulatorModel } from '../../src/simulator/simulator.ts'
import { overEndpoints } from '../helpers/endpoints/all.ts'
import { confirmedOn } from '../helpers/endpoints/spoken.ts'
import { sleep } from '../helpers/http.ts'
import { isFork, opencodeSession, startWarmfork, streamed, whenForked } from '../helpers/warmfork.ts'

overEndpoints(t, async (t, spoken) => {
  const warmfork = await startWarmfork(t, { spoken })
  const byId = await startWarmfork(t, { spoken, config: { summary: { by_id: 'on' } } })
  const forms = [['not streamed', {}], ['streamed', streamed]] as const

  for (const word of ['main', 'side'] as const) {
    for (const [where, headers, members] of [['header', ['x-warmfork-request', word], {}], ['metadata field', [], { metadata: { warmfork: { request: word } } }]] as const) {
      if (where === 'metadata field' && spoken.lacks.includes('metadata')) continue
      t.test(`the ${where} that says ${word} wins over an agent's traits: no receipt, bytes as they came`, async (t) => {
        const session = opencodeSession()
        await warmfork.main(session)
        const body = warmfork.write({ ...session.summary, ...members })
        const since = warmfork.since()
        const reply = await warmfork.chat(body, { headers })
        t.strictSame(reply.warmfork, {})
        t.ok(since.generations()[0]!.body.equals(body))
        t.notOk(isFork(body))
      })
    }
  }

  t.test('a request that says main is evidence, and one that says side is not', async (t) => {
    for (const [word, decision] of [['main', 'forked'], ['side', 'passed']] as const) {
      const session = opencodeSession()
      await warmfork.main(session, { headers: ['x-warmfork-request', word] })
      t.equal((await warmfork.chat(session.summary)).warmfork['decision'], decision, word)
    }
  })

  for (const [where, headers, members] of [['header', ['x-warmfork-request', 'summary'], {}], ['metadata field', [], { metadata: { warmfork: { request: 'summary' } } }]] as const) {
    if (where === 'metadata field' && spoken.lacks.includes('metadata')) continue
    t.test(`the ${where} that says summary makes one of a request that no data file knows`, async (t) => {
      const session = opencodeSession()
      await warmfork.main(session)
      const summary = { ...session.main, tools: undefined, messages: [...session.main.messages, { role: 'user', content: 'Sum it up.' }], ...members }
      const reply = await warmfork.chat(summary, { headers })
      t.equal(reply.warmfork['decision'], 'forked')
      t.match(await warmfork.receipt(reply), { agent: null })
    })
  }

  t.test('a summary that says so is forked under a system text of its own, as messages or as text, whatever it asks for', async (t) => {
    const purpose = { role: 'system', content: 'You are somebody else.' }
    for (const shape of ['messages', 'text']) {
      const session = opencodeSession()
      await warmfork.main(session)
      const turns = session.main.messages.slice(1)
      const said = shape === 'messages' ? [...turns, { role: 'user', content: 'Now.' }] : [{ role: 'user', content: `${JSON.stringify(turns)}\n\nNow.` }]
      const reply = await warmfork.chat({ ...session.main, tools: undefined, messages: [purpose, ...said] } as never, { headers: ['x-warmfork-request', ' Summary'] })
      t.equal(reply.warmfork['decision'], 'forked', shape)
      t.match(await warmfork.receipt(reply), { agent: null, head_messages: session.main.messages.length })
    }
  })

  t.test('a word that is none is warned of once, and counts as none', async (t) => {
    const fresh = await startWarmfork(t, { spoken })
    const since = fresh.since()
    for (const word of ['sumary', 'sumarry', 'sideways and much more']) {
      const session = opencodeSession()
      t.strictSame((await fresh.chat(session.main, { headers: ['x-warmfork-request', word] })).warmfork, {})
      t.equal((await fresh.chat(session.summary, { headers: ['x-warmfork-request', word] })).warmfork['decision'], 'forked', 'recorded, and recognised')
    }
    t.strictSame(since.warnings().filter(({ meant }) => meant !== undefined).map(({ meant }) => meant), ['summary', null])
  })

  t.test('in observe mode a fork is planned and proven, and the summary goes out as it came', async (t) => {
    const observing = await startWarmfork(t, { spoken, config: { fork: { mode: 'observe' } } })
    const session = opencodeSession()
    await observing.main(session)
    const body = warmfork.write(session.summary)
    const since = observing.since()
    const reply = await observing.chat(body)
    t.ok(since.generations().length === 1 && since.generations()[0]!.body.equals(body))
    t.match(await observing.receipt(reply), { decision: 'passed', eligible: true, fork_sent: false, fallback_reason: 'observed_only', placement: 'user', proof: 'tokenize' })
    t.ok(Number(reply.warmfork['common-prefix-tokens']) > 2_000)
  })

  t.test('in off mode the engine is asked nothing, and nothing is recorded', async (t) => {
    const off = await startWarmfork(t, { spoken, config: { fork: { mode: 'off' } } })
    const session = opencodeSession()
    await off.main(session)
    const reply = await off.chat(session.summary)
    t.match(reply.warmfork, { decision: 'passed', 'fallback-reason': 'disabled' })
    t.strictSame(off.engine.requests.map(({ target }) => target), [spoken.endpoint.path, spoken.endpoint.path])
    t.match(await (await fetch(`${off.app.adminUrl}/metrics`)).text(), /^warmfork_evidence_entries 0$/m)
  })

  const id = ['x-warmfork-conversation', 'my-conversation']
  const asksById = ['x-warmfork-request', 'conversation-summary', ...id]

  for (const [form, options] of forms) {
    t.test(`a summary by conversation id covers the whole conversation and its reply, ${form}`, async (t) => {
      const session = opencodeSession()
      const headers = ['x-warmfork-conversation', `whole ${form}`]
      byId.script.reply = () => ({ content: 'The main reply.' })
      await byId.main(session, { headers })
      byId.script.reply = whenForked({ content: 'The summary.' })
      const since = byId.since()
      const reply = await byId.chat({ model: session.main.model, messages: [{ role: 'user', content: 'Only the open ends, please.' }], ...options }, { headers: ['x-warmfork-request', 'conversation-summary', ...headers] })
      byId.script.reply = undefined
      t.equal(reply.status, 200)
      t.equal(reply.content, 'The summary.')
      t.match(reply.warmfork, { decision: 'forked' })
      const { messages } = byId.asChat(since.generations()[0]!.body)
      t.strictSame(messages.slice(0, -2), session.main.messages)
      t.strictSame(messages.at(-2), { role: 'assistant', content: 'The main reply.' })
      t.ok(messages.at(-1)!.content!.endsWith('Only the open ends, please.'))
      t.match(await byId.outcome(reply), { valid: true, prompt_ids_confirmed: confirmedOn(spoken) })
    })

    t.test(`a summary by an id that nobody has is a 422 with the reason, ${form}`, async (t) => {
      const since = byId.since()
      const reply = await byId.chat({ model: 'qwen3-simulated', messages: [], ...options }, { headers: ['x-warmfork-request', 'conversation-summary', 'x-warmfork-conversation', 'nobody'] })
      t.equal(reply.status, 422)
      t.equal(reply.header('x-should-retry'), 'false')
      t.strictSame(JSON.parse(reply.text), spoken.error('no_warm_evidence', reasons.no_warm_evidence))
      t.match(reply.warmfork, { decision: 'refused', eligible: 'false', 'fork-sent': 'false', 'fallback-reason': 'no_warm_evidence' })
      t.equal(since.generations().length, 0, 'there is no request of its own to send')
    })

    t.test(`a summary by id whose fork the engine refuses is a 422, ${form}`, async (t) => {
      const session = opencodeSession()
      const headers = ['x-warmfork-conversation', `refused ${form}`]
      await byId.main(session, { headers })
      byId.script.reply = whenForked({ refuse: { status: 400 } })
      const reply = await byId.chat({ model: session.main.model, messages: [], ...options }, { headers: ['x-warmfork-request', 'conversation-summary', ...headers] })
      byId.script.reply = undefined
      t.equal(reply.status, 422)
      t.match(reply.warmfork, { decision: 'refused', eligible: 'true', 'fork-sent': 'true', 'fallback-reason': 'fork_rejected' })
    })
  }

  t.test('without an instruction the built-in one asks for a checkpoint', async (t) => {
    const session = opencodeSession()
    await byId.main(session, { headers: id })
    const since = byId.since()
    const reply = await byId.chat({ model: session.main.model, messages: [] }, { headers: asksById })
    t.equal(reply.status, 200)
    t.match(byId.asChat(since.generations()[0]!.body).messages.at(-1)!.content, /carry on from here without reading it/)
  })

  t.test('summaries by id are off unless the configuration says otherwise', async (t) => {
    const session = opencodeSession()
    await warmfork.main(session, { headers: id })
    const since = warmfork.since()
    const reply = await warmfork.chat({ model: session.main.model, messages: [] }, { headers: asksById })
    t.equal(reply.status, 422)
    t.strictSame(JSON.parse(reply.text), spoken.error('disabled', reasons.disabled))
    t.equal(since.generations().length, 0)
  })

  t.test('a summary by the id of a conversation that has expired is refused as expired, whether a header or the body names it', async (t) => {
    const brief = await startWarmfork(t, { spoken, config: { summary: { by_id: 'on' }, evidence: { ttl_s: 1 }, conversation: { body_fields: ['session_id'] } } })
    const ask = (headers: string[], members: object = {}) => brief.chat(brief.write({ model: simulatorModel, messages: [], ...members }), { headers: ['x-warmfork-request', 'conversation-summary', ...headers] })
    const ways = [[id, {}], [[], { session_id: 'in the body' }]] as const
    for (const [headers, members] of ways) await brief.main({ ...opencodeSession(), main: { ...opencodeSession().main, ...members } }, { headers })
    await sleep(1_100)
    for (const [headers, members] of ways) {
      const reply = await ask([...headers], members)
      t.equal(reply.status, 422)
      t.equal(reply.warmfork['fallback-reason'], 'evidence_expired')
      t.strictSame(JSON.parse(reply.text), spoken.error('evidence_expired', reasons.evidence_expired))
    }
    t.equal((await ask(['x-warmfork-conversation', 'another'])).warmfork['fallback-reason'], 'no_warm_evidence')
    t.equal((await ask([...id, 'authorization', 'Bearer other'])).warmfork['fallback-reason'], 'no_warm_evidence', 'nobody learns what another tenant had')
  })

  t.test('[case 57] a summary by id under another credential is answered as for an unknown id', async (t) => {
    const session = opencodeSession()
    await byId.main(session, { headers: ['authorization', 'Bearer owner', 'x-warmfork-conversation', 'owned'] })
    const ask = (name: string, key: string) => byId.chat({ model: session.main.model, messages: [] }, { headers: ['authorization', key, 'x-warmfork-request', 'conversation-summary', 'x-warmfork-conversation', name] })
    const [foreign, unknown, own] = [await ask('owned', 'Bearer other'), await ask('nobody has it', 'Bearer other'), await ask('owned', 'Bearer owner')]
    t.equal(own.status, 200)
    t.equal(foreign.status, 422)
    t.equal(foreign.text, unknown.text)
    t.strictSame(foreign.warmfork, unknown.warmfork)
  })
})
