// How requests are framed, over raw sockets. What could be read in two ways is refused here by the parser and never
// reaches the engine; all else reaches it as sent.

import t from 'tap'
import { sendBytes } from '../helpers/http.ts'
import { startProxy } from '../helpers/proxy.ts'
import { reply, startRawEngine } from '../helpers/raw-engine.ts'
import { framing } from '../peers/rows/framing.ts'
import { smuggled, twoReadings } from '../peers/shapes.ts'
import { testRows } from '../peers/tap.ts'

testRows(t, framing)

const engine = await startRawEngine(t, ({ socket, body }) => socket.write(reply('200 OK', [], body)))
const proxy = await startProxy(t, engine.origin)

for (const [what, bytes] of Object.entries(twoReadings)) {
  t.test(`${what}: refused here, and what follows with it [case 24]`, async (t) => {
    const before = [engine.requests.length, engine.connections()]
    const answer = await sendBytes(proxy.port, Buffer.from(bytes + smuggled, 'latin1'))
    t.match(answer, /^HTTP\/1\.1 400 Bad Request\r\n/)
    t.match(answer, /"code":"malformed_request"/)
    t.equal(answer.split('HTTP/1.1 ').length, 2, 'one answer')
    t.same([engine.requests.length, engine.connections()], before)
  })
}

t.test('CONNECT opens no tunnel', async (t) => {
  const before = engine.connections()
  const answer = await sendBytes(proxy.port, 'CONNECT 127.0.0.1:1 HTTP/1.1\r\nhost: x\r\n\r\n')
  t.match(answer, /^HTTP\/1\.1 404 [^]*"code":"route_not_allowed"/)
  t.equal(engine.connections(), before)
})

t.test('CONNECT behind a request does not cost its reply', async (t) => {
  const answer = await sendBytes(proxy.port, 'POST /v1/x HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\ntextCONNECT 127.0.0.1:1 HTTP/1.1\r\nhost: x\r\n\r\n')
  t.match(answer, /^HTTP\/1\.1 200 [^]*\r\n\r\ntextHTTP\/1\.1 404 [^]*"code":"route_not_allowed"/)
})

t.test('OPTIONS of the whole server goes to no engine', async (t) => {
  const before = engine.requests.length
  t.match(await sendBytes(proxy.port, 'OPTIONS * HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'), /^HTTP\/1\.1 404 /)
  t.equal(engine.requests.length, before)
})

