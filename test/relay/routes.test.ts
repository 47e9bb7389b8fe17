import fc from 'fast-check'
import t from 'tap'
import { createRoutes } from '../../src/relay/routes.ts'
import { send, sendBytes } from '../helpers/http.ts'
import { startProxy } from '../helpers/proxy.ts'
import { reply, startRawEngine } from '../helpers/raw-engine.ts'

const open = createRoutes()

t.test('the routes that agents need are open, and decided on the decoded path', (t) => {
  const allowed: [string, string][] = [
    ['/v1/chat/completions', '/v1/chat/completions'],
    ['/v1/chat/completions?api-version=1', '/v1/chat/completions'],
    ['/v1/%63hat/completions', '/v1/chat/completions'],
    ['/%76%31/models', '/v1/models'],
    ['/v1//models/Qwen%2FQwen3?x=%zz&x=2', '/v1//models/Qwen/Qwen3'],
    ['/v1/models/%zz', '/v1/models/%zz'],
    ['/v1/models/a..b/.hidden', '/v1/models/a..b/.hidden'],
    ['/v1/models/caf%C3%A9', '/v1/models/café'],
    ['/v1/models?next=/../sleep', '/v1/models'],
    ['/v1/responses/resp_1/cancel', '/v1/responses/resp_1/cancel'],
    ['/tokenize', '/tokenize'],
    ['/detokenize', '/detokenize'],
    ['/health', '/health'],
    ['/ping', '/ping'],
    ['/version', '/version'],
    ['/metrics', '/metrics'],
  ]
  for (const [target, path] of allowed) t.equal(open(target), path, target)
  t.end()
})

t.test('everything else is closed, in every spelling', (t) => {
  const closed = [
    '/', '', '*', '/v1', '/v2/rerank', '//v1/models', '/V1/models', '/tokenize/', '/healthz', '/health%20',
    '/invocations', '/pooling', '/classify', '/score', '/rerank', '/generative_scoring', '/inference/v1/generate',
    '/sleep', '/wake_up', '/pause', '/collective_rpc', '/scale_elastic_ep', '/load', '/docs', '/openapi.json', '/server_info',
    'http://engine/v1/models', 'http://127.0.0.1/v1/models', 'engine:8000', '/v1/models#/../sleep',
    '/v1/../sleep', '/v1/%2e%2e/sleep', '/v1/%2E%2E/sleep', '/v1/.%2e/sleep', '/v1/..%2fsleep', '/v1/./models', '/v1/..',
    '/v1/..;/sleep', '/v1/..;x=1/sleep', '/v1/..\\sleep', '/v1/..%5csleep', '/v1%2f..%2fsleep',
    '/v1/%252e%252e/sleep', '/v1/%25252e%25252e/sleep', `/v1/${'%25'.repeat(1)}${'25'.repeat(9)}2e/sleep`,
    '/tokenize%0a', '/tokenize%00', '/v1/models%0d%0ax', '/v1/models%7f',
  ]
  for (const target of closed) t.equal(open(target), undefined, target)
  t.end()
})

t.test('LoRA loading is closed inside /v1, in every spelling', (t) => {
  const spellings = [
    'load_lora_adapter', 'unload_lora_adapter', '%6coad_lora_adapter', 'load%5Flora%5Fadapter', 'load_lora_adapter/', 'load_lora_adapter?x=1',
    'load_lora_adapter%0a', 'load_lora_adapter%20', 'LOAD_lora_adapter', '/load_lora_adapter', '%2fload_lora_adapter', 'load_lora_adapter;x', '%256coad_lora_adapter',
    'load_lora_adapter%3fx', '%5cload_lora_adapter',
  ]
  for (const spelling of spellings) {
    const target = `/v1/${spelling}`
    t.equal(open(target), undefined, target)
  }
  t.end()
})

t.test('routes.allow opens exact paths and prefixes, and LoRA loading only by its exact name', (t) => {
  const some = createRoutes(['/v2/*', '/rerank', '/v1/load_lora_adapter'])
  t.equal(some('/v2/embed'), '/v2/embed')
  t.equal(some('/rerank'), '/rerank')
  t.equal(some('/rerank/x'), undefined)
  t.equal(some('/score'), undefined)
  t.equal(some('/v2/../sleep'), undefined)
  t.equal(some('/v1/load_lora_adapter'), '/v1/load_lora_adapter')
  t.equal(some('/v1/unload_lora_adapter'), undefined)
  const all = createRoutes(['/*'])
  t.equal(all('/sleep'), '/sleep')
  t.equal(all('/v1/load_lora_adapter'), undefined)
  t.equal(all('/x/../y'), undefined)
  t.end()
})

t.test('an escaped target is open exactly when the plain one is', (t) => {
  const paths = fc.constantFrom('/v1/chat/completions', '/v1/load_lora_adapter', '/sleep', '/tokenize', '/v1/../sleep', '/invocations', '/v1/models')
  fc.assert(
    fc.property(paths, fc.array(fc.boolean(), { minLength: 30, maxLength: 30 }), (path, escapes) => {
      const escaped = [...path].map((c, i) => (i > 0 && escapes[i] ? `%${c.charCodeAt(0).toString(16)}` : c)).join('')
      return open(escaped) === open(path)
    }),
  )
  t.end()
})

t.test('a closed route is a 404 of ours that never reaches the engine, and leaves the connection usable', async (t) => {
  const engine = await startRawEngine(t, ({ socket }) => socket.write(reply('200 OK', [])))
  const proxy = await startProxy(t, engine.origin, { allow: ['/v2/*'] })
  for (const target of ['/sleep', '/v1/%2e%2e/sleep', '/v1/load_lora_adapter', '//v1/models']) {
    for (const body of [undefined, 'x'.repeat(100_000)]) {
      const got = await send(proxy.port, { target, ...(body && { body }) })
      t.equal(got.status, 404)
      t.equal(got.header('x-warmfork-error'), 'route_not_allowed')
    }
  }
  for (const target of ['*', 'http://engine/v1/models']) {
    t.match(await sendBytes(proxy.port, `OPTIONS ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`), /^HTTP\/1\.1 404 [^]*route_not_allowed/)
  }
  t.equal(engine.requests.length, 0)
  t.equal((await send(proxy.port, { target: '/v2/embed' })).status, 200)
  const twice = await sendBytes(proxy.port, 'GET /sleep HTTP/1.1\r\nhost: x\r\n\r\nGET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
  t.match(twice, /^HTTP\/1\.1 404 [^]*HTTP\/1\.1 200 /)
})
