// Websockets by the relay's rules: headers, aborts, deaths, closed routes, shutdown.

import { createHash } from 'node:crypto'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { open, readAll, sendBytes, sleep, without } from '../helpers/http.ts'
import { startProxy } from '../helpers/proxy.ts'
import { websocket } from '../peers/rows/websocket.ts'
import { testRows } from '../peers/tap.ts'

testRows(t, websocket)

interface Taken {
  /** The request head that the engine got. */
  readonly head: string
  readonly socket: Socket
  readonly closed: Promise<number>
}

/** An engine that answers each handshake as told and then is the test's own. */
async function startEngine(t: Test, answer: (head: string) => string): Promise<{ origin: string, next(): Promise<Taken>, connections(): number }> {
  const taken: Taken[] = []
  const waiting: ((one: Taken) => void)[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    let head = ''
    const onData = (bytes: Buffer) => {
      head += bytes.toString('latin1')
      const end = head.indexOf('\r\n\r\n')
      if (end < 0) return
      socket.off('data', onData)
      const closed = new Promise<number>((resolve) => socket.once('close', () => resolve(performance.now())))
      const one = { head: head.slice(0, end), socket, closed }
      const early = head.slice(end + 4)
      socket.write(answer(one.head))
      if (early) socket.unshift(Buffer.from(early, 'latin1'))
      const waiter = waiting.shift()
      if (waiter) waiter(one)
      else taken.push(one)
    }
    socket.on('data', onData)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    next: () => taken.length > 0 ? Promise.resolve(taken.shift()!) : new Promise((resolve) => waiting.push(resolve)),
    connections: () => sockets.size,
  }
}

function accepts(head: string): string {
  const key = /^sec-websocket-key: (.*)$/im.exec(head)?.[1] ?? ''
  const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
  return `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade, x-hop\r\nx-hop: 1\r\nX-Kept: yes\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`
}

const handshake = (target = '/v1/realtime?model=m%20x', more = '') =>
  `GET ${target} HTTP/1.1\r\nHost: proxy.test\r\nConnection: keep-alive, Upgrade, x-secret-hop\r\nUpgrade: websocket\r\nX-Secret-Hop: 1\r\nAuthorization: Bearer k\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nproxy-authorization: Basic eDp5\r\n${more}\r\n`

async function opened(t: Test, answer = accepts): Promise<{ client: Socket, engine: Taken, head: string }> {
  const engine = await startEngine(t, answer)
  const proxy = await startProxy(t, engine.origin)
  const client = await open(proxy.port)
  const first = new Promise<Buffer>((resolve) => client.once('data', resolve))
  client.write(handshake())
  return { client, engine: await engine.next(), head: (await first).toString('latin1') }
}

t.test('a websocket client of today talks through warmfork', async (t) => {
  const engine = await startEngine(t, accepts)
  const proxy = await startProxy(t, engine.origin)
  const socket = new WebSocket(`ws://127.0.0.1:${proxy.port}/v1/realtime`)
  const said = new Promise<unknown>((resolve) => socket.addEventListener('message', ({ data }) => resolve(data)))
  const shut = new Promise<number>((resolve) => socket.addEventListener('close', ({ code }) => resolve(code)))
  const { socket: server } = await engine.next()
  server.write(Buffer.concat([Buffer.from([0x81, 5]), Buffer.from('hello')]))
  t.equal(await said, 'hello')
  server.write(Buffer.from([0x88, 2, 0x03, 0xe8]))
  // The client answers the close frame, and then it is the server that ends the connection.
  server.once('data', () => server.end())
  t.equal(await shut, 1000)
})

t.test('the handshake passes by the rules of any request, both ways [case 26]', async (t) => {
  const { engine, head } = await opened(t)
  const [line, ...fields] = engine.head.split('\r\n')
  t.equal(line, 'GET /v1/realtime?model=m%20x HTTP/1.1')
  const raw = fields.flatMap((field) => field.split(/: (.*)/s).slice(0, 2))
  t.same(without(raw, ['host', 'connection', 'upgrade']), [
    'Authorization: Bearer k', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  ])
  t.match(head, /^HTTP\/1\.1 101 Switching Protocols\r\n/)
  t.match(head, /\r\nX-Kept: yes\r\n/)
  t.notMatch(head, /x-hop/i)
})

t.test('bytes go both ways as they come, also those sent too early', async (t) => {
  const engine = await startEngine(t, accepts)
  const proxy = await startProxy(t, engine.origin)
  const client = await open(proxy.port)
  const got = readAll(client)
  client.write(`${handshake()}early`)
  const { socket } = await engine.next()
  const large = Buffer.alloc(3_000_000, 'abcdefg')
  let received = ''
  socket.on('data', (chunk) => { received += chunk.toString('latin1') })
  client.write(large)
  socket.write(large)
  for (let i = 0; i < 300 && received.length < large.length + 5; i++) await sleep(10)
  t.ok(received === `early${large}`)
  socket.end()
  t.ok((await got).endsWith(large.toString()))
})

