import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { errorDefinitions } from '../../src/errors.ts'
import { connectTimedOut, createUpstream } from '../../src/relay/upstream.ts'
import { send } from '../helpers/http.ts'
import { startProxy } from '../helpers/proxy.ts'
import { startRawEngine } from '../helpers/raw-engine.ts'

async function unusedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

t.test('an engine that is not there is a 502 in our form, without its address [case 42]', async (t) => {
  const port = await unusedPort()
  const origins = [`http://127.0.0.1:${port}`, `http://localhost:${port}`, 'http://no-such-engine.invalid:8000', `https://127.0.0.1:${port}`]
  for (const origin of origins) {
    const proxy = await startProxy(t, origin, { connectTimeoutMs: 10_000 })
    const got = await send(proxy.port, { body: '{}' })
    t.equal(got.status, 502, origin)
    t.equal(got.header('content-type'), 'application/json')
    t.equal(got.header('x-warmfork-error'), 'upstream_unreachable')
    t.equal(Number(got.header('content-length')), got.body.length)
    const { error } = JSON.parse(got.body.toString())
    t.same(Object.keys(error), ['message', 'type', 'param', 'code'])
    t.match(error, { type: 'upstream_error', param: null, code: 'upstream_unreachable' })
    t.notMatch(got.body.toString(), /127\.0\.0\.1|localhost|invalid:|:\d{2,}|ECONN|ENOTFOUND|node_modules/)
  }
})

t.test('an engine that speaks no TLS is a 502 of ours', async (t) => {
  const engine = createServer((socket) => socket.on('error', () => {}).end('this is no TLS')).listen(0, '127.0.0.1')
  await new Promise((resolve) => engine.once('listening', resolve))
  t.teardown(() => engine.close())
  const proxy = await startProxy(t, `https://127.0.0.1:${(engine.address() as AddressInfo).port}`)
  const got = await send(proxy.port, { body: '{}' })
  t.equal(got.status, 502)
  t.equal(got.header('x-warmfork-error'), 'upstream_unreachable')
})

t.test('an engine that does not accept in time is a 504 of ours [case 42]', async (t) => {
  // TLS to a server that never answers the handshake: connected, and not usable in time.
  const silent = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1')
  await new Promise((resolve) => silent.once('listening', resolve))
  const proxy = await startProxy(t, `https://127.0.0.1:${(silent.address() as AddressInfo).port}`, { connectTimeoutMs: 200 })
  t.teardown(() => silent.close())
  const got = await send(proxy.port, { body: '{}' })
  t.equal(got.status, 504)
  t.equal(got.header('x-warmfork-error'), 'upstream_timeout')
})

t.test('both kinds of a connection out of time are told from a refusal', (t) => {
  t.equal(connectTimedOut(Object.assign(new Error(), { code: 'ETIMEDOUT' })), true)
  t.equal(connectTimedOut(Object.assign(new Error(), { code: 'ECONNREFUSED' })), false)
  t.equal(connectTimedOut(new Error()), false)
  t.end()
})

t.test('an exchange abandoned in the tick that began it never reaches the engine', async (t) => {
  const engine = await startRawEngine(t)
  const upstream = createUpstream({ origin: engine.origin, connectTimeoutMs: 1_000 })
  const calls: string[] = []
  const handler = { head: () => calls.push('head'), data: () => calls.push('data'), end: () => calls.push('end'), fault: () => calls.push('fault') }
  const outgoing = { method: 'POST', target: '/v1/x', headers: [], body: Buffer.from('x') }
  upstream.exchange(outgoing, handler, { retryReused: true }).abort()
  const second = upstream.exchange(outgoing, handler, { retryReused: true })
  await Promise.resolve()
  second.abort()
  await new Promise((resolve) => setTimeout(resolve, 100))
  t.equal(engine.requests.length, 0)
  t.same(calls, [])
  await upstream.close()
})

t.test('no message of ours holds a phrase that agents take for a context overflow [case 43]', (t) => {
  const phrases = ['context length', 'maximum context', 'too long', 'exceed', 'token limit', 'context window', 'too many tokens', 'overflow']
  for (const [code, { message, status }] of Object.entries(errorDefinitions)) {
    for (const phrase of phrases) t.notMatch(message.toLowerCase(), phrase, `${code}: ${phrase}`)
    t.ok(status >= 400 && message.endsWith('.'), code)
  }
  t.end()
})
