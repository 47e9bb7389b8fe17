// Connections: nothing is lost when an engine closes its idle ones, nothing is sent twice, and an engine that comes
// back is used again.

import { Agent } from 'node:http'
import type { Socket } from 'node:net'
import { begin, collect, open, send, sendBytes, sleep } from '../../helpers/http.ts'
import { chunk, reply, type Script, streamHead } from '../../helpers/raw-engine.ts'
import { must, type Row } from '../row.ts'

const post = (body: string, more = '') => `POST /v1/completions HTTP/1.1\r\nhost: x\r\n${more}content-length: ${body.length}\r\n\r\n${body}`

/** Sends a request on an open connection. @returns the reply as far as it came in one piece, or nothing */
function ask(client: Socket, body: string): Promise<string> {
  const answer = new Promise<string>((resolve) => {
    const settle = (text: string) => {
      client.off('data', onData).off('close', onClose)
      resolve(text)
    }
    const onData = (part: Buffer) => settle(part.toString())
    const onClose = () => settle('')
    client.on('data', onData).on('close', onClose)
  })
  client.write(post(body))
  return answer
}

export const connections: readonly Row[] = [
  {
    name: 'an engine that closes idle connections at any moment loses none of 1000 requests',
    cases: [15],
    seconds: 60,
    async check(stage) {
      const times = new Map<string, number>()
      const { engine, port } = await stage.before(({ socket, body }) => {
        times.set(body.toString(), (times.get(body.toString()) ?? 0) + 1)
        socket.write(reply('200 OK', [], body))
        const idle = setTimeout(() => socket.destroy(), 10)
        socket.once('data', () => clearTimeout(idle))
      })
      let lost = 0
      await Promise.all(Array.from({ length: 20 }, async (_, agent) => {
        let client = await open(port)
        for (let i = 0; i < 50; i++) {
          const body = `${agent}.${i}`
          const text = await ask(client, body)
          if (!text.startsWith('HTTP/1.1 200 ') || !text.endsWith(`\r\n\r\n${body}`)) lost += 1
          if (client.readableEnded || client.destroyed) client = await open(port)
          await sleep(8 + (i % 5))
        }
        client.destroy()
      }))
      must(lost === 0, `${lost} of 1000 lost`)
      const twice = [...times.values()].filter((count) => count > 1).length
      must(twice === 0, `${twice} of 1000 answered twice`)
      must(engine.connections() > 20, 'no connection was closed under it')
      return '0 lost'
    },
  },
  {
    name: 'a request on which the engine has worked for a second is not sent to it again',
    cases: [15],
    async check(stage) {
      const { engine, port } = await stage.before(({ socket, nthOnSocket }) => {
        if (nthOnSocket === 1) socket.write(reply('200 OK', []))
        else setTimeout(() => socket.destroy(), 1_200)
      })
      await send(port, { body: 'one' })
      await sleep(20)
      const got = await send(port, { body: 'two' })
      const times = engine.requests.filter(({ body }) => body.toString() === 'two').length
      must(times === 1, `sent ${times} times`)
      must(got.status >= 500, `status ${got.status}`)
    },
  },
  {
    name: 'idle connections to the engine are closed before uvicorn closes them at 5 s',
    cases: [15],
    waits: true,
    async check(stage) {
      const { engine, port } = await stage.before(({ socket }) => socket.write(reply('200 OK', [])))
      const answeredAt = performance.now()
      await send(port)
      const request = await engine.next()
      const closed = await Promise.race([request.closed, sleep(8_000)])
      const idle = closed === undefined ? Infinity : closed - answeredAt
      must(idle < 4_900, idle === Infinity ? 'open for more than 8 s' : `after ${(idle / 1000).toFixed(1)} s`)
      must(idle > 1_000, `after ${idle.toFixed(0)} ms: none is ever used again`)
      return `after ${(idle / 1000).toFixed(1)} s`
    },
  },
  {
    name: 'a client’s idle connection is still there after 6 s',
    cases: [16],
    waits: true,
    async check(stage) {
      const { port } = await stage.before(({ socket, body }) => socket.write(reply('200 OK', [], body)))
      const client = await open(port)
      must((await ask(client, 'one')).endsWith('one'), 'no reply')
      await sleep(6_000)
      must((await ask(client, 'two')).endsWith('two'), 'closed')
      client.destroy()
    },
  },
  {
    name: 'an engine that restarts while 50 streams run: each of them looks dead, and later requests work',
    cases: [9, 15],
    seconds: 30,
    async check(stage) {
      const script: Script = ({ socket, body }) => {
        if (body.includes('"whole"')) return void socket.write(reply('200 OK', [], 'whole'))
        socket.write(streamHead)
        const pace = setInterval(() => socket.write(chunk('data: {}\n\n')), 5)
        socket.once('close', () => clearInterval(pace))
      }
      let engine = await stage.engine(script)
      const port = await stage.proxy(engine.origin)
      for (let restart = 0; restart < 3; restart++) {
        const streams = await Promise.all(Array.from({ length: 50 }, async () => {
          const { response } = await begin(port, { target: '/v1/chat/completions', body: '{"stream":true}' })
          const collected = collect(response)
          await new Promise((resolve) => response.once('data', resolve))
          // Not the reply itself: awaiting it would wait for its end.
          return { collected }
        }))
        const ends = Promise.race([Promise.all(streams.map(({ collected }) => collected)), sleep(5_000)])
        await engine.close()
        const got = await ends
        must(got !== undefined, 'clients are left waiting')
        must(!got.some(({ whole }) => whole), `${got.filter(({ whole }) => whole).length} of 50 with a clean end`)
        must(got.every(({ body }) => body.includes('data: {}')), 'what came before is lost')
        const { status } = await send(port, { body: '"whole"' })
        must(status >= 500, `status ${status} while the engine is away`)
        engine = await stage.engine(script, { port: engine.port })
        const after = await Promise.all(Array.from({ length: 50 }, () => send(port, { body: '"whole"' })))
        const wrong = after.filter(({ status, body }) => status !== 200 || body.toString() !== 'whole')
        must(wrong.length === 0, `${wrong.length} of 50 fail when it is back, status ${wrong[0]?.status}`)
      }
    },
  },
  {
    name: 'an engine that answers more than it was asked shifts no later reply',
    async check(stage) {
      const { port } = await stage.before(({ socket, body }) => {
        socket.write(Buffer.concat([reply('200 OK', [], body), reply('200 OK', [], 'of nobody')]))
      })
      for (const body of ['one', 'two', 'three']) {
        const got = await send(port, { body })
        must(got.body.toString() === body, `${JSON.stringify(got.body.toString())} for ${body}`)
        await sleep(10)
      }
    },
  },
  {
    name: 'pipelined requests are answered in their order',
    async check(stage) {
      const { port } = await stage.before(async ({ socket, body }) => {
        if (body.toString() === 'first') await sleep(30)
        socket.write(reply('200 OK', [], `reply to ${body}`))
      })
      const answer = await sendBytes(port, post('first') + post('second', 'connection: close\r\n'))
      must(/reply to first[^]*reply to second/.test(answer), 'in another')
    },
  },
  {
    name: 'one connection carries many requests',
    async check(stage) {
      const { port } = await stage.before(({ socket, body }) => socket.write(reply('200 OK', [], body)))
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      stage.teardown(async () => agent.destroy())
      const used = new Set<string>()
      for (let i = 0; i < 30; i++) {
        const got = await send(port, { agent, body: `${i}` })
        must(got.body.toString() === `${i}`, 'another reply')
        for (const socket of Object.values(agent.freeSockets).flat()) used.add(String(socket?.localPort))
      }
      must(used.size === 1, `${used.size} connections for 30 requests`)
    },
  },
  {
    name: 'an engine that is not there is a 502 that does not tell its address',
    cases: [42],
    async check(stage) {
      const engine = await stage.engine()
      await engine.close()
      const port = await stage.proxy(engine.origin)
      const got = await send(port, { body: '{}' })
      must(got.status === 502, `status ${got.status}`)
      must(!got.body.includes(String(engine.port)) && !got.body.includes('127.0.0.1'), 'the address is in it')
    },
  },
  {
    name: 'an engine that is not there is an error that OpenAI’s clients can read',
    cases: [42],
    async check(stage) {
      const engine = await stage.engine()
      await engine.close()
      const got = await send(await stage.proxy(engine.origin), { body: '{}' })
      must((got.header('content-type') ?? '').startsWith('application/json'), got.header('content-type') ?? 'no content type')
      const { error } = JSON.parse(got.body.toString())
      must(typeof error?.message === 'string', 'no error.message')
    },
  },
  {
    name: 'a body that the engine stops reading holds up nobody else, and is let go with its client',
    async check(stage) {
      const stuck = Promise.withResolvers<Socket>()
      const { port } = await stage.before(({ socket, body }) => socket.write(reply('200 OK', [], body)), {
        onHead: (socket, head) => void (head.includes('/v1/large') && stuck.resolve(socket.pause())),
      })
      const body = Buffer.alloc(32 * 1024 * 1024, 'x')
      const client = await open(port)
      client.write(`POST /v1/large HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n`)
      client.write(body)
      const socket = await stuck.promise
      must((await send(port, { body: 'other' })).body.toString() === 'other', 'others are held up')
      const closed = new Promise((resolve) => socket.once('close', () => resolve(true)))
      client.destroy()
      await sleep(20)
      socket.resume()
      must((await Promise.race([closed, sleep(2_000)])) === true, 'the engine’s connection stayed open')
    },
  },
]
