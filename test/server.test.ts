import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { ClientRequest } from '../src/relay/types.ts'
import { begin, collect, open, readAll, send, sendBytes } from './helpers/http.ts'
import { startProxy } from './helpers/proxy.ts'
import { chunk, lastChunk, reply, startRawEngine, streamHead } from './helpers/raw-engine.ts'

t.test('only a POST to the chat endpoint goes to the handler of conversations, with its body whole', async (t) => {
  const engine = await startRawEngine(t, ({ socket }) => socket.write(reply('200 OK', [])))
  const seen: ClientRequest[] = []
  const proxy = await startProxy(t, engine.origin, {
    conversation: async (request, relay) => {
      seen.push(request)
      await relay.pass(request)
    },
  })
  const chats = ['/v1/chat/completions', '/v1/chat/completions?x=1', '/v1/%63hat/completions']
  for (const target of chats) await send(proxy.port, { target, headers: ['X-Thing', 'a', 'x-thing', 'b'], body: '{"a":1}' })
  const others = [
    ['GET', '/v1/chat/completions'], ['OPTIONS', '/v1/chat/completions'], ['POST', '/v1/chat/completions/'],
    ['POST', '/v1/chat/completions/render'], ['POST', '/v1//chat/completions'], ['POST', '/v1/completions'], ['POST', '/tokenize'],
  ]
  for (const [method, target] of others) t.equal((await send(proxy.port, { method: method!, target: target! })).status, 200)
  t.same(seen.map(({ target }) => target), chats)
  const [first] = seen
  t.match(first, { method: 'POST', path: '/v1/chat/completions', headers: { 'x-thing': 'a, b' } })
  t.equal(first!.body.toString(), '{"a":1}')
  t.equal(first!.rawHeaders.filter((name) => name.toLowerCase() === 'x-thing').join(), 'X-Thing,x-thing')
  t.ok(performance.now() - first!.receivedAt >= 0)
  t.equal(engine.requests.length, chats.length + others.length)
})

t.test('a handler that throws before a byte was sent costs the client nothing', async (t) => {
  const engine = await startRawEngine(t, ({ socket }) => socket.write(reply('200 OK', [], 'the answer')))
  const faults = [
    () => JSON.parse('secret prompt'),
    () => {
      throw { not: 'an error', of: 'secret prompt' }
    },
    () => undefined,
  ]
  for (const fault of faults) {
    const proxy = await startProxy(t, engine.origin, { conversation: async () => fault() })
    const got = await send(proxy.port, { target: '/v1/chat/completions', headers: ['authorization', 'Bearer secret'], body: 'secret prompt' })
    t.equal(got.body.toString(), 'the answer')
    t.equal(engine.requests.pop()!.body.toString(), 'secret prompt')
    t.equal(proxy.logged.length, 1, 'one line')
    t.match(proxy.logged[0], '"level":40')
    t.notMatch(proxy.logged.join(), 'secret')
  }
})

t.test('a handler that throws while its pass is under way makes no second one', async (t) => {
  const engine = await startRawEngine(t, async ({ socket }) => {
    await sleep(50)
    socket.write(reply('200 OK', [], 'the answer'))
  })
  const proxy = await startProxy(t, engine.origin, {
    conversation: async (request, relay) => {
      void relay.pass(request)
      throw new Error('late')
    },
  })
  const got = await send(proxy.port, { target: '/v1/chat/completions', body: '{}' })
  t.equal(got.body.toString(), 'the answer')
  t.equal(engine.requests.length, 1)
})

t.test('a handler that throws in the middle of its own reply leaves it cut, not ended', async (t) => {
  const engine = await startRawEngine(t)
  const proxy = await startProxy(t, engine.origin, {
    conversation: async ({ response }) => {
      response.writeHead(200).write('half')
      await sleep(20)
      throw new Error('late')
    },
  })
  const got = await send(proxy.port, { target: '/v1/chat/completions', body: '{}' })
  t.equal(got.whole, false)
  t.equal(engine.requests.length, 0)
})

t.test('an observer that throws is dropped, hears the end, and is logged once', async (t) => {
  const engine = await startRawEngine(t, ({ socket }) => socket.write(streamHead + chunk('a').toString() + chunk('b').toString() + lastChunk))
  const calls: string[] = []
  const proxy = await startProxy(t, engine.origin, {
    conversation: async (request, relay) => {
      const observer = {
        head: () => void calls.push('head'),
        data: () => {
          calls.push('data')
          throw new Error('secret')
        },
        end: (how: string) => {
          calls.push(how)
          throw new Error('secret')
        },
      }
      await relay.pass(request, { observer, replyHeaders: ['x-warmfork-receipt', 'r1'] })
    },
  })
  const got = await send(proxy.port, { target: '/v1/chat/completions', body: '{}' })
  t.equal(got.body.toString(), 'ab')
  t.equal(got.header('x-warmfork-receipt'), 'r1')
  t.same(calls, ['head', 'data', 'complete'])
  t.equal(proxy.logged.length, 1)
  t.notMatch(proxy.logged[0], 'secret')
})

