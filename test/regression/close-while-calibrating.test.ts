// Nobody waits for a calibration any more when the last client has gone: it must not hold up the end of the process.

import t from 'tap'
import { pino } from 'pino'
import { startApp } from '../../src/app.ts'
import { startSimulator, type FaultRequest } from '../../src/simulator/simulator.ts'
import { send, sleep } from '../helpers/http.ts'
import { configured, isCalibration, opencodeSession, toBytes } from '../helpers/warmfork.ts'

const silent: Record<string, (request: FaultRequest) => boolean> = {
  'whether it caches': ({ path }) => path === '/metrics',
  'a calibration': ({ body }) => isCalibration(body),
}

for (const [question, isSilent] of Object.entries(silent)) {
  t.test(`warmfork closes at once although the engine does not answer ${question}`, async (t) => {
    let asked = 0
    const engine = await startSimulator({
      fault: (request) => {
        if (!isSilent(request)) return undefined
        asked++
        return { kind: 'silence' }
      },
    })
    t.teardown(() => engine.close())
    const app = await startApp(configured(engine.url), pino({ level: 'silent' }))
    const body = toBytes(opencodeSession().main)
    const reply = await send(Number(new URL(app.url).port), { target: '/v1/chat/completions', headers: ['content-type', 'application/json'], body })
    t.equal(reply.status, 200)
    while (asked === 0) await sleep(5)
    const start = performance.now()
    await app.close(0)
    t.ok(performance.now() - start < 2_000)
  })
}
