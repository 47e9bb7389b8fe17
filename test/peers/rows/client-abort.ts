// A client that goes takes its generation with it.

import { begin, open, sleep } from '../../helpers/http.ts'
import { chunk, head, streamHead, type EngineRequest } from '../../helpers/raw-engine.ts'
import { must, type Row } from '../row.ts'

const chat = { target: '/v1/chat/completions', body: '{}' }
const whole = 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}'

/** The promise, in ms; on a busy machine the best of three tries counts. */
const soonMs = 100

async function soon(phase: () => Promise<EngineRequest>): Promise<void> {
  const waits: number[] = []
  for (let i = 0; i < 3; i++) {
    const request = await phase()
    const left = performance.now()
    const closed = await Promise.race([request.closed, sleep(2_000)])
    must(closed !== undefined, 'the engine’s connection stayed open')
    waits.push(closed - left)
  }
  const best = Math.min(...waits)
  must(best < soonMs, `closed after ${best.toFixed(0)} ms`)
}

export const clientAbort: readonly Row[] = [
  {
    name: 'a client that goes while it uploads leaves nothing at the engine',
    cases: ['14a'],
    async check(stage) {
      const { engine, port } = await stage.before()
      const client = await open(port)
      client.write('POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n{"half":')
      await sleep(50)
      client.destroy()
      await sleep(200)
      must(engine.open() === 0, 'a connection stayed open')
      must(engine.requests.length === 0, 'half a request arrived as a whole one')
    },
  },
  {
    name: 'a client that goes before the reply closes the engine’s connection within 100 ms',
    cases: ['14b'],
    async check(stage) {
      const { engine, port } = await stage.before()
      await soon(async () => {
        const client = await open(port)
        client.write(whole)
        const request = await engine.next()
        client.destroy()
        return request
      })
    },
  },
  {
    name: 'a client that goes between head and first byte closes the engine’s connection within 100 ms',
    cases: ['14c'],
    async check(stage) {
      const { engine, port } = await stage.before(({ socket }) => socket.write(streamHead))
      await soon(async () => {
        const client = await open(port)
        client.write(whole)
        const request = await engine.next()
        await sleep(50)
        client.destroy()
        return request
      })
    },
  },
  {
    name: 'a client that goes mid-stream closes the engine’s connection within 100 ms',
    cases: ['14d'],
    async check(stage) {
      const { engine, port } = await stage.before(({ socket }) => {
        socket.write(streamHead)
        const pace = setInterval(() => socket.write(chunk('data: {}\n\n')), 5)
        socket.once('close', () => clearInterval(pace))
      })
      await soon(async () => {
        const { request: client, response } = await begin(port, chat)
        const request = await engine.next()
        await new Promise((resolve) => response.once('data', resolve))
        client.destroy()
        return request
      })
    },
  },
  {
    name: 'a client that goes in the middle of a plain reply closes the engine’s connection within 100 ms',
    cases: ['14e'],
    async check(stage) {
      const { engine, port } = await stage.before(({ socket }) => socket.write(`${head('200 OK', ['content-length', '100'])}half`))
      await soon(async () => {
        const { request: client } = await begin(port, chat)
        const request = await engine.next()
        client.destroy()
        return request
      })
    },
  },
  {
    name: 'a client that closes its half only counts as gone, as it does for vLLM',
    async check(stage) {
      const { engine, port } = await stage.before()
      await soon(async () => {
        const client = await open(port)
        client.write(whole)
        const request = await engine.next()
        client.end()
        return request
      })
    },
  },
  {
    name: 'a client that does not read and goes closes the engine’s connection',
    async check(stage) {
      const { engine, port } = await stage.before(({ socket }) => {
        socket.write(streamHead)
        for (let i = 0; i < 200; i++) socket.write(chunk(Buffer.alloc(64 * 1024)))
      })
      await soon(async () => {
        const { request: client, response } = await begin(port)
        response.pause()
        const request = await engine.next()
        await sleep(200)
        client.destroy()
        return request
      })
    },
  },
  {
    name: 'requests of one connection are all given up when their client goes',
    async check(stage) {
      const { engine, port } = await stage.before()
      const client = await open(port)
      client.write(whole + whole)
      const first = await engine.next()
      await sleep(50)
      client.destroy()
      await soon(async () => first)
      await sleep(50)
      must(engine.open() === 0, 'a connection stayed open')
    },
  },
]