t.test('headers for every reply are on every reply, errors of ours included', async (t) => {
  const engine = await startRawEngine(t, ({ socket, target }) =>
    target === '/v1/dead' ? socket.destroy() : socket.write(reply('200 OK', [])),
  )
  const proxy = await startProxy(t, engine.origin, { replyHeaders: ['x-warmfork-simulator', 'true'], bodyBytes: 10 })
  const sendings = [{ target: '/v1/x' }, { target: '/v1/chat/completions' }, { target: '/sleep' }, { target: '/v1/dead' }, { body: 'x'.repeat(11) }]
  const statuses: number[] = []
  for (const sending of sendings) {
    const got = await send(proxy.port, sending)
    statuses.push(got.status)
    t.equal(got.header('x-warmfork-simulator'), 'true')
  }
  t.same(statuses, [200, 200, 404, 502, 413])
  t.match(await sendBytes(proxy.port, 'nonsense\r\n\r\n'), /^HTTP\/1\.1 400 [^]*x-warmfork-simulator: true/)
})

t.test('ordinary replies carry no header of ours, and no request makes a log line', async (t) => {
  const engine = await startRawEngine(t, ({ socket }) => socket.write(reply('200 OK', ['x', 'y'])))
  const proxy = await startProxy(t, engine.origin)
  const got = await send(proxy.port, { target: '/v1/chat/completions', body: '{}' })
  t.same(got.rawHeaders.filter((name) => /warmfork|x-/i.test(name)), [])
  t.same(proxy.logged, [])
})

t.test('one connection carries many requests, pipelined ones too', async (t) => {
  const engine = await startRawEngine(t, async ({ socket, body }) => {
    if (body.toString() === 'first') await sleep(30)
    socket.write(reply('200 OK', [], `reply to ${body}`))
  })
  const proxy = await startProxy(t, engine.origin)
  const post = (body: string, more = '') => `POST /v1/x HTTP/1.1\r\nhost: x\r\n${more}content-length: ${body.length}\r\n\r\n${body}`
  const answer = await sendBytes(proxy.port, post('first') + post('second', 'connection: close\r\n'))
  t.match(answer, /reply to first[^]*reply to second/)

  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  for (let i = 0; i < 30; i++) t.equal((await send(proxy.port, { agent, body: `${i}` })).body.toString(), `reply to ${i}`)
})

t.test('closing stops listening, lets a running reply finish and closes idle connections at once', async (t) => {
  const engine = await startRawEngine(t, ({ socket, target }) => {
    if (target !== '/v1/stream') socket.write(reply('200 OK', []))
  })
  const proxy = await startProxy(t, engine.origin)
  const idle = await open(proxy.port)
  const used = await open(proxy.port)
  used.write('GET /health HTTP/1.1\r\nhost: x\r\n\r\n')
  await engine.next()
  await new Promise((resolve) => used.once('data', resolve))
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  const begun = begin(proxy.port, { target: '/v1/stream', agent })
  const request = await engine.next()
  request.socket.write(streamHead)
  const collected = collect((await begun).response)
  const waiting = open(proxy.port).then((client) => {
    client.write('POST /v1/stream HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n')
    return readAll(client)
  })
  const second = await engine.next()

  let closed = false
  const closing = proxy.server.close(60_000).then(() => (closed = true))
  await Promise.all([idle, used].map(readAll))
  await t.rejects(open(proxy.port), { code: 'ECONNREFUSED' })
  t.equal(closed, false)
  request.socket.write(chunk('data: rest\n\n') + lastChunk)
  const got = await collected
  t.equal(got.whole, true)
  t.equal(got.body.toString(), 'data: rest\n\n')
  second.socket.write(reply('200 OK', [], 'late'))
  t.match(await waiting, /\r\nconnection: close\r\n[^]*late$/i)
  await closing
})

t.test('closing does not cut a reply whose end waits for a slow client', async (t) => {
  const body = Buffer.alloc(32 * 1024 * 1024, 'x')
  const engine = await startRawEngine(t)
  const proxy = await startProxy(t, engine.origin, {
    // The whole reply is handed over at once: for Node it is over, although the client has none of it.
    conversation: async ({ response }) => void response.writeHead(200, ['content-length', String(body.length)]).end(body),
  })
  const { response } = await begin(proxy.port, { target: '/v1/chat/completions', body: '{}' })
  response.pause()
  const closing = proxy.server.close(60_000)
  await sleep(100)
  const collected = collect(response)
  response.resume()
  const got = await collected
  t.equal(got.body.length, body.length)
  t.equal(got.whole, true)
  await closing
})

t.test('what still runs when the grace is over is cut, at the engine too', async (t) => {
  const engine = await startRawEngine(t, ({ socket }) => socket.write(streamHead))
  const proxy = await startProxy(t, engine.origin)
  const { response } = await begin(proxy.port)
  const collected = collect(response)
  const request = await engine.next()
  await proxy.server.close(50)
  t.equal((await collected).whole, false)
  t.type(await request.closed, 'number')
})
