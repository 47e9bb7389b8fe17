import { gzipSync, zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { send, valueOf, without } from '../helpers/http.ts'
import { startProxy } from '../helpers/proxy.ts'
import { head, reply, startRawEngine } from '../helpers/raw-engine.ts'

/** What client and proxy may each make for their own connection. */
const perConnection = ['host', 'connection', 'keep-alive', 'content-length', 'transfer-encoding']

const token = fc.stringMatching(/^[A-Za-z][A-Za-z0-9_.~!-]{0,20}$/).map((name) => `x-${name}`)
/** Visible text and bytes above ASCII; the ends are no blanks, since parsers take those away. */
const value = fc.stringMatching(/^([!-~\u00a1-\u00ff]([ !-~\u00a1-\u00ff]{0,40}[!-~\u00a1-\u00ff])?)?$/)
const headers = fc.array(fc.tuple(token, value), { maxLength: 8 }).map((pairs) => pairs.flat())
const anyBytes = fc.uint8Array({ maxLength: 5_000 }).map((bytes) => Buffer.from(bytes))
const body = fc.oneof(anyBytes, anyBytes.map((bytes) => gzipSync(bytes)), fc.json().map((text) => Buffer.from(text)))
const method = fc.constantFrom('POST', 'PUT', 'PATCH', 'DELETE')
const target = fc
  .tuple(fc.stringMatching(/^[A-Za-z0-9_~!$&'()*+,;=:@-]{1,20}(\/[A-Za-z0-9_~-]{0,9}){0,3}$/), fc.stringMatching(/^(\?[!-"$-~]{0,30})?$/))
  .map(([path, query]) => `/v1/${path}${query}`)

t.test('whatever is not a summary reaches the engine byte for byte, and so does the reply', async (t) => {
  let answer: Buffer = Buffer.alloc(0)
  const engine = await startRawEngine(t, (request) => request.socket.write(answer))
  const proxy = await startProxy(t, engine.origin)

  await fc.assert(
    fc.asyncProperty(method, target, headers, body, headers, body, async (...drawn) => {
      const [method, target, sentHeaders, sentBody, replyHeaders, replyBody] = drawn
      answer = reply('207 Some Reason', replyHeaders, replyBody)
      const got = await send(proxy.port, { method, target, headers: sentHeaders, body: sentBody })
      const seen = engine.requests.pop()!
      t.equal(seen.head.split('\r\n')[0], `${method} ${target} HTTP/1.1`)
      t.same(without(seen.rawHeaders, perConnection), without(sentHeaders, perConnection))
      t.ok(seen.body.equals(sentBody))
      t.equal(got.status, 207)
      t.equal(got.statusMessage, 'Some Reason')
      t.same(without(got.rawHeaders, [...perConnection, 'date']), without(replyHeaders, perConnection))
      t.ok(got.body.equals(replyBody))
    }),
    { numRuns: 100 },
  )
})

t.test('compressed and broken bodies pass with their header [case 23]', async (t) => {
  const engine = await startRawEngine(t, (request) => request.socket.write(reply('200 OK', [])))
  const proxy = await startProxy(t, engine.origin)
  const bodies: [string, Buffer][] = [
    ['gzip', gzipSync('{"model":"m"}')],
    ['zstd', zstdCompressSync('{"model":"m"}')],
    ['gzip, zstd', zstdCompressSync(gzipSync('{"model":"m"}'))],
    ['gzip', Buffer.from([0x1f, 0x8b, 8, 0, 1, 2, 3])],
    ['identity', Buffer.from([0xff, 0xfe, 0x80, 0xc3])],
  ]
  for (const [encoding, body] of bodies) {
    const got = await send(proxy.port, {
      target: '/v1/chat/completions',
      headers: ['content-encoding', encoding, 'content-type', 'application/json'],
      body,
    })
    const seen = engine.requests.pop()!
    t.equal(got.status, 200)
    t.equal(seen.header('content-encoding'), encoding)
    t.ok(seen.body.equals(body), encoding)
  }
})

t.test('accept-encoding goes on as sent and an encoded reply comes back as encoded [case 30]', async (t) => {
  const packed = gzipSync('some reply')
  const engine = await startRawEngine(t, (request) => {
    const zip = request.header('accept-encoding')?.includes('gzip')
    request.socket.write(zip ? reply('200 OK', ['content-encoding', 'gzip'], packed) : reply('200 OK', [], 'some reply'))
  })
  const proxy = await startProxy(t, engine.origin)

  for (const accepted of ['gzip, deflate', 'identity', undefined]) {
    const got = await send(proxy.port, accepted === undefined ? {} : { headers: ['Accept-Encoding', accepted] })
    t.equal(engine.requests.at(-1)!.header('accept-encoding'), accepted)
    t.equal(got.header('content-encoding'), accepted?.includes('gzip') ? 'gzip' : undefined)
    t.ok(got.body.equals(accepted?.includes('gzip') ? packed : Buffer.from('some reply')))
  }
})

t.test('large bodies pass whole [case 21]', async (t) => {
  const engine = await startRawEngine(t, (request) => request.socket.write(reply('200 OK', [], request.body)))
  const proxy = await startProxy(t, engine.origin)
  for (const length of [1024 * 1024 + 1, 10_000_000]) {
    const body = Buffer.alloc(length, 'abcdefg')
    const got = await send(proxy.port, { body })
    t.ok(engine.requests.pop()!.body.equals(body), `${length} bytes out`)
    t.ok(got.body.equals(body), `${length} bytes back`)
  }
})

t.test('a chunked upload arrives whole with one correct length [case 24]', async (t) => {
  const engine = await startRawEngine(t, (request) => request.socket.write(reply('200 OK', [])))
  const proxy = await startProxy(t, engine.origin)
  const got = await fetch(`http://127.0.0.1:${proxy.port}/v1/completions`, {
    method: 'POST',
    body: new Blob(['{"a":', '1}']).stream(),
    duplex: 'half',
  } as RequestInit)
  t.equal(got.status, 200)
  const seen = await engine.next()
  t.equal(seen.body.toString(), '{"a":1}')
  t.equal(seen.header('transfer-encoding'), undefined)
  t.equal(seen.rawHeaders.filter((name) => name.toLowerCase() === 'content-length').length, 1)
})

t.test('headers come back in their order, case and number [case 25]', async (t) => {
  const raw = [
    'Set-Cookie', 'a=1', 'x-foo', 'one', 'set-cookie', 'b=2', 'Date', 'Thu, 01 Jan 1970 00:00:00 GMT',
    'server', 'uvicorn', 'X-Foo', 'two', 'Server', 'second', 'x-empty', '',
  ]
  const engine = await startRawEngine(t, (request) => request.socket.write(reply('200 OK', raw)))
  const proxy = await startProxy(t, engine.origin)
  const got = await send(proxy.port)
  t.same(got.rawHeaders.slice(0, raw.length), raw)
  t.equal(got.rawHeaders.filter((name) => name.toLowerCase() === 'date').length, 1)
  t.equal(valueOf(got.rawHeaders, 'content-length'), '0')
})

t.test('an informational reply is not taken for the reply', async (t) => {
  const engine = await startRawEngine(t, (request) => {
    request.socket.write(head('103 Early Hints', ['link', '</x>']))
    request.socket.write(reply('200 OK', ['x-real', 'yes'], 'body'))
  })
  const proxy = await startProxy(t, engine.origin)
  const got = await send(proxy.port)
  t.equal(got.status, 200)
  t.equal(got.header('x-real'), 'yes')
  t.equal(got.body.toString(), 'body')
})
