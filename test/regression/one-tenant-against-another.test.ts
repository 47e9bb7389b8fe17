// What the engine answers to one credential must not cost another tenant its forks.

import t from 'tap'
import { sleep } from '../helpers/http.ts'
import { isCalibration, opencodeSession, startWarmfork, whenForked, type Warmfork } from '../helpers/warmfork.ts'

const good = { headers: ['authorization', 'Bearer good'] }
const bad = { headers: ['authorization', 'Bearer bad'] }

/** Something between warmfork and the engine that sees credentials: answers the bad one's questions with a status. */
async function gateway(warmfork: Warmfork, answers: (request: { path: string, body: Buffer }) => number | undefined): Promise<void> {
  const { engine } = warmfork
  warmfork.script.fault = ({ path, body }) => {
    const last = engine.requests.findLast((request) => request.body.equals(body) && request.target === path)
    if (!last?.rawHeaders.includes('Bearer bad')) return undefined
    const status = answers({ path, body })
    return status === undefined ? undefined : { kind: 'answer', status, body: '{"error":{"message":"Budget has been exceeded"}}' }
  }
}

for (const status of [400, 401, 402, 403, 404, 429]) {
  t.test(`a calibration that a gateway refuses one tenant with ${status} leaves the other his forks`, async (t) => {
    const warmfork = await startWarmfork(t)
    await gateway(warmfork, ({ path, body }) => path === '/tokenize' || isCalibration(body) ? status : undefined)
    const [first, second] = [opencodeSession(), opencodeSession()]
    await warmfork.main(first, bad)
    await sleep(100)
    t.equal((await warmfork.chat(first.summary, bad)).warmfork['decision'], 'passed')
    await warmfork.main(second, good)
    t.equal((await warmfork.chat(second.summary, good)).warmfork['decision'], 'forked')
  })
}

t.test("a tenant waits for no calibration that another's credential holds up", async (t) => {
  const warmfork = await startWarmfork(t)
  const { engine } = warmfork
  warmfork.script.fault = ({ path, body }) => isCalibration(body) && engine.requests.findLast((request) => request.body.equals(body) && request.target === path)?.rawHeaders.includes('Bearer bad')
    ? { kind: 'silence' } : undefined
  warmfork.script.reply = undefined
  const [first, second] = [opencodeSession(), opencodeSession()]
  await warmfork.main(first, bad)
  await warmfork.main(second, good)
  const reply = await warmfork.chat(second.summary, good)
  t.equal(reply.warmfork['decision'], 'forked')
})

t.test('a calibration that went well is there for every tenant', async (t) => {
  const warmfork = await startWarmfork(t)
  const [first, second] = [opencodeSession(), opencodeSession()]
  await warmfork.main(first, bad)
  await warmfork.line(({ msg }) => msg === 'calibration')
  const since = warmfork.since()
  await warmfork.main(second, good)
  t.equal((await warmfork.chat(second.summary, good)).warmfork['decision'], 'forked')
  t.notOk(since.questions().includes('POST /v1/chat/completions'))
})

t.test("forks that the engine refuses one tenant switch off nobody else's", async (t) => {
  const warmfork = await startWarmfork(t)
  const [first, second] = [opencodeSession(), opencodeSession()]
  await warmfork.main(first, bad)
  await warmfork.main(second, good)
  warmfork.script.reply = (request) => request.headers['authorization'] === 'Bearer bad' ? whenForked({ refuse: { status: 400 } })(request) : {}
  for (const reason of ['fork_rejected', 'fork_rejected', 'fork_rejected', 'model_switched_off']) {
    t.equal((await warmfork.chat(first.summary, bad)).warmfork['fallback-reason'], reason)
  }
  t.equal((await warmfork.chat(second.summary, good)).warmfork['decision'], 'forked')
  t.equal((await warmfork.chat(first.summary, bad)).warmfork['fallback-reason'], 'model_switched_off', "nor does another's fork switch them on")
})

t.test("forks of one tenant that find nothing cached pause nobody else's", async (t) => {
  const warmfork = await startWarmfork(t)
  const [first, second] = [opencodeSession(), opencodeSession()]
  await warmfork.main(first, bad)
  await warmfork.main(second, good)
  for (let i = 0; i < 3; i++) {
    warmfork.engine.restart()
    t.equal((await warmfork.chat(first.summary, bad)).warmfork['decision'], 'forked')
  }
  t.equal((await warmfork.chat(first.summary, bad)).warmfork['fallback-reason'], 'reuse_not_observed')
  t.equal((await warmfork.chat(second.summary, good)).warmfork['decision'], 'forked')
})
