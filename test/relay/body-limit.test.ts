import t from 'tap'
import { open, readAll, send, sendBytes } from '../helpers/http.ts'
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

t.test('an unknown expectation is a 417 [case 17]', async (t) => {
  const engine = await startRawEngine(t)
  const proxy = await startProxy(t, engine.origin)
  for (const body of ['', 'text']) {
    const answer = await sendBytes(proxy.port, `POST /v1/x HTTP/1.1\r\nhost: x\r\nexpect: tea\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
    t.match(answer, /^HTTP\/1\.1 417 [^]*"code":"expectation_failed"/)
  }
  t.equal(engine.connections(), 0)
})

t.test('a head over limits.header_bytes is a readable 431', async (t) => {
  const engine = await startRawEngine(t, ({ socket }) => socket.write(reply('200 OK', [])))
  const proxy = await startProxy(t, engine.origin, { headerBytes: 32_768 })
  const get = (bytes: number) => `GET /health HTTP/1.1\r\nconnection: close\r\nx: ${'y'.repeat(bytes)}\r\n\r\n`
  t.match(await sendBytes(proxy.port, get(30_000)), /^HTTP\/1\.1 200 /)
  t.match(await sendBytes(proxy.port, get(40_000)), /^HTTP\/1\.1 431 [^]*"code":"headers_too_large"/)
})
