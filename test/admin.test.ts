import type { AddressInfo } from 'node:net'
import t from 'tap'
import { createAdminServer } from '../src/admin.ts'
import { createUpstream } from '../src/relay/upstream.ts'
import { send } from './helpers/http.ts'
import { head, reply, type Script, startRawEngine } from './helpers/raw-engine.ts'

async function startAdmin(t: { teardown(handler: () => Promise<void>): unknown }, origin: string): Promise<number> {
  const upstream = createUpstream({ origin, connectTimeoutMs: 1_000 })
  const admin = createAdminServer({
    upstream,
    metrics: { contentType: 'text/plain; version=0.0.4; charset=utf-8', render: async () => 'warmfork_up 1\n' },
    recentReceipts: () => [{ receipt: 'a' }, { receipt: 'b' }],
  })
  await admin.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(async () => {
    await admin.close()
    await upstream.close()
  })
  return (admin.server.address() as AddressInfo).port
}

t.test('health, metrics and receipts need no engine', async (t) => {
  const port = await startAdmin(t, 'http://127.0.0.1:9')
  const get = (target: string) => send(port, { method: 'GET', target })
  t.same(JSON.parse((await get('/healthz')).body.toString()), { status: 'ok' })
  const metrics = await get('/metrics')
  t.equal(metrics.header('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  t.equal(metrics.body.toString(), 'warmfork_up 1\n')
  const receipts = await get('/receipts')
  t.match(receipts.header('content-type'), /^application\/json/)
  t.same(JSON.parse(receipts.body.toString()), [{ receipt: 'a' }, { receipt: 'b' }])
})

t.test('the root names the pages, one a line, and each of them is there', async (t) => {
  const engine = await startRawEngine(t, ({ socket }) => socket.write(reply('200 OK', [])))
  const port = await startAdmin(t, engine.origin)
  const root = await send(port, { method: 'GET', target: '/' })
  t.equal(root.status, 200)
  t.match(root.header('content-type'), /^text\/plain/)
  const pages = root.body.toString().trimEnd().split('\n').map((line) => line.split(' ')[0]!)
  t.same(pages, ['/healthz', '/readyz', '/metrics', '/receipts'])
  for (const target of pages) t.equal((await send(port, { method: 'GET', target })).status, 200, target)
  t.equal((await send(port, { method: 'GET', target: '/else' })).status, 404)
})

t.test('ready means that the engine answers its health route in time', { timeout: 30_000 }, async (t) => {
  const engines: [string, Script, number, object][] = [
    ['well', ({ socket }) => socket.write(reply('200 OK', [])), 200, { ready: true }],
    ['ill', ({ socket }) => socket.write(reply('503 Service Unavailable', [])), 503, { ready: false, reason: 'engine_unhealthy' }],
    ['silent', () => {}, 503, { ready: false, reason: 'engine_silent' }],
    ['dying', ({ socket }) => socket.destroy(), 503, { ready: false, reason: 'engine_unreachable' }],
  ]
  for (const [what, script, status, body] of engines) {
    const engine = await startRawEngine(t, script)
    const port = await startAdmin(t, engine.origin)
    const got = await send(port, { method: 'GET', target: '/readyz' })
    t.equal(got.status, status, what)
    t.same(JSON.parse(got.body.toString()), body)
    t.equal(engine.requests[0]!.target, '/health')
    await engine.close()
    if (what === 'silent') t.type(await engine.requests[0]!.closed, 'number', 'the question was given up')
  }
})

t.test('a health check whose body does not end is given up', { timeout: 30_000 }, async (t) => {
  const engine = await startRawEngine(t, ({ socket }) => socket.write(head('200 OK', ['transfer-encoding', 'chunked'])))
  const port = await startAdmin(t, engine.origin)
  t.equal((await send(port, { method: 'GET', target: '/readyz' })).status, 200)
  t.type(await engine.requests[0]!.closed, 'number')
})
