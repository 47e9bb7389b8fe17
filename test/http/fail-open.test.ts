// A fault of warmfork's own never costs the client its answer (R13): every part fails once, on the real application.

import t, { type Test } from 'tap'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { composeHandler } from '../../src/compose.ts'
import { MemoryStore } from '../../src/conversation/memory-store.ts'
import { Records } from '../../src/conversation/records.ts'
import { Tenants } from '../../src/conversation/tenant.ts'
import { Engine } from '../../src/engine/engine.ts'
import { ForkSwitches } from '../../src/fork/switches.ts'
import { Ledger } from '../../src/receipt/ledger.ts'
import type { Upstream } from '../../src/relay/types.ts'
import { createUpstream } from '../../src/relay/upstream.ts'
import { Recogniser } from '../../src/summary/recognise.ts'
import { SseSplitter } from '../../src/wire/sse.ts'
import { defaultContent, startSimulator } from '../../src/simulator/simulator.ts'
import { overEndpoints } from '../helpers/endpoints/all.ts'
import type { Spoken } from '../helpers/endpoints/spoken.ts'
import { send, sleep } from '../helpers/http.ts'
import { startProxy } from '../helpers/proxy.ts'
import { type ChatBody, chatReply, configured, isCalibration, isFork, opencodeSession, sameForAll, startWarmfork, streamed, toBytes, whenForked } from '../helpers/warmfork.ts'

const forms = [['not streamed', {}], ['streamed', streamed]] as const
const secret = 'text that no log may hold'

/** Lets a method fail until the test is over, or once. */
function breaks(t: { teardown(handler: () => void): unknown }, part: { prototype: any }, method: string, once = false): void {
  const { prototype } = part
  const original = Object.getOwnPropertyDescriptor(prototype, method)!
  const restore = (): void => void Object.defineProperty(prototype, method, original)
  Object.defineProperty(prototype, method, {
    ...original,
    value: original.value.constructor.name === 'AsyncFunction'
      ? async () => { throw new TypeError(secret) }
      : () => {
          if (once) restore()
          throw new TypeError(secret)
        },
  })
  t.teardown(restore)
}

const onMain: readonly (readonly [{ prototype: any }, string])[] = [
  [Recogniser, 'plainOf'], [Records, 'place'], [Records, 'observe'], [Tenants, 'of'], [MemoryStore, 'lines'], [MemoryStore, 'put'], [Engine, 'cacheConfig'], [Engine, 'calibration'],
]

const onSummary: readonly (readonly [{ prototype: any }, string])[] = [
  [Recogniser, 'plainOf'], [Recogniser, 'recognise'], [Tenants, 'of'], [Tenants, 'credentials'], [MemoryStore, 'candidates'], [MemoryStore, 'amend'],
  [Engine, 'cacheConfig'], [Engine, 'calibration'], [Engine, 'render'], [ForkSwitches, 'isModelOff'], [ForkSwitches, 'isPaused'],
  [ForkSwitches, 'accepted'], [ForkSwitches, 'observed'], [Ledger, 'receipt'], [Ledger, 'outcome'],
]

/** warmfork before a simulator, with an upstream of the test's making. */
async function startOver(t: Test, spoken: Spoken, wrap: (upstream: Upstream) => Upstream['exchange']) {
  const engine = await startSimulator({ record: true, ...spoken.engine })
  const upstream = createUpstream({ origin: engine.url, connectTimeoutMs: 1_000 })
  t.teardown(async () => {
    await upstream.close()
    await engine.close()
  })
  const lines: any[] = []
  const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const registry = new Registry()
  const conversation = composeHandler(configured(engine.url), { agents: [], upstream: { ...upstream, exchange: wrap(upstream) }, ledger: new Ledger(log, registry), registry, log, replyHeaders: [] })
  const { port } = await startProxy(t, engine.url, { conversation })
  const post = async (body: ChatBody) => chatReply(await send(port, { target: spoken.endpoint.path, headers: ['content-type', 'application/json'], body: toBytes(spoken.write(body)) }), spoken)
  return { engine, post, warnings: () => lines.filter(({ level }) => level >= 40) }
}

