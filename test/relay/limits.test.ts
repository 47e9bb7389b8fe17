// What warmfork runs into: its limit of open files; and what it counts.

import type { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { open, send, sleep } from '../helpers/http.ts'
import { head, lastChunk, reply, startRawEngine, streamHead } from '../helpers/raw-engine.ts'
import { listening } from '../helpers/run-warmfork.ts'

const mainFile = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
const limited = (files: number): [string, string[]] => ['bash', ['-c', `ulimit -n ${files}; exec node "$0" "$@"`, mainFile]]

const ask = 'POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}'

t.test('without a file descriptor left a request is a 503, and with one again all is well', async (t) => {
  const engine = await startRawEngine(t, ({ socket, body }) => socket.write(body.toString() === 'now' ? reply('200 OK', []) : streamHead))
  const [command, args] = limited(128)
  const warmfork = await listening(t, command, [...args, '--upstream', engine.origin], {})
  const port = Number(new URL(warmfork.url).port)
  // The clients' connections first, each with one of warmfork's; then a request on each of them.
  const clients: Socket[] = []
  for (let i = 0; i < 70; i++) clients.push(await open(port))
  await sleep(100)
  const answers = clients.map((client) => new Promise<string>((resolve) => {
    client.once('data', (part) => resolve(part.toString()))
    client.once('close', () => resolve(''))
    client.write(ask)
  }))
  const got = await Promise.all(answers)
  const statuses = got.map((answer) => answer.slice(9, 12))
  t.ok(statuses.includes('200'), 'some found a connection')
  t.ok(statuses.includes('503'), 'and some did not')
  t.same(statuses.filter((status) => status !== '200' && status !== '503'), [])
  t.match(got.find((answer) => answer.includes(' 503 ')), /"code":"out_of_descriptors"/)
  for (const client of clients) client.destroy()
  await sleep(200)
  for (let i = 0; i < 20; i++) t.equal((await send(port, { body: 'now' })).status, 200)
})

t.test('requests and connections are counted by route and status, without a name that users choose', async (t) => {
  const engine = await startRawEngine(t, ({ socket, target }) => {
    if (target === '/v1/models') socket.write(head('404 Not Found', ['content-length', '0']))
    else if (target !== '/v1/slow') socket.write(`${streamHead}${lastChunk}`)
  })
  const warmfork = await listening(t, process.execPath, [mainFile, '--upstream', engine.origin], {})
  const port = Number(new URL(warmfork.url).port)
  for (const target of ['/v1/chat/completions', '/v1/chat/completions?user=1', '/v1/models', '/v1/user/42', '/v1/user/43', '/sleep/44']) await send(port, { target, body: '{}' })
  const client = await open(port)
  client.write(ask.replace('/v1/completions', '/v1/slow'))
  await engine.next()
  while (engine.requests.at(-1)!.target !== '/v1/slow') await sleep(10)
  client.destroy()
  await engine.requests.at(-1)!.closed
  await sleep(50)
  await send(port, { target: '/v1/user/45', body: '{}' })
  const metrics = (await send(Number(new URL(warmfork.adminUrl).port), { method: 'GET', target: '/metrics' })).body.toString()
  t.match(metrics, 'warmfork_requests_total{route="/v1/chat/completions",status="200"} 2')
  t.match(metrics, 'warmfork_requests_total{route="/v1/models",status="404"} 1')
  t.match(metrics, 'warmfork_requests_total{route="/v1/*",status="200"} 3')
  t.match(metrics, 'warmfork_requests_total{route="/v1/*",status="none"} 1')
  t.match(metrics, 'warmfork_requests_total{route="refused",status="404"} 1')
  t.match(metrics, /\nwarmfork_upstream_connections [1-9]/)
  t.match(metrics, /\nwarmfork_client_connections \d/)
  t.notMatch(metrics, /user\/4|sleep/)
})
