import { createServer, type AddressInfo } from 'node:net'
import { pino } from 'pino'
import t from 'tap'
import { ListenError, startApp } from '../src/app.ts'
import { type Config, defaultConfig } from '../src/config.ts'
import { stubEngine } from './helpers/stub-engine.ts'

const log = pino({ level: 'silent' })

function configured(upstream: string, port: number, adminPort: number): Config {
  return {
    ...defaultConfig,
    upstream: { ...defaultConfig.upstream, url: upstream },
    server: { ...defaultConfig.server, port },
    admin: { ...defaultConfig.admin, port: adminPort },
  }
}

/** Listens on a port, a free one by default. */
async function takePort(port = 0): Promise<{ port: number; release(): Promise<void> }> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve))
  const release = () => new Promise<void>((resolve) => server.close(() => resolve()))
  return { port: (server.address() as AddressInfo).port, release }
}

t.test('an app that cannot listen says for which server, and leaves nothing open', async (t) => {
  const taken = await takePort()
  const free = await takePort()
  await free.release()
  const error = await startApp(configured('http://127.0.0.1:1', taken.port, free.port), log).catch((error: unknown) => error)
  t.type(error, ListenError)
  t.match(error, { server: 'server', code: 'EADDRINUSE' })
  await (await takePort(free.port)).release()
  await taken.release()
})

t.test('an app relays, shows its own pages on another port, and closes both', async (t) => {
  const origin = await stubEngine(t, (request, response) => response.end(request.url))
  const app = await startApp(configured(`${origin}/v1`, 0, 0), log)
  t.equal(await (await fetch(`${app.url}/v1/models?all`)).text(), '/v1/models?all')
  t.same(await (await fetch(`${app.adminUrl}/healthz`)).json(), { status: 'ok' })
  t.equal((await fetch(`${app.url}/healthz`)).status, 404)
  await app.close(0)
  for (const url of [app.url, app.adminUrl]) await t.rejects(fetch(`${url}/healthz`))
})
