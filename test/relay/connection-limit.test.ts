// limits.connections: whoever comes beyond it is told so, and whoever is served notices nothing.

import type { Socket } from 'node:net'
import t from 'tap'
import { open, readAll, send, sleep } from '../helpers/http.ts'
import { startProxy } from '../helpers/proxy.ts'
import { reply, startRawEngine, streamHead, chunk, lastChunk } from '../helpers/raw-engine.ts'

// They mostly wait.
t.jobs = 8

const ask = (body: string) => `POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`

/** An engine that streams until the request's connection ends, or answers `whole` at once. */
const startEngine = (t: Parameters<typeof startRawEngine>[0]) =>
  startRawEngine(t, ({ socket, body }) => socket.write(body.toString() === 'whole' ? reply('200 OK', [], body) : `${streamHead}${chunk('data: 1\n\n')}`))

async function stream(port: number): Promise<Socket> {
  const client = await open(port)
  const head = new Promise((resolve) => client.once('data', resolve))
  client.write(ask('stream'))
  await head
  return client
}

function firstBytes(client: Socket): Promise<string> {
  return new Promise((resolve) => {
    client.once('data', (part) => resolve(part.toString('latin1')))
    client.once('close', () => resolve(''))
  })
}

t.test('one connection more than the limit gets a 503 that can be read, whatever it sends', async (t) => {
  const engine = await startEngine(t)
  const proxy = await startProxy(t, engine.origin, { connections: 3 })
  const served = await Promise.all([1, 2, 3].map(() => stream(proxy.port)))
  const got = await send(proxy.port, { body: 'whole' })
  t.equal(got.status, 503)
  t.equal(got.header('x-warmfork-error'), 'too_many_connections')
  t.equal(got.header('connection'), 'close')
  t.match(JSON.parse(got.body.toString()), { error: { code: 'too_many_connections', type: 'server_error', param: null } })
  t.equal((await send(proxy.port, { method: 'GET', target: '/v1/models' })).status, 503)
  t.equal((await send(proxy.port, { method: 'GET', target: '/nothing' })).status, 503)
  // A client that reads only after its whole upload.
  const late = await open(proxy.port)
  late.pause()
  const body = 'x'.repeat(4 * 1024 * 1024)
  await new Promise<void>((resolve) => late.write(ask(body), () => resolve()))
  t.match(await readAll(late.resume()), /^HTTP\/1\.1 503 [^]*"code":"too_many_connections"/)
  t.equal(engine.requests.length, 3)
  for (const client of served) t.equal(client.destroyed, false)
  served[0]!.destroy()
  await engine.requests[0]!.closed
  await sleep(20)
  t.equal((await send(proxy.port, { body: 'whole' })).status, 200, 'with one less there is room')
})

t.test('a connection that came when there was no room is served if there is some when it asks', async (t) => {
  const engine = await startEngine(t)
  const proxy = await startProxy(t, engine.origin, { connections: 1 })
  const first = await stream(proxy.port)
  const second = await open(proxy.port)
  await sleep(50)
  first.destroy()
  await engine.requests[0]!.closed
  await sleep(20)
  const answer = firstBytes(second)
  second.write(ask('whole'))
  t.match(await answer, /^HTTP\/1\.1 200 /)
  t.equal((await send(proxy.port, { body: 'whole' })).status, 503, 'and takes the room')
})

t.test('idle connections make room, the one idle for longest first, unless it has just been used', async (t) => {
  const engine = await startEngine(t)
  const proxy = await startProxy(t, engine.origin, { connections: 3 })
  const clients: Socket[] = []
  for (let i = 0; i < 3; i++) {
    const client = await open(proxy.port)
    const answer = firstBytes(client)
    client.write(ask('whole'))
    t.match(await answer, /^HTTP\/1\.1 200 /)
    clients.push(client)
  }
  t.equal((await send(proxy.port, { body: 'whole' })).status, 503, 'each may be about to be used again')
  const answer = firstBytes(clients[0]!)
  clients[0]!.write(ask('whole'))
  t.match(await answer, /^HTTP\/1\.1 200 /)
  await sleep(1_100)
  const gone = new Promise((resolve) => clients[1]!.once('close', resolve))
  const running = await stream(proxy.port)
  await gone
  t.same(clients.map((client) => client.destroyed || client.readableEnded), [false, true, false])
  running.destroy()
})

t.test('connections beyond the limit that ask for nothing are closed, and hold up no end', async (t) => {
  const engine = await startEngine(t)
  const proxy = await startProxy(t, engine.origin, { connections: 1 })
  const served = await stream(proxy.port)
  const silent = await Promise.all(Array.from({ length: 100 }, async () => (await open(proxy.port)).resume()))
  const unclosed = () => silent.filter((client) => !client.destroyed)
  while (unclosed().length === silent.length) await sleep(10)
  await sleep(100)
  const still = unclosed()
  t.ok(still.length > 0, `${still.length} of 100 may still ask`)
  const closed = proxy.server.close(2_000)
  await Promise.all(still.map((client) => new Promise((resolve) => client.once('close', resolve))))
  engine.requests[0]!.socket.write(lastChunk)
  t.match(await readAll(served), /0\r\n\r\n$/)
  await closed
})

t.test('a websocket counts as long as it is open, and is refused beyond the limit', async (t) => {
  const engine = await startRawEngine(t, ({ socket, header, body }) => {
    socket.write(header('upgrade') ? 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n' : reply('200 OK', [], body))
  })
  const proxy = await startProxy(t, engine.origin, { connections: 1 })
  if (!('shouldUpgradeCallback' in proxy.server.app.server)) return t.pass('this Node makes no websockets here')
  const handshake = 'GET /v1/realtime HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n'
  const client = await open(proxy.port)
  const answer = firstBytes(client)
  client.write(handshake)
  t.match(await answer, /^HTTP\/1\.1 101 /)
  const other = await open(proxy.port)
  const refused = readAll(other)
  other.write(handshake)
  t.match(await refused, /^HTTP\/1\.1 503 [^]*"code":"too_many_connections"/)
  t.equal((await send(proxy.port, { body: 'whole' })).status, 503)
  client.destroy()
  await engine.requests[0]!.closed
  await sleep(20)
  t.equal((await send(proxy.port, { body: 'whole' })).status, 200)
})

t.test('without a limit connections are as many as files', async (t) => {
  const engine = await startEngine(t)
  const proxy = await startProxy(t, engine.origin)
  const clients = await Promise.all(Array.from({ length: 300 }, () => stream(proxy.port)))
  t.equal((await send(proxy.port, { body: 'whole' })).status, 200)
  for (const client of clients) client.destroy()
})
