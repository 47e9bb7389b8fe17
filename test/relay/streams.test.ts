import fc from 'fast-check'
import t from 'tap'
import { begin, collect, open, readAll, send, sleep } from '../helpers/http.ts'
import { startProxy } from '../helpers/proxy.ts'
import { chunk, head, lastChunk, startRawEngine, streamHead } from '../helpers/raw-engine.ts'

const events = [
  'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}',
  'data: {"choices":[{"index":0,"delta":{"content":"漢é👩‍👩‍👧"}}]}',
  'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
  'data: {"choices":[],"usage":{"prompt_tokens":3}}',
  'data: [DONE]',
]
const stream = Buffer.from(events.map((event) => `${event}\n\n`).join(''))

t.test('a stream that arrives byte by byte leaves as the same bytes [case 1]', async (t) => {
  const engine = await startRawEngine(t, async ({ socket }) => {
    socket.write(streamHead)
    for (const byte of stream) {
      socket.write(chunk(Buffer.of(byte)))
      await new Promise(setImmediate)
    }
    socket.write(lastChunk)
  })
  const proxy = await startProxy(t, engine.origin)
  const got = await send(proxy.port, { target: '/v1/chat/completions', body: '{}' })
  t.ok(got.body.equals(stream))
  t.equal(got.whole, true)
})

