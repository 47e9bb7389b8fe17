import t from 'tap'
import { createUpstream } from '../../src/relay/upstream.ts'
import { send, sleep } from '../helpers/http.ts'
import { startProxy } from '../helpers/proxy.ts'
import { head, reply, startRawEngine } from '../helpers/raw-engine.ts'

// They mostly wait.
t.jobs = 8

t.test('a reused socket that is reset at once gets the request again, once, on a fresh one', async (t) => {
  const engine = await startRawEngine(t, ({ socket, nthOnSocket }) => {
    if (nthOnSocket === 1) socket.write(reply('200 OK', []))
    else socket.resetAndDestroy()
  })
  const proxy = await startProxy(t, engine.origin)
  t.equal((await send(proxy.port, { body: 'one' })).status, 200)
  await sleep(20)
  t.equal((await send(proxy.port, { body: 'two' })).status, 200)
  t.same(engine.requests.map(({ body, nthOnSocket }) => `${body} ${nthOnSocket}`), ['one 1', 'two 2', 'two 1'])
})

t.test('two stale sockets do not make two tries: the second try gets a socket of its own', async (t) => {
  let stale = false
  const engine = await startRawEngine(t, async ({ socket, nthOnSocket }) => {
    if (nthOnSocket > 1) return void socket.resetAndDestroy()
    if (!stale) await sleep(50)
    socket.write(reply('200 OK', []))
  })
  const proxy = await startProxy(t, engine.origin)
  await Promise.all([1, 2, 3].map(() => send(proxy.port, { body: 'warm up' })))
  t.equal(engine.connections(), 3)
  stale = true
  await sleep(20)
  t.equal((await send(proxy.port, { body: 'then' })).status, 200)
  t.equal(engine.requests.filter(({ body }) => body.toString() === 'then').length, 2)
})

t.test('a reused socket that fails after a response byte is not tried again [case 15]', async (t) => {
  for (const bytes of ['H', 'HTTP/1.1 200 OK\r\nx-part', head('200 OK', ['content-length', '5'])]) {
    const engine = await startRawEngine(t, ({ socket, nthOnSocket }) => {
      if (nthOnSocket === 1) socket.write(reply('200 OK', []))
      else socket.end(bytes)
    })
    const proxy = await startProxy(t, engine.origin)
    await send(proxy.port, { body: 'one' })
    await sleep(20)
    const got = await send(proxy.port, { body: 'two' })
    t.equal(engine.requests.length, 2, JSON.stringify(bytes))
    t.ok(got.status === 502 || !got.whole)
  }
})

t.test('whoever does not want a second try gets none', async (t) => {
  const engine = await startRawEngine(t, ({ socket, nthOnSocket }) => {
    if (nthOnSocket === 1) socket.write(reply('200 OK', []))
    else socket.destroy()
  })
  const upstream = createUpstream({ origin: engine.origin, connectTimeoutMs: 1_000 })
  t.teardown(() => upstream.close())
  const ask = () =>
    new Promise<string>((resolve) => {
      const outgoing = { method: 'POST', target: '/v1/x', headers: [], body: Buffer.from('x') }
      const handler = { head() {}, data() {}, end: () => resolve('end'), fault: (fault: string) => resolve(fault) }
      upstream.exchange(outgoing, handler, { retryReused: false })
    })
  t.equal(await ask(), 'end')
  await sleep(20)
  t.equal(await ask(), 'reset_before_head')
  t.equal(engine.requests.length, 2)
})

t.test('a client’s idle connection outlives usual client pools [case 16]', async (t) => {
  const engine = await startRawEngine(t, ({ socket }) => socket.write(reply('200 OK', [])))
  const proxy = await startProxy(t, engine.origin)
  const { server } = proxy.server.app
  t.ok(server.keepAliveTimeout >= 75_000)
  t.ok(server.headersTimeout > server.keepAliveTimeout)
  t.equal(server.requestTimeout, 0)

  const first = await send(proxy.port, { headers: ['connection', 'keep-alive'] })
  t.match(first.header('keep-alive'), /timeout=75/)
})
