import t from 'tap'
import { send, sleep } from '../helpers/http.ts'
import { startProxy } from '../helpers/proxy.ts'
import { reply, startRawEngine } from '../helpers/raw-engine.ts'
import { bodies } from '../peers/rows/bodies.ts'
import { testRows } from '../peers/tap.ts'

testRows(t, bodies)

t.test('an engine that answers before it has read the body, and reads no further, holds up no later request', async (t) => {
  const engine = await startRawEngine(t, ({ socket }) => socket.write(reply('200 OK', [], 'read')), {
    onHead: (socket, head) => {
      if (head.includes('/v1/large')) socket.pause().write(reply('413 Payload Too Large', [], 'no more than that'))
    },
  })
  const proxy = await startProxy(t, engine.origin)
  const got = await send(proxy.port, { target: '/v1/large', body: Buffer.alloc(16 * 1024 * 1024, 'x') })
  t.equal(got.status, 413)
  t.equal(got.body.toString(), 'no more than that')
  await sleep(20)
  t.equal((await send(proxy.port, { target: '/v1/small', body: '{}' })).body.toString(), 'read')
  t.equal(engine.connections(), 2)
})
