// What the log says of an engine that cannot be reached: one line when it goes, one when it is there, none for each request.

import { setTimeout } from 'node:timers/promises'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { startApp } from '../../src/app.ts'
import { Presence } from '../../src/relay/presence.ts'
import { send } from '../helpers/http.ts'
import { reply, type RawEngine, type Script, startRawEngine } from '../helpers/raw-engine.ts'
import { configured, type ConfigOverrides, type LogLine } from '../helpers/warmfork.ts'

const well: Script = ({ socket }) => socket.write(reply('200 OK', []))

async function start(t: Test, origin: string, config: ConfigOverrides = {}) {
  const logged: LogLine[] = []
  const app = await startApp(configured(origin, config), pino({ level: 'trace' }, { write: (line: string) => void logged.push(JSON.parse(line)) }))
  let closing: Promise<void> | undefined
  const close = () => (closing ??= app.close(0))
  t.teardown(close)
  const port = Number(new URL(app.url).port)
  return {
    close, logged,
    ask: async () => (await send(port, { method: 'GET', target: '/v1/models' })).status,
    /** Waits for so many lines behind the first, and for more that should not come. */
    async lines(count: number): Promise<LogLine[]> {
      while (logged.length <= count) await setTimeout(5)
      await setTimeout(100)
      return logged.slice(1)
    },
  }
}

async function portOfNobody(t: Test): Promise<number> {
  const engine = await startRawEngine(t)
  await engine.close()
  return engine.port
}

const without = ({ level, msg, code, ...rest }: LogLine): string[] => Object.keys(rest).filter((key) => !['time', 'pid', 'hostname'].includes(key))

t.test('an address where nobody listens is told behind the first line, before any request', { timeout: 20_000 }, async (t) => {
  const { lines } = await start(t, `http://127.0.0.1:${await portOfNobody(t)}`)
  const [line, ...others] = await lines(1)
  t.match(line, { level: 40, code: 'ECONNREFUSED', msg: /cannot be reached/ })
  t.strictSame(without(line!), [], 'no address')
  t.strictSame(others, [])
})

t.test('an engine that goes and comes back is two lines, however many requests fail meanwhile', { timeout: 20_000 }, async (t) => {
  const first = await startRawEngine(t, well)
  const { ask, lines, logged } = await start(t, first.origin)
  t.equal(await ask(), 200)
  const away = async (engine: RawEngine) => {
    await engine.close()
    // A request that meets the closing of a pooled connection is another fault.
    while (await ask() !== 502) await setTimeout(5)
    t.strictSame([...new Set(await Promise.all(Array.from({ length: 20 }, ask)))], [502])
  }
  await away(first)
  t.match(await lines(1), [{ level: 40, code: 'ECONNREFUSED' }])
  t.equal(logged.length, 2)

  const second = await startRawEngine(t, well, { port: first.port })
  t.strictSame([...new Set(await Promise.all(Array.from({ length: 20 }, ask)))], [200])
  const [, back] = await lines(2)
  t.match(back, { level: 30, away_ms: Number, msg: 'the engine can be reached now' })
  t.equal(logged.length, 3)

  await away(second)
  t.match((await lines(3))[2], { level: 40, code: 'ECONNREFUSED' })
  t.equal(logged.length, 4)
})

t.test('a connection that timed out while others were made is no sign of an engine that went', async (t) => {
  const logged: LogLine[] = []
  const presence = new Presence(pino({}, { write: (line: string) => void logged.push(JSON.parse(line)) }))
  const begunAt = performance.now()
  await setTimeout(2)
  presence.reached()
  presence.failed(Object.assign(new Error('10.0.0.1'), { code: 'UND_ERR_CONNECT_TIMEOUT' }), begunAt)
  t.strictSame(logged, [])
  await setTimeout(2)
  presence.failed(Object.assign(new Error('10.0.0.1'), { code: 'UND_ERR_CONNECT_TIMEOUT' }), performance.now())
  t.match(logged, [{ level: 40, code: 'UND_ERR_CONNECT_TIMEOUT' }])
  t.notMatch(JSON.stringify(logged), '10.0.0.1')
})

t.test('what listens and is no vLLM that is well is told once at the start, and an engine that is well is not', { timeout: 20_000 }, async (t) => {
  const engines: [string, Script, object[]][] = [
    ['well', well, []],
    ['something else', ({ socket }) => socket.write(reply('404 Not Found', [])), [{ level: 40, reason: 'engine_unhealthy' }]],
    ['dying', ({ socket }) => socket.destroy(), [{ level: 40, reason: 'engine_unreachable' }]],
  ]
  for (const [what, script, wanted] of engines) {
    const engine = await startRawEngine(t, script)
    const { lines } = await start(t, engine.origin)
    t.equal((await engine.next()).target, '/health')
    const told = await lines(wanted.length)
    t.match(told, wanted, what)
    t.equal(told.length, wanted.length)
  }
})

t.test('the question at the start does not hold up the end', { timeout: 20_000 }, async (t) => {
  for (const script of [() => {}, ({ socket }) => socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')] as Script[]) {
    const engine = await startRawEngine(t, script)
    const { close, logged } = await start(t, engine.origin)
    await engine.next()
    const from = performance.now()
    await close()
    t.ok(performance.now() - from < 1_000)
    t.equal(logged.length, 1)
  }
})
