// Whoever ends a websocket or its handshake, in whichever way: the other side ends too, nothing stays, and no part looks whole.

import { connect, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { open, readAll, sendBytes, sleep } from '../helpers/http.ts'
import { type Proxy, startProxy } from '../helpers/proxy.ts'
import { chunk, lastChunk, reply, type Script, startRawEngine, streamHead } from '../helpers/raw-engine.ts'
import { warmforkListening } from '../helpers/run-warmfork.ts'

// They mostly wait.
t.jobs = 8

const fastClock = `--import=${fileURLToPath(new URL('../helpers/fast-clock.ts', import.meta.url))}`

const handshake = (target = '/v1/realtime') => `GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`
const switching = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n'

/** A client that does not close its side because the other one did. */
async function openStubborn(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
  socket.on('error', () => {})
  await new Promise((resolve) => socket.once('connect', resolve))
  return socket
}

function firstBytes(client: Socket): Promise<string> {
  return new Promise((resolve) => {
    client.once('data', (part) => resolve(part.toString('latin1')))
    client.once('close', () => resolve(''))
  })
}

/** What arrives until the connection ends, and how it does. */
function ending(client: Socket): Promise<{ text: string, how: string }> {
  return new Promise((resolve) => {
    let text = ''
    client.on('data', (part) => (text += part.toString('latin1')))
    client.once('end', () => resolve({ text, how: 'end' }))
    client.once('error', (error: NodeJS.ErrnoException) => resolve({ text, how: error.code! }))
  })
}

/** Waits until warmfork holds no client any more, and nothing at the engine. */
async function nothingStays(t: Test, proxy: Proxy, withinMs: number, engineOpen: () => number = () => 0): Promise<void> {
  const end = performance.now() + withinMs
  while (performance.now() < end && proxy.server.connections() + engineOpen() > 0) await sleep(10)
  t.equal(proxy.server.connections(), 0, 'no client')
  t.equal(engineOpen(), 0, 'nothing at the engine')
}

t.test('a handshake that is turned away ends, whatever its client does', async (t) => {
  const engine = await startRawEngine(t)
  const proxy = await startProxy(t, engine.origin)
  const resetting = await open(proxy.port)
  const answer = firstBytes(resetting)
  resetting.write(handshake('/nope'))
  t.match(await answer, /^HTTP\/1\.1 404 /)
  resetting.resetAndDestroy()
  await nothingStays(t, proxy, 1_000)
  for (const target of ['/nope', '/v1/../sleep']) {
    const staying = await openStubborn(proxy.port)
    const answer = ending(staying)
    staying.write(handshake(target))
    t.match(await answer, { text: /^HTTP\/1\.1 404 [^]*route_not_allowed/, how: 'end' })
    await nothingStays(t, proxy, 3_000)
    staying.destroy()
  }
  const unread = await openStubborn(proxy.port)
  unread.pause()
  unread.write(handshake('/nope'))
  await sleep(50)
  const began = performance.now()
  await proxy.server.close(10_000)
  t.ok(performance.now() - began < 5_000, 'a shutdown does not wait for it')
  unread.destroy()
})

t.test('handshakes beyond the limit do not keep the places of those who wait to be told so', async (t) => {
  const engine = await startRawEngine(t)
  const proxy = await startProxy(t, engine.origin, { connections: 1 })
  const served = await open(proxy.port)
  served.write('GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n')
  await engine.next()
  const staying = await Promise.all(Array.from({ length: 64 }, () => openStubborn(proxy.port)))
  const answers = staying.map(ending)
  for (const client of staying) client.write(handshake())
  for (const answer of await Promise.all(answers)) t.match(answer, { text: /^HTTP\/1\.1 503 [^]*too_many_connections/, how: 'end' })
  staying[0]!.resetAndDestroy()
  await sleep(3_000)
  t.match(await sendBytes(proxy.port, handshake()), /^HTTP\/1\.1 503 /)
  for (const client of [...staying, served]) client.destroy()
})

t.test('a client that goes while the engine is being connected leaves nothing [case 14]', async (t) => {
  const answers: Record<string, Script> = {
    switches: ({ socket }) => socket.write(switching),
    refuses: ({ socket }) => socket.write(reply('403 Forbidden', [], 'no')),
    'says nothing': () => {},
  }
  for (const [name, script] of Object.entries(answers)) {
    await t.test(`an engine that ${name}`, async (t) => {
      const engine = await startRawEngine(t, script)
      const proxy = await startProxy(t, engine.origin)
      for (const behind of ['', 'GET /v1/models HTTP/1.1\r\nhost: x\r\nx-ordinary: 1\r\n\r\n']) {
        for (const how of ['end', 'destroy', 'resetAndDestroy'] as const) {
          for (const afterMs of [0, 1, 5]) {
            const client = await openStubborn(proxy.port)
            client.write(handshake() + behind)
            if (afterMs > 0) await sleep(afterMs)
            client[how]()
            t.teardown(() => void client.destroy())
          }
        }
      }
      await nothingStays(t, proxy, 2_000, engine.open)
    })
  }
})

t.test('a handshake that fails ends both sides, though neither of them closes', async (t) => {
  const gone = await startProxy(t, 'http://127.0.0.1:1')
  const unserved = await openStubborn(gone.port)
  const answer = ending(unserved)
  unserved.write(handshake())
  t.match(await answer, { text: /^HTTP\/1\.1 502 [^]*upstream_unreachable/, how: 'end' })
  await nothingStays(t, gone, 3_000)
  unserved.destroy()
  const refusals = [
    { bytes: reply('403 Forbidden', [], 'whole'), text: /\r\n\r\nwhole$/ },
    { bytes: `${reply('403 Forbidden', [], 'whole')}HTTP/1.1 200 OK\r\n\r\n`, text: /\r\n\r\nwhole$/ },
    { bytes: 'HTTP/1.1 204 No Content\r\n\r\n', text: /^HTTP\/1\.1 204 [^]*\r\n\r\n$/ },
    { bytes: 'SSH-2.0\r\n\r\n', text: /^HTTP\/1\.1 502 / },
  ]
  for (const { bytes, text } of refusals) {
    const engine = await startRawEngine(t, ({ socket }) => socket.write(bytes))
    const proxy = await startProxy(t, engine.origin)
    const client = await openStubborn(proxy.port)
    const answer = ending(client)
    const began = performance.now()
    client.write(handshake())
    t.match(await answer, { text, how: 'end' })
    t.ok(performance.now() - began < 1_000, 'as soon as it is complete')
    await nothingStays(t, proxy, 3_000, engine.open)
    client.destroy()
  }
})

t.test('a refusal whose rest is missing does not look whole [case 9]', async (t) => {
  const head = 'HTTP/1.1 403 Forbidden\r\n'
  const cases: { name: string, begun: string, end: 'resetAndDestroy' | 'end' | 'silence', how: string }[] = [
    { name: 'without length or chunks, then a reset', begun: `${head}\r\npart`, end: 'resetAndDestroy', how: 'ECONNRESET' },
    { name: 'without length or chunks, then silence', begun: `${head}\r\npart`, end: 'silence', how: 'ECONNRESET' },
    { name: 'without length or chunks, then its end', begun: `${head}\r\npart`, end: 'end', how: 'end' },
    { name: 'with a length, then a reset', begun: `${head}content-length: 9\r\n\r\npart`, end: 'resetAndDestroy', how: 'end' },
    { name: 'with a length, then silence', begun: `${head}content-length: 9\r\n\r\npart`, end: 'silence', how: 'end' },
    { name: 'with a length, then its end', begun: `${head}content-length: 9\r\n\r\npart`, end: 'end', how: 'end' },
    { name: 'in chunks, then a reset', begun: `${head}transfer-encoding: chunked\r\n\r\n4\r\npart\r\n`, end: 'resetAndDestroy', how: 'end' },
    { name: 'in chunks, then silence', begun: `${head}transfer-encoding: chunked\r\n\r\n4\r\npart\r\n`, end: 'silence', how: 'end' },
  ]
  for (const { name, begun, end, how } of cases) {
    t.test(name, async (t) => {
      const engine = await startRawEngine(t, async ({ socket }) => {
        socket.write(begun)
        await sleep(50)
        if (end !== 'silence') socket[end]()
      })
      const proxy = await startProxy(t, engine.origin)
      const client = await openStubborn(proxy.port)
      const answer = ending(client)
      client.write(handshake())
      t.match(await answer, { text: /^HTTP\/1\.1 403 [^]*part/, how })
      await nothingStays(t, proxy, 3_000, engine.open)
      client.destroy()
    })
  }
  t.test('without length or chunks, then the end of a shutdown’s grace', async (t) => {
    const engine = await startRawEngine(t, ({ socket }) => socket.write(`${head}\r\npart`))
    const proxy = await startProxy(t, engine.origin)
    const client = await open(proxy.port)
    const answer = ending(client)
    client.write(handshake())
    await engine.next()
    await sleep(50)
    await proxy.server.close(50)
    t.match(await answer, { text: /part$/, how: 'ECONNRESET' })
  })
  const size = 32 * 1024 * 1024
  const sendLarge: Script = ({ socket }) => {
    socket.write(`${head}\r\n`)
    socket.end(Buffer.alloc(size))
  }
  t.test('without length or chunks, and read slowly, it is whole', async (t) => {
    const engine = await startRawEngine(t, sendLarge)
    const proxy = await startProxy(t, engine.origin)
    const client = await openStubborn(proxy.port)
    client.on('data', () => {
      client.pause()
      setTimeout(() => client.resume(), 3)
    })
    const answer = ending(client)
    client.write(handshake())
    const { text, how } = await answer
    t.equal(how, 'end')
    t.equal(text.length - text.indexOf('\r\n\r\n') - 4, size)
    await nothingStays(t, proxy, 3_000, engine.open)
    client.destroy()
  })
  t.test('without length or chunks, and read too late', async (t) => {
    const engine = await startRawEngine(t, sendLarge)
    const proxy = await startProxy(t, engine.origin)
    const client = await openStubborn(proxy.port)
    client.pause()
    client.write(handshake())
    await nothingStays(t, proxy, 15_000, engine.open)
    const { text, how } = await ending(client.resume())
    t.ok(text.length < size)
    t.equal(how, 'ECONNRESET')
  })
})

t.test('an engine that says nothing to a handshake, or reads nothing of a websocket, holds no client for ever', { timeout: 30_000 }, async (t) => {
  const engine = await startRawEngine(t, ({ socket, target }) => {
    socket.pause()
    if (target === '/v1/realtime') socket.write(switching)
  })
  // A minute is 600 ms there.
  const warmfork = await warmforkListening(t, { args: ['--upstream', engine.origin], env: { NODE_OPTIONS: fastClock } })
  const port = Number(new URL(warmfork.url).port)
  const openConnections = async () => /^warmfork_client_connections (\d+)/m.exec(await (await fetch(`${warmfork.adminUrl}/metrics`)).text())?.[1]

  t.match(await sendBytes(port, handshake('/v1/silent')), /^HTTP\/1\.1 504 [^]*upstream_timeout/)
  const idle = await open(port)
  const switched = firstBytes(idle)
  idle.write(handshake())
  t.match(await switched, /^HTTP\/1\.1 101 /)

  const ways = ['end', 'destroy', 'resetAndDestroy', undefined] as const
  const clients: { client: Socket, how: (typeof ways)[number] }[] = []
  for (const target of ['/v1/silent', '/v1/realtime']) {
    for (const how of ways) {
      const client = await openStubborn(port)
      t.teardown(() => void client.destroy())
      client.write(handshake(target))
      client.write(Buffer.alloc(30_000_000))
      clients.push({ client, how })
    }
  }
  await sleep(100)
  for (const { client, how } of clients) if (how) client[how]()
  for (let i = 0; i < 500 && (await openConnections()) !== '1'; i++) await sleep(10)
  t.equal(await openConnections(), '1', 'only the one that is idle')
  t.equal(idle.destroyed, false)
  idle.destroy()
})

t.test('a websocket that is asked for behind a request that still runs is not made: replies stay in order', async (t) => {
  const engine = await startRawEngine(t, async ({ socket, header, target }) => {
    if (header('upgrade')) return void socket.write(`${switching}websocket`)
    if (target === '/v1/models') return void socket.write(reply('426 Upgrade Required', [], 'second'))
    socket.write(`${streamHead}${chunk('begun')}`)
    await sleep(200)
    socket.write(`${chunk('whole')}${lastChunk}`)
  })
  const proxy = await startProxy(t, engine.origin)
  const client = await open(proxy.port)
  const answer = readAll(client)
  client.write(`GET /v1/slow HTTP/1.1\r\nhost: x\r\n\r\n${handshake('/v1/models')}`)
  await sleep(500)
  client.destroy()
  t.match(await answer, /^HTTP\/1\.1 200 [^]*begun[^]*whole\r\n0\r\n\r\nHTTP\/1\.1 426 [^]*second$/)
  t.same(engine.requests.map(({ target }) => target), ['/v1/slow', '/v1/models'])

  const next = await open(proxy.port)
  const first = firstBytes(next)
  next.write('GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n')
  t.match(await first, /^HTTP\/1\.1 426 /)
  const second = firstBytes(next)
  next.write(handshake())
  t.match(await second, /^HTTP\/1\.1 101 /, 'behind one that is answered it is')
  next.destroy()
})
