import t from 'tap'
import { open, readAll, send, sendBytes, sleep } from '../helpers/http.ts'
import { startProxy } from '../helpers/proxy.ts'
import { reply, startRawEngine } from '../helpers/raw-engine.ts'

t.test('a body of exactly the limit passes, one byte more is a 413 that can be read', async (t) => {
  const engine = await startRawEngine(t, ({ socket }) => socket.write(reply('200 OK', [])))
  const proxy = await startProxy(t, engine.origin, { bodyBytes: 1_000 })
  t.equal((await send(proxy.port, { body: Buffer.alloc(1_000) })).status, 200)
  const got = await send(proxy.port, { body: Buffer.alloc(1_001) })
  t.equal(got.status, 413)
  t.equal(got.header('x-warmfork-error'), 'body_too_large')
  t.match(JSON.parse(got.body.toString()), { error: { code: 'body_too_large', param: null } })
  t.equal(engine.requests.length, 1)
})

t.test('a client that reads only after its whole upload still gets the 413', async (t) => {
  const engine = await startRawEngine(t)
  const proxy = await startProxy(t, engine.origin, { bodyBytes: 1_000 })
  const body = Buffer.alloc(8 * 1024 * 1024, 'x')
  const declared = `POST /v1/x HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n`
  const chunked = `POST /v1/x HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n`
  for (const [head, end] of [[declared, ''], [chunked, '\r\n0\r\n\r\n']] as const) {
    const client = await open(proxy.port)
    client.pause()
    await new Promise<void>((resolve) => client.write(Buffer.concat([Buffer.from(head), body, Buffer.from(end)]), () => resolve()))
    const answer = await readAll(client.resume())
    t.match(answer, /^HTTP\/1\.1 413 Payload Too Large\r\n/)
    t.match(answer, /"code":"body_too_large"/)
    t.match(answer, /\r\nconnection: close\r\n/i)
  }
  t.equal(engine.connections(), 0)
})

t.test('a declared length over the limit is refused before a byte is sent', async (t) => {
  const engine = await startRawEngine(t)
  const proxy = await startProxy(t, engine.origin, { bodyBytes: 1_000 })
  const client = await open(proxy.port)
  const answer = new Promise<string>((resolve) => client.once('data', (part) => resolve(part.toString())))
  client.write('POST /v1/x HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999\r\n\r\n')
  t.match(await answer, /^HTTP\/1\.1 413 /)
  client.destroy()
})

t.test('curl’s expect: 100-continue is answered here and the body arrives whole [case 17]', async (t) => {
  const engine = await startRawEngine(t, ({ socket, body }) => socket.write(reply('200 OK', ['connection', 'close'], String(body.length))))
  const proxy = await startProxy(t, engine.origin)
  const client = await open(proxy.port)
  const continued = new Promise<string>((resolve) => client.once('data', (part) => resolve(part.toString())))
  const length = 1024 * 1024 + 1
  client.write(`POST /v1/x HTTP/1.1\r\nhost: x\r\nconnection: close\r\nExpect: 100-continue\r\ncontent-length: ${length}\r\n\r\n`)
  t.equal(await continued, 'HTTP/1.1 100 Continue\r\n\r\n')
  t.equal(engine.connections(), 0)
  const rest = readAll(client)
  client.write(Buffer.alloc(length, 'a'))
  t.match(await rest, new RegExp(`^HTTP/1\\.1 200 OK\\r\\n[^]*\\r\\n\\r\\n${length}$`))
  t.equal(engine.requests[0]!.header('expect'), undefined)
})

t.test('an unknown expectation is a 417 [case 17]', async (t) => {
  const engine = await startRawEngine(t)
  const proxy = await startProxy(t, engine.origin)
  t.match(await sendBytes(proxy.port, 'POST /v1/x HTTP/1.1\r\nhost: x\r\nconnection: close\r\nexpect: tea\r\ncontent-length: 0\r\n\r\n'), /^HTTP\/1\.1 417 /)
  t.equal(engine.connections(), 0)
})

t.test('both content-length and transfer-encoding are refused by the parser [case 24]', async (t) => {
  const engine = await startRawEngine(t)
  const proxy = await startProxy(t, engine.origin)
  const heads = [
    'content-length: 5\r\ntransfer-encoding: chunked',
    'transfer-encoding: chunked\r\ncontent-length: 5',
    'content-length: 5\r\ncontent-length: 6',
    'transfer-encoding: chunked, identity',
    'content-length: +5',
  ]
  for (const lines of heads) {
    const answer = await sendBytes(proxy.port, `POST /v1/x HTTP/1.1\r\nhost: x\r\n${lines}\r\n\r\n0\r\n\r\nGET /v1/smuggled HTTP/1.1\r\nhost: x\r\n\r\n`)
    t.match(answer, /^HTTP\/1\.1 400 Bad Request\r\n/, lines)
    t.match(answer, /"code":"malformed_request"/)
  }
  await sleep(50)
  t.equal(engine.requests.length, 0)
})

t.test('a broken chunk in the middle of an upload reaches no engine', async (t) => {
  const engine = await startRawEngine(t)
  const proxy = await startProxy(t, engine.origin)
  const answer = await sendBytes(proxy.port, 'POST /v1/x HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n')
  t.match(answer, /^HTTP\/1\.1 400 [^]*"code":"malformed_request"/)
  t.equal(engine.connections(), 0)
})

t.test('a head over limits.header_bytes is a readable 431', async (t) => {
  const engine = await startRawEngine(t, ({ socket }) => socket.write(reply('200 OK', [])))
  const proxy = await startProxy(t, engine.origin, { headerBytes: 32_768 })
  const get = (bytes: number) => `GET /health HTTP/1.1\r\nconnection: close\r\nx: ${'y'.repeat(bytes)}\r\n\r\n`
  t.match(await sendBytes(proxy.port, get(30_000)), /^HTTP\/1\.1 200 /)
  t.match(await sendBytes(proxy.port, get(40_000)), /^HTTP\/1\.1 431 [^]*"code":"headers_too_large"/)
})
