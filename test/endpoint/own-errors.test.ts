// Errors of warmfork itself on the routes of every endpoint, in the endpoint's own form.

import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { errorDefinitions } from '../../src/errors.ts'
import { overEndpoints } from '../helpers/endpoints/all.ts'
import { send } from '../helpers/http.ts'
import { startProxy } from '../helpers/proxy.ts'

/** A port that was just free: nothing listens there. */
async function unusedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

overEndpoints(t, async (t, { endpoint, error, read }) => {
  const proxy = await startProxy(t, `http://127.0.0.1:${await unusedPort()}`, { bodyBytes: 100 })

  for (const target of [endpoint.path, `${endpoint.path}?x=1`, `${endpoint.path}/below`]) {
    t.test(`errors on ${target}`, async (t) => {
      for (const [code, body] of [['upstream_unreachable', '{}'], ['body_too_large', 'x'.repeat(200)]] as const) {
        const { status, message, type } = errorDefinitions[code]
        const reply = await send(proxy.port, { target, body })
        t.equal(reply.status, status)
        t.equal(reply.header('x-warmfork-error'), code)
        t.strictSame(JSON.parse(reply.body.toString()), error(code, message, type))
        t.equal(read([reply.body.toString()]).error?.message, message)
      }
    })
  }
})
