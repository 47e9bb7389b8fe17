// An engine behind TLS, signed by an authority of its own (test/fixtures/tls, valid for a hundred years, for nothing else).

import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { createServer as createPlainServer } from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { readTlsCa, TlsCaError } from '../../src/config/tls-ca.ts'
import { begin, send } from '../helpers/http.ts'
import { startProxy } from '../helpers/proxy.ts'

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url))
const authority = fixture('authority.pem')
const closed = Promise.withResolvers<void>()

const engine = createServer({ key: readFileSync(fixture('engine.key.pem')), cert: readFileSync(fixture('engine.pem')) }, (request, response) => {
  if (request.url === '/v1/slow') return void response.once('close', () => closed.resolve())
  request.pipe(response)
})
const port = await listen(engine)

async function listen(server: Server, host = '127.0.0.1'): Promise<number> {
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, host, resolve))
  t.teardown(() => new Promise((resolve) => server.close(resolve)))
  return (server.address() as AddressInfo).port
}

t.test('an engine signed by the authority in upstream.tls_ca is reached, by name and by address', async (t) => {
  for (const host of ['127.0.0.1', 'localhost']) {
    const proxy = await startProxy(t, `https://${host}:${port}`, { ca: readTlsCa(authority) })
    const got = await send(proxy.port, { body: 'over TLS' })
    t.equal(got.status, 200)
    t.equal(got.body.toString(), 'over TLS')
  }
})

t.test('a client that goes closes the TLS connection too [case 14b]', async (t) => {
  const proxy = await startProxy(t, `https://127.0.0.1:${port}`, { ca: readTlsCa(authority) })
  const begun = begin(proxy.port, { target: '/v1/slow', body: '{}' }).catch(() => {})
  await new Promise<void>((resolve) => engine.once('request', () => resolve()))
  await proxy.server.close(0)
  await Promise.all([closed.promise, begun])
})

t.test('without it the engine is not trusted, and not spoken to: a 502 of ours that says nothing of it [case 42]', async (t) => {
  let asked = 0
  engine.on('request', () => { asked += 1 })
  const proxy = await startProxy(t, `https://127.0.0.1:${port}`)
  const got = await send(proxy.port, { body: 'secret' })
  t.equal(got.status, 502)
  t.equal(got.header('x-warmfork-error'), 'upstream_unreachable')
  t.notMatch(got.body.toString(), /cert|self|127\.0\.0\.1/i)
  t.equal(asked, 0)
})

t.test('a file that holds no certificate is refused with its path and without its text', async (t) => {
  const folder = t.testdir()
  const files = { none: null, empty: '', text: 'secret text', broken: '-----BEGIN CERTIFICATE-----\nc2VjcmV0\n-----END CERTIFICATE-----\n' }
  for (const [name, text] of Object.entries(files)) {
    const path = `${folder}/${name}`
    if (text !== null) writeFileSync(path, text)
    try {
      readTlsCa(path)
      t.fail('it was read')
    } catch (error) {
      t.ok(error instanceof TlsCaError)
      t.match((error as Error).message, `upstream.tls_ca is "${path}"`)
      t.notMatch((error as Error).message, /secret|c2Vj/)
    }
  }
})

t.test('a name with several addresses is tried at all of them', async (t) => {
  for (const host of ['127.0.0.1', '::1']) {
    const server = createPlainServer((request, response) => void request.pipe(response))
    const port = await listen(server, host).catch(() => null)
    // A machine without IPv6 has only one of the two.
    if (port === null) continue
    const proxy = await startProxy(t, `http://${host === '::1' ? '[::1]' : 'localhost'}:${port}`)
    t.equal((await send(proxy.port, { body: host })).body.toString(), host)
  }
})
