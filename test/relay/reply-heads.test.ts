import t from 'tap'
import { send } from '../helpers/http.ts'
import { startProxy } from '../helpers/proxy.ts'
import { chunk, head, reply, startRawEngine } from '../helpers/raw-engine.ts'

t.test('control characters in a reason, which Node does not write, become spaces', async (t) => {
  for (const [sent, got] of [['Fine\x01 day', 'Fine  day'], ['\x7f', ' '], ['a\tb\x0bc', 'a\tb c'], ['Schön', 'Schön']] as const) {
    const engine = await startRawEngine(t, ({ socket }) => socket.write(Buffer.concat([Buffer.from(`HTTP/1.1 200 ${sent}\r\n`), reply('', []).subarray(11), Buffer.from('')])))
    const proxy = await startProxy(t, engine.origin)
    const answer = await send(proxy.port, { body: '{}' })
    t.equal(answer.status, 200)
    t.equal(Buffer.from(answer.statusMessage, 'latin1').toString(), got)
    t.ok(answer.whole)
  }
})

t.test('replies without a body keep the length that they name', async (t) => {
  for (const [status, length] of [['304 Not Modified', '1234'], ['204 No Content', '0']] as const) {
    const engine = await startRawEngine(t, ({ socket }) => socket.write(head(status, ['content-length', length, 'etag', '"a"'])))
    const proxy = await startProxy(t, engine.origin)
    const answer = await send(proxy.port, { method: 'GET', target: '/v1/models' })
    t.equal(answer.header('content-length'), length, status)
    t.equal(answer.header('etag'), '"a"')
  }
})

t.test('trailers that cannot be written look like a death, and their client waits for nothing', async (t) => {
  const engine = await startRawEngine(t, ({ socket }) => socket.write(head('200 OK', ['transfer-encoding', 'chunked']) + chunk('part') + '0\r\nx-sum: a\x01b\r\n\r\n'))
  const proxy = await startProxy(t, engine.origin)
  const answer = await send(proxy.port, { body: '{}' })
  t.equal(answer.body.toString(), 'part')
  t.notOk(answer.whole)
})
