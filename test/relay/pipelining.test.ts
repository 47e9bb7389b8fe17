// Requests one behind the other on one connection: one at a time, and none pays for what comes behind it.

import { once } from 'node:events'
import t from 'tap'
import { open, readAll, send, sleep } from '../helpers/http.ts'
import { startProxy } from '../helpers/proxy.ts'
import { chunk, lastChunk, reply, startRawEngine, streamHead } from '../helpers/raw-engine.ts'

t.jobs = 8

const post = (body: string, headers = '') => `POST /v1/completions HTTP/1.1\r\nhost: x\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`

t.test('a request goes to the engine when the one before it is answered', async (t) => {
  const order: string[] = []
  const engine = await startRawEngine(t, async ({ socket, body }) => {
    order.push(`begin ${body}`)
    await sleep(30)
    order.push(`end ${body}`)
    socket.write(reply('200 OK', [], `reply to ${body}`))
  })
  const proxy = await startProxy(t, engine.origin)
  const client = await open(proxy.port)
  client.write(['1', '2', '3'].map((body) => post(body)).join('') + post('4', 'connection: close\r\n'))
  const answer = await readAll(client)
  t.match(answer, /reply to 1[^]*reply to 2[^]*reply to 3[^]*reply to 4/)
  t.strictSame(order, ['1', '2', '3', '4'].flatMap((body) => [`begin ${body}`, `end ${body}`]))
})

t.test('one connection asks the engine for one thing at a time, however much it sends', async (t) => {
  const engine = await startRawEngine(t, ({ socket, target }) => {
    if (target === '/v1/quick') socket.write(reply('200 OK', []))
  })
  const proxy = await startProxy(t, engine.origin)
  const greedy = await open(proxy.port)
  greedy.write(post('x').repeat(50))
  await engine.next()
  await sleep(50)
  t.equal(engine.requests.length, 1)
  t.equal((await send(proxy.port, { target: '/v1/quick' })).status, 200)
  greedy.destroy()
  await engine.requests[0]!.closed
  await sleep(50)
  t.equal(engine.requests.length, 2, 'what waited is not sent for a client that has gone')
})

t.test('a connection on which too many requests wait is closed', async (t) => {
  const engine = await startRawEngine(t, () => {})
  const proxy = await startProxy(t, engine.origin)
  const greedy = await open(proxy.port)
  const closed = new Promise((resolve) => greedy.once('close', resolve))
  greedy.on('error', () => {})
  greedy.write('GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(2_000))
  await closed
  t.ok(engine.requests.length <= 1)
})

const unreadable = {
  'no HTTP': 'GARBAGE\r\n\r\n', 'a zero byte': '\0', 'a head beyond the limit': `GET / HTTP/1.1\r\nx: ${'a'.repeat(80_000)}\r\n\r\n`,
  'a body that can be read in two ways': 'POST /v1/a HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n',
}

for (const [what, bytes] of Object.entries(unreadable)) {
  for (const head of ['not begun', 'begun']) {
    t.test(`${what} behind a request whose reply has ${head} is refused behind that reply`, async (t) => {
      const engine = await startRawEngine(t)
      const proxy = await startProxy(t, engine.origin)
      const client = await open(proxy.port)
      client.write(post('first'))
      const { socket } = await engine.next()
      const answer = readAll(client)
      if (head === 'begun') {
        socket.write(streamHead)
        await once(client, 'data')
      }
      client.write(Buffer.from(bytes, 'latin1'))
      await sleep(50)
      client.write('more of it')
      await sleep(20)
      socket.write(`${head === 'begun' ? '' : streamHead}${chunk('data: the reply\n\n')}${lastChunk}`)
      t.match(await answer, /^HTTP\/1\.1 200 OK[^]*data: the reply[^]*HTTP\/1\.1 4(00|31) [^]*"code":"(malformed_request|headers_too_large)"[^]*$/)
    })
  }
}

t.test('a client that leaves behind unreadable bytes takes its running request with it', async (t) => {
  const engine = await startRawEngine(t)
  const proxy = await startProxy(t, engine.origin)
  const client = await open(proxy.port)
  client.write(post('first'))
  const { closed } = await engine.next()
  client.write('GARBAGE\r\n\r\n')
  await sleep(30)
  client.end()
  await closed
  t.pass('the engine is told')
})
