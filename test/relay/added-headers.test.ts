import t from 'tap'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createRelay } from '../../src/relay/relay.ts'
import { openAiErrors } from '../../src/errors.ts'
import { createUpstream } from '../../src/relay/upstream.ts'

t.test('a reply of our own in place of the engine\'s carries the headers that were to be added', async (t) => {
  // A port that was just free: nothing listens there.
  const closed = createServer()
  await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve))
  const { port } = closed.address() as AddressInfo
  await new Promise((resolve) => closed.close(resolve))
  const upstream = createUpstream({ origin: `http://127.0.0.1:${port}`, connectTimeoutMs: 1000 })
  const relay = createRelay(upstream, { replyHeaders: ['x-on-every-reply', 'yes'] })
  const proxy = createServer((request, response) => {
    const { method = 'POST', rawHeaders, headers } = request
    void relay.pass(
      { method, target: '/', path: '/', rawHeaders, headers, body: Buffer.alloc(0), response, errors: openAiErrors, gone: new AbortController().signal, receivedAt: 0 },
      { replyHeaders: ['x-warmfork-receipt', 'abc'] },
    )
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  t.teardown(async () => {
    proxy.close()
    await upstream.close()
  })
  const reply = await fetch(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, { method: 'POST' })
  t.equal(reply.status, 502)
  t.equal(reply.headers.get('x-warmfork-receipt'), 'abc')
  t.equal(reply.headers.get('x-on-every-reply'), 'yes')
  await reply.body?.cancel()
})
