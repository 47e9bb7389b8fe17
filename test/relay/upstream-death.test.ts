import t from 'tap'
import type { ReplyEnd } from '../../src/relay/types.ts'
import { begin, collect, open, readAll, send, sleep } from '../helpers/http.ts'
import { startProxy } from '../helpers/proxy.ts'
import { chunk, head, type Script, startRawEngine, streamHead } from '../helpers/raw-engine.ts'

const framings: Record<string, string> = {
  'three chunks of a stream': streamHead + [1, 2, 3].map((n) => chunk(`data: ${n}\n\n`).toString()).join(''),
  'half of a body with a length': `${head('200 OK', ['content-length', '20'])}0123456789`,
  'half of a chunk': `${head('200 OK', ['transfer-encoding', 'chunked'])}14\r\n0123456789`,
}

for (const [what, sent] of Object.entries(framings)) {
  for (const how of ['closes', 'resets'] as const) {
    t.test(`an engine that ${how} after ${what} looks dead to the client [case 9]`, async (t) => {
      const ends: ReplyEnd[] = []
      const passed = Promise.withResolvers<ReplyEnd>()
      const engine = await startRawEngine(t)
      const proxy = await startProxy(t, engine.origin, {
        conversation: async (request, relay) => {
          const observer = { head() {}, data() {}, end: (how: ReplyEnd) => void ends.push(how) }
          passed.resolve(await relay.pass(request, { observer }))
        },
      })
      const begun = begin(proxy.port, { target: '/v1/chat/completions', body: '{}' })
      const request = await engine.next()
      request.socket.write(sent)
      const { response } = await begun
      const collected = collect(response)
      await new Promise((resolve) => response.once('data', resolve))
      await sleep(20)
      if (how === 'closes') request.socket.end()
      else request.socket.resetAndDestroy()
      const got = await collected
      t.equal(got.status, 200)
      t.equal(got.whole, false, 'no end that could be taken for the whole')
      t.match(got.body.toString(), /data: 3|0123456789/, 'what came before the death arrives')
      t.equal(await passed.promise, 'upstream_died')
      t.same(ends, ['upstream_died'])
      t.equal(engine.requests.length, 1)
    })
  }
}

t.test('what was sent in the moment of death still arrives, and no end', async (t) => {
  const engine = await startRawEngine(t, ({ socket }) => socket.end(`${streamHead}${chunk('data: last\n\n')}`))
  const proxy = await startProxy(t, engine.origin)
  const got = await send(proxy.port)
  t.equal(got.body.toString(), 'data: last\n\n')
  t.equal(got.whole, false)
})

t.test('a body that only the close ends is whole after a close and dead after a reset', async (t) => {
  const engine = await startRawEngine(t)
  const proxy = await startProxy(t, engine.origin)
  for (const how of ['closes', 'resets']) {
    const begun = begin(proxy.port)
    const request = await engine.next()
    request.socket.write(`${head('200 OK', ['connection', 'close'])}some text`)
    const { response } = await begun
    const collected = collect(response)
    await new Promise((resolve) => response.once('data', resolve))
    if (how === 'closes') request.socket.end()
    else request.socket.resetAndDestroy()
    const got = await collected
    t.equal(got.body.toString(), 'some text')
    t.equal(got.whole, how === 'closes', how)
  }
})

t.test('an HTTP/1.0 client, for whom a close is an end, sees a reset instead', async (t) => {
  const engine = await startRawEngine(t)
  const proxy = await startProxy(t, engine.origin)
  const client = await open(proxy.port)
  const failed = new Promise<NodeJS.ErrnoException>((resolve) => client.once('error', resolve))
  client.write('GET /v1/x HTTP/1.0\r\n\r\n')
  const answer = readAll(client)
  const request = await engine.next()
  request.socket.write(`${streamHead}${chunk('data: 1\n\n')}`)
  await new Promise((resolve) => client.once('data', resolve))
  request.socket.destroy()
  t.equal((await failed).code, 'ECONNRESET')
  t.match(await answer, /^HTTP\/1\.1 200 /)
})

const garbage: Record<string, Script> = {
  'no HTTP at all': ({ socket }) => socket.end('SSH-2.0-OpenSSH_9.6\r\n'),
  'a head that breaks off': ({ socket }) => socket.end('HTTP/1.1 200 OK\r\ncontent-ty'),
  'nothing': ({ socket }) => socket.end(),
  'a head larger than any': ({ socket }) => socket.end(head('200 OK', ['x', 'x'.repeat(400_000)])),
}
for (const [what, script] of Object.entries(garbage)) {
  t.test(`an engine that answers ${what} is a 502 of ours`, async (t) => {
    const engine = await startRawEngine(t, script)
    const proxy = await startProxy(t, engine.origin)
    const got = await send(proxy.port, { body: '{}' })
    t.equal(got.status, 502)
    t.equal(got.header('x-warmfork-error'), 'upstream_reset')
    t.equal(engine.requests.length, 1, 'a fresh socket is no reason to send again')
  })
}
