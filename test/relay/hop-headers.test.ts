import t from 'tap'
import { headersForClient, headersForEngine } from '../../src/relay/headers.ts'
import { send, without } from '../helpers/http.ts'
import { startProxy } from '../helpers/proxy.ts'
import { reply, startRawEngine } from '../helpers/raw-engine.ts'

t.test('what belongs to one connection ends at it, in both directions [case 26]', async (t) => {
  const engine = await startRawEngine(t, (request) =>
    request.socket.write(
      reply('200 OK', [
        'connection', 'X-Reply-Hop', 'x-reply-hop', '1', 'proxy-authenticate', 'Basic', 'keep-alive', 'timeout=5',
        'x-kept', 'yes', 'trailer', 'x-sum',
      ]),
    ),
  )
  const proxy = await startProxy(t, engine.origin)
  const got = await send(proxy.port, {
    headers: [
      'Connection', 'x-secret-hop, keep-alive', 'X-Secret-Hop', '1', 'te', 'trailers', 'proxy-authorization', 'Basic eDp5',
      'proxy-connection', 'keep-alive', 'authorization', 'Bearer k', 'x-unknown', 'kept', 'Via', '1.1 other',
    ],
    body: '{}',
  })
  const seen = engine.requests[0]!
  t.same(without(seen.rawHeaders, ['host', 'connection', 'content-length']), [
    'authorization: Bearer k',
    'x-unknown: kept',
    'Via: 1.1 other',
  ])
  t.equal(seen.header('host'), `127.0.0.1:${engine.port}`)
  t.same(without(got.rawHeaders, ['connection', 'keep-alive', 'date', 'content-length']), ['x-kept: yes'])
})

t.test('connection cannot take away what describes the body', (t) => {
  const raw = ['connection', 'content-type, Content-Encoding, x-hop', 'Content-Type', 'application/json', 'content-encoding', 'gzip', 'X-Hop', '1']
  t.same(headersForEngine(raw), ['Content-Type', 'application/json', 'content-encoding', 'gzip'])
  t.same(headersForClient(['connection', 'content-length', 'content-length', '3']), ['content-length', '3'])
  t.end()
})

t.test('repeated and empty connection headers are all read', (t) => {
  const raw = ['connection', 'a,,b ,', 'Connection', 'C', 'a', '1', 'B', '2', 'c', '3', 'd', '4']
  t.same(headersForEngine(raw), ['d', '4'])
  t.end()
})

t.test('event streams tell nginx not to buffer them, once', (t) => {
  const stream = ['Content-Type', 'Text/Event-Stream; charset=utf-8']
  t.same(headersForClient(stream), [...stream, 'x-accel-buffering', 'no'])
  const told = [...stream, 'X-Accel-Buffering', 'yes']
  t.same(headersForClient(told), told)
  t.same(headersForClient(['content-type', 'application/json']), ['content-type', 'application/json'])
  t.end()
})

t.test('a receipt that came from behind goes no further; that a simulator made the reply is still told', (t) => {
  const raw = ['X-Warmfork-Cache-Hit-Verified', 'true', 'x-kept', '1', 'x-warmfork-receipt', 'r', 'x-warmfork-simulator', 'true']
  t.same(headersForClient(raw), ['x-kept', '1', 'x-warmfork-simulator', 'true'])
  t.end()
})
