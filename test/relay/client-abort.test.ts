import t from 'tap'
import { begin, open, sleep } from '../helpers/http.ts'
import { startProxy } from '../helpers/proxy.ts'
import { chunk, head, startRawEngine, streamHead } from '../helpers/raw-engine.ts'

/** The promise, in ms; on a busy machine the best of three tries counts. */
const soonMs = 100

async function bestOfThree(t: { ok(value: boolean, message: string): unknown }, phase: () => Promise<number>): Promise<void> {
  const waits: number[] = []
  for (let i = 0; i < 3; i++) waits.push(await phase())
  const best = Math.min(...waits)
  t.ok(best < soonMs, `the engine saw the close after ${best.toFixed(1)} ms`)
}

const upload = 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n'
const whole = 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}'

t.test('a client that goes while it uploads leaves nothing at the engine [case 14a]', async (t) => {
  const engine = await startRawEngine(t)
  const proxy = await startProxy(t, engine.origin)
  const client = await open(proxy.port)
  client.write(`${upload}{"half":`)
  await sleep(50)
  client.destroy()
  await sleep(100)
  t.equal(engine.connections(), 0)
})

t.test('a client that goes before the head closes the engine’s socket [case 14b]', async (t) => {
  const engine = await startRawEngine(t)
  const proxy = await startProxy(t, engine.origin)
  await bestOfThree(t, async () => {
    const client = await open(proxy.port)
    client.write(whole)
    const request = await engine.next()
    const left = performance.now()
    client.destroy()
    return (await request.closed) - left
  })
})

t.test('a client that goes between head and first byte closes the engine’s socket [case 14c]', async (t) => {
  const engine = await startRawEngine(t, ({ socket }) => socket.write(streamHead))
  const proxy = await startProxy(t, engine.origin)
  await bestOfThree(t, async () => {
    const { request: client } = await begin(proxy.port, { target: '/v1/chat/completions', body: '{}' })
    const request = await engine.next()
    const left = performance.now()
    client.destroy()
    return (await request.closed) - left
  })
})

t.test('a client that goes mid-stream closes the engine’s socket [case 14d]', async (t) => {
  const engine = await startRawEngine(t, ({ socket }) => {
    socket.write(streamHead)
    const pace = setInterval(() => socket.write(chunk('data: {}\n\n')), 5)
    socket.once('close', () => clearInterval(pace))
  })
  const proxy = await startProxy(t, engine.origin)
  await bestOfThree(t, async () => {
    const { request: client, response } = await begin(proxy.port, { target: '/v1/chat/completions', body: '{}' })
    const request = await engine.next()
    await new Promise((resolve) => response.once('data', resolve))
    const left = performance.now()
    client.destroy()
    return (await request.closed) - left
  })
})

t.test('a client that goes mid-body of a plain reply closes the engine’s socket [case 14e]', async (t) => {
  const engine = await startRawEngine(t, ({ socket }) => socket.write(`${head('200 OK', ['content-length', '100'])}half`))
  const proxy = await startProxy(t, engine.origin)
  await bestOfThree(t, async () => {
    const { request: client } = await begin(proxy.port, { target: '/v1/chat/completions', body: '{}' })
    const request = await engine.next()
    const left = performance.now()
    client.destroy()
    return (await request.closed) - left
  })
})

t.test('a client that closes its half only counts as gone, as for vLLM', async (t) => {
  const engine = await startRawEngine(t)
  const proxy = await startProxy(t, engine.origin)
  const client = await open(proxy.port)
  client.write(whole)
  const request = await engine.next()
  client.end()
  t.type(await request.closed, 'number')
})

t.test('a client that does not read and goes closes the engine’s socket', async (t) => {
  const engine = await startRawEngine(t, ({ socket }) => {
    socket.write(streamHead)
    for (let i = 0; i < 200; i++) socket.write(chunk(Buffer.alloc(64 * 1024)))
  })
  const proxy = await startProxy(t, engine.origin)
  const { request: client, response } = await begin(proxy.port)
  response.pause()
  const request = await engine.next()
  await sleep(200)
  client.destroy()
  t.type(await request.closed, 'number')
})

t.test('pipelined requests are both given up when their client goes', async (t) => {
  const engine = await startRawEngine(t)
  const proxy = await startProxy(t, engine.origin)
  const client = await open(proxy.port)
  client.write(whole + whole)
  const [first, second] = [await engine.next(), await engine.next()]
  client.destroy()
  t.type(await first.closed, 'number')
  t.type(await second.closed, 'number')
})

t.test('an exchange that is given up closes its connection, and opens no other [case 14]', async (t) => {
  const engine = await startRawEngine(t, ({ socket, body }) => {
    if (body.toString() !== 'silent') socket.write(`${streamHead}${chunk('data: 1\n\n')}`)
  })
  const proxy = await startProxy(t, engine.origin)
  for (const body of ['silent', 'stream', 'silent', 'stream']) {
    const client = await open(proxy.port)
    client.write(`POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
    const request = await engine.next()
    if (body === 'stream') await new Promise((resolve) => client.once('data', resolve))
    client.destroy()
    await request.closed
  }
  await sleep(100)
  t.equal(engine.connections(), 4)
})
