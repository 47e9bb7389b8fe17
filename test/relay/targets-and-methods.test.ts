import t from 'tap'
import { begin, collect, send, sendBytes } from '../helpers/http.ts'
import { startProxy } from '../helpers/proxy.ts'
import { head, reply, startRawEngine } from '../helpers/raw-engine.ts'

t.test('targets go on byte for byte [case 29]', async (t) => {
  const engine = await startRawEngine(t, (request) => request.socket.write(reply('200 OK', [])))
  const proxy = await startProxy(t, engine.origin)
  const targets = [
    '/v1//models/Qwen%2FQwen3?x=%zz&x=2',
    '/v1/models/%zz',
    '/v1/models;v=1?',
    '/v1/%6Dodels',
    '/v1/models?a=/../b&c=%2e%2e/#'.replace('#', ''),
    "/v1/models/{a}|b\\c^`'\"",
    `/v1/models/${'x'.repeat(3_000)}`,
  ]
  for (const target of targets) {
    const answer = await sendBytes(proxy.port, `GET ${target} HTTP/1.1\r\nconnection: close\r\n\r\n`)
    t.match(answer, /^HTTP\/1\.1 200 OK\r\n/, target)
    t.equal(engine.requests.pop()!.target, target)
  }
})

t.test('any method that Node parses passes, with or without a body [case 29]', async (t) => {
  const engine = await startRawEngine(t, (request) => request.socket.write(reply('200 OK', [], request.method)))
  const proxy = await startProxy(t, engine.origin)
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY', 'PROPFIND', 'PURGE', 'M-SEARCH', 'LINK']) {
    const bare = await send(proxy.port, { method })
    t.equal(bare.body.toString(), method)
    t.equal(engine.requests.pop()!.body.length, 0)
    const full = await send(proxy.port, { method, body: `body of ${method}` })
    t.equal(full.status, 200)
    t.equal(engine.requests.pop()!.body.toString(), `body of ${method}`)
  }
})

t.test('HEAD keeps the length of the body that it does not bring [case 29]', async (t) => {
  const engine = await startRawEngine(t, (request) => request.socket.write(head('200 OK', ['content-length', '1234'])))
  const proxy = await startProxy(t, engine.origin)
  const got = await send(proxy.port, { method: 'HEAD' })
  t.equal(got.status, 200)
  t.equal(got.header('content-length'), '1234')
  t.equal(got.body.length, 0)
  t.equal(got.whole, true)
})

t.test('replies without a body end where their head ends', async (t) => {
  const engine = await startRawEngine(t, (request) =>
    request.socket.write(head(request.target === '/v1/204' ? '204 No Content' : '304 Not Modified', ['etag', '"x"'])),
  )
  const proxy = await startProxy(t, engine.origin)
  for (const status of [204, 304]) {
    const got = await send(proxy.port, { method: 'GET', target: `/v1/${status}` })
    t.equal(got.status, status)
    t.equal(got.header('transfer-encoding'), undefined)
    t.equal(got.whole, true)
  }
})

t.test('trailers are relayed', async (t) => {
  const engine = await startRawEngine(t, (request) =>
    request.socket.write(`${head('200 OK', ['transfer-encoding', 'chunked', 'trailer', 'X-Sum'])}2\r\nhi\r\n0\r\nX-Sum: 42\r\nx-sum: 43\r\n\r\n`),
  )
  const proxy = await startProxy(t, engine.origin)
  const got = await collect((await begin(proxy.port)).response)
  t.equal(got.body.toString(), 'hi')
  t.same(got.rawTrailers, ['X-Sum', '42', 'x-sum', '43'])
})

t.test('a request without a host header is no reason to refuse it', async (t) => {
  const engine = await startRawEngine(t, (request) => request.socket.write(reply('200 OK', [])))
  const proxy = await startProxy(t, engine.origin)
  t.match(await sendBytes(proxy.port, 'GET /health HTTP/1.1\r\nconnection: close\r\n\r\n'), /^HTTP\/1\.1 200 /)
  t.match(await sendBytes(proxy.port, 'GET /health HTTP/1.0\r\n\r\n'), /^HTTP\/1\.1 200 /)
})

t.test('more than a thousand headers go on in both directions', async (t) => {
  const many = Array.from({ length: 1_500 }, (_, i) => [`x-${i}`, String(i)]).flat()
  const engine = await startRawEngine(t, (request) => request.socket.write(reply('200 OK', many)))
  const proxy = await startProxy(t, engine.origin)
  const answer = await sendBytes(proxy.port, head('x', many).replace('HTTP/1.1 x', 'GET /health HTTP/1.1\r\nconnection: close'))
  t.equal(engine.requests[0]!.header('x-1499'), '1499')
  t.match(answer, /x-1499: 1499/)
})
