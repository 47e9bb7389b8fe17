import t from 'tap'
import { send, sendBytes } from '../helpers/http.ts'
import { startProxy } from '../helpers/proxy.ts'
import { head, reply, startRawEngine } from '../helpers/raw-engine.ts'
import { targetsAndMethods } from '../peers/rows/targets.ts'
import { testRows } from '../peers/tap.ts'

testRows(t, targetsAndMethods)

t.test('TRACE passes like any other method', async (t) => {
  const engine = await startRawEngine(t, (request) => request.socket.write(reply('200 OK', [], request.method)))
  const proxy = await startProxy(t, engine.origin)
  t.equal((await send(proxy.port, { method: 'TRACE' })).body.toString(), 'TRACE')
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
