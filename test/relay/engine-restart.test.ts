// The engine goes and comes back under load: running replies look dead, later ones work, warmfork stays up.

import { createServer, type Socket } from 'node:net'
import t from 'tap'
import { begin, collect, open, readAll, send, sleep } from '../helpers/http.ts'
import { startProxy } from '../helpers/proxy.ts'
import { chunk, reply, startRawEngine, streamHead } from '../helpers/raw-engine.ts'

/** An engine on a given port that streams until it is killed. */
async function startOn(port: number): Promise<{ port: number, kill(): Promise<void> }> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      if (bytes.includes('"whole"')) return void socket.write(reply('200 OK', [], 'whole'))
      socket.write(streamHead)
      const pace = setInterval(() => socket.write(chunk('data: {}\n\n')), 5)
      socket.once('close', () => clearInterval(pace))
    })
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve))
  return {
    port: (server.address() as { port: number }).port,
    async kill() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of sockets) socket.resetAndDestroy()
      await closed
    },
  }
}

t.test('an engine that restarts while 50 streams run: each of them looks dead, and later requests work', async (t) => {
  let engine = await startOn(0)
  t.teardown(() => engine.kill())
  const proxy = await startProxy(t, `http://127.0.0.1:${engine.port}`)
  for (let restart = 0; restart < 3; restart++) {
    const streams = await Promise.all(Array.from({ length: 50 }, async () => {
      const { response } = await begin(proxy.port, { target: '/v1/chat/completions', body: '{"stream":true}' })
      const collected = collect(response)
      await new Promise((resolve) => response.once('data', resolve))
      // Not the reply itself: awaiting it would wait for its end.
      return { collected }
    }))
    const ends = Promise.all(streams.map(({ collected }) => collected))
    await engine.kill()
    const got = await ends
    t.equal(got.filter(({ whole }) => whole).length, 0, 'no stream has an end')
    t.equal(got.filter(({ body }) => body.includes('data: {}')).length, 50, 'each has what came')
    t.equal((await send(proxy.port, { body: '"whole"' })).status, 502, 'while the engine is away')
    engine = await startOn(engine.port)
    const after = await Promise.all(Array.from({ length: 50 }, () => send(proxy.port, { body: '"whole"' })))
    t.equal(after.filter(({ status, body }) => status === 200 && body.toString() === 'whole').length, 50, 'when it is back')
  }
})

t.test('an engine that falls silent in a reply keeps the client waiting, and is let go with it', async (t) => {
  const engine = await startRawEngine(t, ({ socket }) => socket.write(`${streamHead}${chunk('data: 1\n\n')}`))
  const proxy = await startProxy(t, engine.origin)
  const { request: client, response } = await begin(proxy.port, { target: '/v1/chat/completions', body: '{}' })
  let ended = false
  const collected = collect(response)
  void collected.then(() => { ended = true })
  const request = await engine.next()
  await new Promise((resolve) => response.once('data', resolve))
  await sleep(300)
  t.equal(ended, false, 'no end is made up')
  t.equal((await send(proxy.port, { method: 'GET', target: '/nothing' })).status, 404, 'others are served meanwhile')
  client.destroy()
  t.type(await request.closed, 'number')
  t.equal((await collected).whole, false)
})

t.test('an engine that half closes after its last event ends the reply, one that half closes inside it does not', async (t) => {
  for (const [last, whole] of [['0\r\n\r\n', true], ['', false]] as const) {
    const engine = await startRawEngine(t, ({ socket }) => socket.end(`${streamHead}${chunk('data: 1\n\n')}${last}`))
    const proxy = await startProxy(t, engine.origin)
    const got = await send(proxy.port)
    t.equal(got.body.toString(), 'data: 1\n\n')
    t.equal(got.whole, whole)
  }
})

t.test('an engine that reads no more does not hold others up, and is let go with its client', async (t) => {
  const taken: Socket[] = []
  const server = createServer((socket) => {
    socket.on('error', () => {})
    taken.push(socket.pause())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(async () => {
    for (const socket of taken) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  const proxy = await startProxy(t, `http://127.0.0.1:${(server.address() as { port: number }).port}`)
  const body = Buffer.alloc(32 * 1024 * 1024, 'x')
  const client = await open(proxy.port)
  client.write(`POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n`)
  client.write(body)
  while (taken.length === 0) await sleep(10)
  t.equal((await send(proxy.port, { method: 'GET', target: '/nothing' })).status, 404)
  const closed = new Promise((resolve) => taken[0]!.once('close', resolve))
  client.destroy()
  taken[0]!.resume()
  t.ok(await closed.then(() => true))
})

t.test('an engine that closes idle connections at any moment loses none of 1000 requests [case 15]', { timeout: 60_000 }, async (t) => {
  const engine = await startRawEngine(t, ({ socket, body }) => {
    socket.write(reply('200 OK', [], body))
    const idle = setTimeout(() => socket.destroy(), 10)
    socket.once('data', () => clearTimeout(idle))
  })
  const proxy = await startProxy(t, engine.origin)
  const lost: string[] = []
  await Promise.all(Array.from({ length: 20 }, async (_, agent) => {
    const client = await open(proxy.port)
    for (let i = 0; i < 50; i++) {
      const body = `${agent}.${i}`
      const answer = new Promise<string>((resolve) => client.once('data', (part) => resolve(part.toString())).once('close', () => resolve('')))
      client.write(`POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
      const text = await answer
      if (!text.startsWith('HTTP/1.1 200 ') || !text.endsWith(`\r\n\r\n${body}`)) lost.push(`${body}: ${text.slice(0, 30)}`)
      await sleep(8 + (i % 5))
    }
    client.destroy()
  }))
  t.same(lost, [])
  t.equal(new Set(engine.requests.map(({ body }) => body.toString())).size, 1000)
  t.ok(engine.connections() > 20, `${engine.connections()} connections`)
})

t.test('a connection that ends in the engine’s answer to nothing is no reply', async (t) => {
  const engine = await startRawEngine(t, ({ socket }) => socket.destroy())
  const proxy = await startProxy(t, engine.origin)
  const client = await open(proxy.port)
  const answer = readAll(client)
  client.write('POST /v1/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}')
  t.match(await answer, /^HTTP\/1\.1 502 /)
  t.equal(engine.requests.length, 1)
})