t.test('any split of a stream, cut inside characters too, leaves as the same bytes [case 2]', async (t) => {
  let cuts: number[] = []
  const engine = await startRawEngine(t, async ({ socket }) => {
    const wire = Buffer.concat([Buffer.from(streamHead), chunk(stream), Buffer.from(lastChunk)])
    let start = 0
    for (const cut of [...cuts, wire.length]) {
      socket.write(wire.subarray(start, Math.max(start, cut)))
      start = Math.max(start, cut)
      await new Promise(setImmediate)
    }
  })
  const proxy = await startProxy(t, engine.origin)
  const cutting = fc.array(fc.nat(streamHead.length + stream.length), { minLength: 1, maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(cutting, async (drawn) => {
      cuts = drawn.sort((a, b) => a - b)
      const got = await send(proxy.port)
      t.ok(got.whole && got.body.equals(stream))
    }),
    { numRuns: 40 },
  )
})

t.test('all forms of server-sent events pass untouched [cases 3, 4, 5]', async (t) => {
  const forms: [string, string][] = [
    ['CRLF', 'data: {"a":1}\r\n\r\ndata: [DONE]\r\n\r\n'],
    ['CR', 'data: {"a":1}\r\rdata: [DONE]\r\r'],
    ['no space', 'data:{"a":1}\n\ndata:[DONE]\n\n'],
    ['byte order mark', '\ufeffdata: {"a":1}\n\ndata: [DONE]\n\n'],
    ['comments and fields', ': ping\n\nevent: x\nid: 1\nretry: 5\ndata:\n\ndata: {"a":1}\n\ndata: [DONE]\n\n: bye\n\n'],
    ['no [DONE]', 'data: {"choices":[{"finish_reason":"stop"}]}\n\n'],
    ['end inside an event', 'data: {"choices":[{"delta":{"tool_calls":[{"index"'],
    ['not UTF-8', Buffer.from([0x64, 0x61, 0xff, 0xfe, 0x00, 0x0a]).toString('latin1')],
  ]
  let body: Buffer = Buffer.alloc(0)
  const engine = await startRawEngine(t, ({ socket }) => {
    socket.write(streamHead)
    for (let i = 0; i < body.length; i += 7) socket.write(chunk(body.subarray(i, i + 7)))
    socket.write(lastChunk)
  })
  const proxy = await startProxy(t, engine.origin)
  for (const [name, text] of forms) {
    body = Buffer.from(text, name === 'not UTF-8' ? 'latin1' : 'utf8')
    const got = await send(proxy.port, { target: '/v1/chat/completions', body: '{}' })
    t.ok(got.body.equals(body), name)
    t.equal(got.header('x-accel-buffering'), 'no')
  }
})

t.test('the head arrives at once while the engine prefills in silence [case 8]', async (t) => {
  const engine = await startRawEngine(t)
  const proxy = await startProxy(t, engine.origin)
  const waits: number[] = []
  for (let i = 0; i < 5; i++) {
    const begun = begin(proxy.port, { target: '/v1/chat/completions', body: '{}' })
    const request = await engine.next()
    const sent = performance.now()
    request.socket.write(streamHead)
    const { response } = await begun
    waits.push(performance.now() - sent)
    t.equal(response.headers['content-type'], 'text/event-stream; charset=utf-8')
    request.socket.write(lastChunk)
    await collect(response)
  }
  const best = Math.min(...waits)
  t.ok(best < 50, `the fastest of five heads took ${best.toFixed(1)} ms`)
})

t.test('chunks are neither held back nor merged while the engine is paced [case 7]', async (t) => {
  const engine = await startRawEngine(t)
  const proxy = await startProxy(t, engine.origin)
  const begun = begin(proxy.port)
  const request = await engine.next()
  request.socket.write(streamHead)
  const { response } = await begun
  for (let i = 0; i < 20; i++) {
    const arrived = new Promise<Buffer>((resolve) => response.once('data', resolve))
    request.socket.write(chunk(`data: ${i}\n\n`))
    // The next chunk is written only after this one came through: a proxy that waits for more would hang here.
    t.equal((await arrived).toString(), `data: ${i}\n\n`)
  }
  request.socket.write(lastChunk)
})

t.test('fifty streams at a time keep their own bytes [case 20]', async (t) => {
  const engine = await startRawEngine(t, async ({ socket, body }) => {
    socket.write(streamHead)
    for (let i = 0; i < 40; i++) {
      socket.write(chunk(`data: ${body} ${i}\n\n`))
      await sleep(Number(body) % 5)
    }
    socket.write(lastChunk)
  })
  const proxy = await startProxy(t, engine.origin)
  const streams = Array.from({ length: 50 }, async (_, stream) => {
    const got = await send(proxy.port, { target: '/v1/chat/completions', body: String(stream) })
    const expected = Array.from({ length: 40 }, (_, i) => `data: ${stream} ${i}\n\n`).join('')
    return got.whole && got.body.toString() === expected
  })
  t.same(await Promise.all(streams), Array(50).fill(true))
})

t.test('a slow reader holds the engine back instead of filling memory', async (t) => {
  const total = 64 * 1024 * 1024
  const piece = Buffer.alloc(64 * 1024, 'x')
  let written = 0
  const engine = await startRawEngine(t, async ({ socket }) => {
    socket.write(head('200 OK', ['content-length', String(total)]))
    while (written < total) {
      written += piece.length
      if (!socket.write(piece)) await new Promise((resolve) => socket.once('drain', resolve))
    }
  })
  const proxy = await startProxy(t, engine.origin)
  const { response } = await begin(proxy.port)
  response.pause()
  await sleep(500)
  const before = written
  t.ok(before < total / 2, `${before} bytes were taken from the engine while the client read none`)
  const collected = collect(response)
  response.resume()
  const got = await collected
  t.equal(got.body.length, total)
  t.equal(got.whole, true)
})

t.test('an HTTP/1.0 client gets the body until the connection ends', async (t) => {
  const engine = await startRawEngine(t, ({ socket }) => socket.write(streamHead + chunk('data: 1\n\n').toString() + lastChunk))
  const proxy = await startProxy(t, engine.origin)
  const client = await open(proxy.port)
  client.write('GET /v1/x HTTP/1.0\r\n\r\n')
  const answer = await readAll(client)
  t.match(answer, /\r\n\r\ndata: 1\n\n$/)
  t.notMatch(answer, /transfer-encoding/i)
})