t.test('a refused handshake passes as it is, and no second request behind it', async (t) => {
  const engine = await startEngine(t, () => 'HTTP/1.1 403 Forbidden\r\ntransfer-encoding: chunked\r\nx-why: no\r\n\r\n4\r\nno!!\r\n0\r\n\r\n')
  const proxy = await startProxy(t, engine.origin)
  const client = await open(proxy.port)
  const answer = readAll(client)
  client.write(handshake())
  const { socket, closed } = await engine.next()
  let more = ''
  socket.on('data', (chunk) => { more += chunk.toString() })
  await sleep(30)
  client.write('POST /sleep HTTP/1.1\r\nhost: x\r\n\r\n')
  await sleep(30)
  socket.end()
  t.match(await answer, /^HTTP\/1\.1 403 Forbidden\r\nx-why: no\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n4\r\nno!!\r\n0\r\n\r\n$/)
  await closed
  t.equal(more, '')
})

t.test('closed routes are closed to websockets too', async (t) => {
  const engine = await startEngine(t, accepts)
  const proxy = await startProxy(t, engine.origin)
  for (const target of ['/sleep', '/v1/../sleep', '/v1/load_lora_adapter']) {
    t.match(await sendBytes(proxy.port, handshake(target)), /^HTTP\/1\.1 404 /)
  }
  t.equal(engine.connections(), 0)
})

t.test('an engine that is not there, or answers no HTTP, is a 502 of ours', async (t) => {
  const gone = await startProxy(t, 'http://127.0.0.1:1')
  t.match(await sendBytes(gone.port, handshake()), /^HTTP\/1\.1 502 .*upstream_unreachable/s)
  for (const answer of ['SSH-2.0\r\n\r\n', 'HTTP/1.1 \r\n\r\n']) {
    const engine = await startEngine(t, () => answer)
    const proxy = await startProxy(t, engine.origin)
    t.match(await sendBytes(proxy.port, handshake()), /^HTTP\/1\.1 502 .*upstream_reset/s)
  }
})

t.test('a websocket request with a body is a request like any other', async (t) => {
  const engine = await startEngine(t, () => 'HTTP/1.1 426 Upgrade Required\r\ncontent-length: 0\r\n\r\n')
  const proxy = await startProxy(t, engine.origin)
  const client = await open(proxy.port)
  const first = new Promise<Buffer>((resolve) => client.once('data', resolve))
  client.write(handshake('/v1/realtime', 'content-length: 2\r\n') + '{}')
  t.notMatch((await engine.next()).head, /upgrade: websocket/i)
  t.match((await first).toString(), /^HTTP\/1\.1 426 /)
  client.destroy()
})

t.test('shutdown lets a websocket run for its grace, and then cuts it', async (t) => {
  const engine = await startEngine(t, accepts)
  const proxy = await startProxy(t, engine.origin)
  const client = await open(proxy.port)
  client.write(handshake())
  const { socket } = await engine.next()
  await new Promise((resolve) => client.once('data', resolve))
  const closing = proxy.server.close(300)
  await sleep(50)
  const said = new Promise<Buffer>((resolve) => client.once('data', resolve))
  socket.write('still')
  t.equal((await said).toString(), 'still')
  const closed = new Promise((resolve) => client.once('close', () => resolve(true)))
  t.ok(await closed)
  await closing
})

t.test('whoever does not read a websocket stops the other side, both ways', { timeout: 30_000 }, async (t) => {
  const engine = await startEngine(t, accepts)
  const proxy = await startProxy(t, engine.origin)
  const client = await open(proxy.port)
  client.write(handshake())
  const { socket } = await engine.next()
  await new Promise((resolve) => client.once('data', resolve))
  const piece = Buffer.alloc(64 * 1024, 'x')
  const total = 64 * 1024 * 1024
  for (const [from, to] of [[socket, client], [client, socket]] as const) {
    to.pause()
    let taken = 0
    const sending = (async () => {
      while (taken < total) {
        if (!from.write(piece)) await new Promise((resolve) => from.once('drain', resolve))
        taken += piece.length
      }
    })()
    for (let before = -1; before !== taken; await sleep(200)) before = taken
    t.ok(taken < total / 2, `${taken} bytes were taken while nobody read`)
    let read = 0
    const all = new Promise<void>((resolve) => to.on('data', (part) => {
      read += part.length
      if (read === total) resolve()
    }))
    to.resume()
    await sending
    await all
    to.removeAllListeners('data')
  }
  client.destroy()
})