overEndpoints(t, async (t, spoken) => {
  const warmfork = await startWarmfork(t, { spoken })
  const endpoint = { prototype: spoken.endpoint }

  for (const [form, options] of forms) {
    for (const [part, method] of [...onMain, [endpoint, 'read'] as const]) {
      t.test(`a fault in ${method} costs a main request nothing, ${form}`, async (t) => {
        const { main } = opencodeSession()
        const since = warmfork.since()
        breaks(t, part, method)
        const reply = await warmfork.chat({ ...main, ...options })
        t.equal(reply.status, 200)
        t.equal(reply.content, defaultContent)
        t.equal(since.generations().length, 1)
        await new Promise(setImmediate)
        t.ok(since.warnings().length <= 1, `warnings: ${since.warnings().map(({ msg }) => msg)}`)
        t.notOk(JSON.stringify(since.warnings()).includes(secret))
        t.equal(sameForAll(reply), sameForAll(await warmfork.engineAlone({ ...main, ...options })))
      })
    }

    for (const [part, method] of [...onSummary, [endpoint, 'forkBody'] as const, [endpoint, 'edit'] as const]) {
      t.test(`a fault in ${method} costs a summary nothing, ${form}`, async (t) => {
        const session = opencodeSession()
        await warmfork.main(session)
        // What is asked in the background after a main request is over by then.
        await sleep(20)
        const since = warmfork.since()
        breaks(t, part, method)
        const reply = await warmfork.chat({ ...session.summary, ...options })
        t.equal(reply.status, 200)
        t.ok(reply.whole)
        t.equal(reply.content, defaultContent)
        t.equal(reply.finish, 'stop')
        t.equal(since.generations().length, 1, 'nothing is generated twice')
        t.equal(since.warnings().length, 1, `warnings: ${since.warnings().map(({ msg }) => msg)}`)
        t.notOk(JSON.stringify(since.warnings()).includes(secret))
      })
    }
  }

  t.test('a ledger that fails leaves a passed summary its answer too', async (t) => {
    for (const method of ['receipt', 'outcome']) {
      await t.test(method, async (t) => {
        const session = opencodeSession()
        const since = warmfork.since()
        breaks(t, Ledger, method)
        const reply = await warmfork.chat(session.summary)
        t.equal(reply.content, defaultContent)
        t.equal(since.generations().length, 1)
        t.equal(since.warnings().length, 1)
      })
    }
  })

  t.test('a switch that fails at a refused fork leaves the summary its answer', async (t) => {
    const session = opencodeSession()
    await warmfork.main(session)
    breaks(t, ForkSwitches, 'refused')
    warmfork.script.reply = whenForked({ refuse: { status: 400 } })
    const since = warmfork.since()
    const reply = await warmfork.chat(session.summary)
    warmfork.script.reply = undefined
    t.equal(reply.content, defaultContent)
    t.strictSame(since.generations().map(({ body }) => isFork(body)), [true, false])
    t.equal(since.warnings().length, 1)
  })

  t.test("a fault while a fork's reply is read leaves the client the answer to its own request", async (t) => {
    const session = opencodeSession()
    await warmfork.main(session)
    const since = warmfork.since()
    breaks(t, SseSplitter, 'push', true)
    const reply = await warmfork.chat({ ...session.summary, ...streamed })
    t.equal(reply.content, defaultContent)
    t.ok(reply.done)
    t.strictSame(since.generations().map(({ body }) => isFork(body)), [true, false])
    t.equal(since.warnings().length, 1)
  })

  t.test('a failed fork whose failure cannot be noted is a 422 all the same', async (t) => {
    const session = opencodeSession()
    await warmfork.main(session)
    await warmfork.chat(session.summary)
    warmfork.script.reply = whenForked({ content: '' })
    breaks(t, MemoryStore, 'amend')
    const since = warmfork.since()
    const reply = await warmfork.chat(session.summary)
    warmfork.script.reply = undefined
    t.equal(reply.status, 422)
    await new Promise(setImmediate)
    t.equal(since.warnings().length, 1)
  })

  for (const [form, options] of forms) {
    t.test(`a fork that finds no connection is followed by the agent's own request, ${form}`, async (t) => {
      const nowhere = createUpstream({ origin: 'http://127.0.0.1:1', connectTimeoutMs: 1_000 })
      t.teardown(() => nowhere.close())
      const { engine, post } = await startOver(t, spoken, (upstream) => (outgoing, ...rest) =>
        (outgoing.target === spoken.endpoint.path && isFork(outgoing.body) ? nowhere : upstream).exchange(outgoing, ...rest))

      const session = opencodeSession()
      t.equal((await post(session.main)).status, 200)
      const before = engine.requests.length
      const reply = await post({ ...session.summary, ...options })
      t.equal(reply.content, defaultContent)
      t.match(reply.warmfork, { decision: 'passed', eligible: 'true', 'fork-sent': 'true', 'fallback-reason': 'fork_rejected' })
      const sent = engine.requests.slice(before).filter(({ target, body }) => target === spoken.endpoint.path && !isCalibration(body))
      t.equal(sent.length, 1)
      t.ok(sent[0]!.body.equals(toBytes(spoken.write({ ...session.summary, ...options }))))
    })
  }

  t.test('a fault while calibrating costs nobody anything, and is gone the next time', async (t) => {
    let broken = true
    const { post, warnings } = await startOver(t, spoken, (upstream) => (outgoing, ...rest) => {
      if (broken && isCalibration(outgoing.body)) throw new TypeError(secret)
      return upstream.exchange(outgoing, ...rest)
    })
    const session = opencodeSession()
    t.equal((await post(session.main)).status, 200)
    await sleep(50)
    t.equal(warnings().length, 1)
    const reply = await post(session.summary)
    t.equal(reply.content, defaultContent)
    t.equal(reply.warmfork['fallback-reason'], 'internal_error')
    t.equal(warnings().length, 2)
    broken = false
    t.equal((await post(session.summary)).warmfork['decision'], 'forked')
  })
})
