// Streams of server-sent events leave as they came, and when they came.

import fc from 'fast-check'
import { begin, collect, open, readAll, send, sleep } from '../../helpers/http.ts'
import { chunk, head, lastChunk, streamHead } from '../../helpers/raw-engine.ts'
import { must, type Row } from '../row.ts'

const chat = { target: '/v1/chat/completions', body: '{}' }

const events = [
  'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}',
  'data: {"choices":[{"index":0,"delta":{"content":"漢é👩‍👩‍👧"}}]}',
  'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
  'data: {"choices":[],"usage":{"prompt_tokens":3}}',
  'data: [DONE]',
]
const stream = Buffer.from(events.map((event) => `${event}\n\n`).join(''))

const forms: Record<string, string> = {
  'CRLF': 'data: {"a":1}\r\n\r\ndata: [DONE]\r\n\r\n',
  'CR': 'data: {"a":1}\r\rdata: [DONE]\r\r',
  'no space': 'data:{"a":1}\n\ndata:[DONE]\n\n',
  'byte order mark': '\u00ef\u00bb\u00bfdata: {"a":1}\n\ndata: [DONE]\n\n',
  'comments and fields': ': ping\n\nevent: x\nid: 1\nretry: 5\ndata:\n\ndata: {"a":1}\n\ndata: [DONE]\n\n: bye\n\n',
  'no [DONE]': 'data: {"choices":[{"finish_reason":"stop"}]}\n\n',
  '[DONE] inside a text': 'data: {"choices":[{"delta":{"content":"data: [DONE]\\n\\n"}}]}\n\n',
  'end inside an event': 'data: {"choices":[{"delta":{"tool_calls":[{"index"',
  'an error event': 'data: {"error":{"message":"no","code":500}}\n\ndata: [DONE]\n\n',
  'not UTF-8': 'da\xff\xfe\0\n',
}

export const streams: readonly Row[] = [
  {
    name: 'a stream that arrives byte by byte leaves as the same bytes',
    cases: [1],
    async check(stage) {
      const { port } = await stage.before(async ({ socket }) => {
        socket.write(streamHead)
        for (const byte of stream) {
          socket.write(chunk(Buffer.of(byte)))
          await new Promise(setImmediate)
        }
        socket.write(lastChunk)
      })
      const got = await send(port, chat)
      must(got.whole && got.body.equals(stream), `${got.body.length} of ${stream.length} bytes`)
    },
  },
  {
    name: 'any split of a stream, cut inside characters too, leaves as the same bytes',
    cases: [2],
    async check(stage) {
      let cuts: number[] = []
      const { port } = await stage.before(async ({ socket }) => {
        const wire = Buffer.concat([Buffer.from(streamHead), chunk(stream), Buffer.from(lastChunk)])
        let start = 0
        for (const cut of [...cuts, wire.length]) {
          socket.write(wire.subarray(start, Math.max(start, cut)))
          start = Math.max(start, cut)
          await new Promise(setImmediate)
        }
      })
      const cutting = fc.array(fc.nat(streamHead.length + stream.length), { minLength: 1, maxLength: 6 })
      for (const drawn of fc.sample(cutting, 40)) {
        cuts = drawn.sort((a, b) => a - b)
        const got = await send(port)
        must(got.whole && got.body.equals(stream), `other bytes when cut at ${cuts}`)
      }
    },
  },
  {
    name: 'all forms of server-sent events pass untouched',
    cases: [3, 4, 5, 10],
    async check(stage) {
      let body: Buffer = Buffer.alloc(0)
      const { port } = await stage.before(({ socket }) => {
        socket.write(streamHead)
        for (let i = 0; i < body.length; i += 7) socket.write(chunk(body.subarray(i, i + 7)))
        socket.write(lastChunk)
      })
      const changed: string[] = []
      for (const [name, text] of Object.entries(forms)) {
        body = Buffer.from(text, 'latin1')
        const got = await send(port, chat)
        if (!got.whole || !got.body.equals(body)) changed.push(name)
      }
      must(changed.length === 0, `changed: ${changed.join(', ')}`)
    },
  },
  {
    name: 'the head of a stream arrives within 50 ms while the engine prefills in silence',
    cases: [8],
    async check(stage) {
      const { engine, port } = await stage.before()
      const waits: number[] = []
      for (let i = 0; i < 5; i++) {
        const begun = begin(port, chat).catch(() => undefined)
        const request = await engine.next()
        const sent = performance.now()
        request.socket.write(streamHead)
        const came = await Promise.race([begun, sleep(2_000)])
        must(came !== undefined, 'not within 2 s')
        waits.push(performance.now() - sent)
        must(came.response.headers['content-type'] === 'text/event-stream; charset=utf-8', 'another content type')
        request.socket.write(lastChunk)
        await collect(came.response)
      }
      const best = Math.min(...waits)
      must(best < 50, `${best.toFixed(0)} ms`)
    },
  },
  {
    name: 'each chunk arrives before the engine writes the next',
    cases: [7],
    async check(stage) {
      const { engine, port } = await stage.before()
      const begun = begin(port)
      const request = await engine.next()
      request.socket.write(`${streamHead}${chunk('data: first\n\n')}`)
      const { response } = await begun
      await new Promise((resolve) => response.once('data', resolve))
      for (let i = 0; i < 20; i++) {
        const arrived = new Promise<Buffer>((resolve) => response.once('data', resolve))
        request.socket.write(chunk(`data: ${i}\n\n`))
        // The next chunk is written only after this one came through: a proxy that waits for more hangs here.
        const got = await Promise.race([arrived, sleep(2_000)])
        must(got !== undefined, `chunk ${i + 1} was held back`)
        must(got.toString() === `data: ${i}\n\n`, `chunk ${i + 1} arrived as ${got.length} bytes`)
      }
      request.socket.write(lastChunk)
    },
  },
  {
    name: 'events of twenty paced streams take less than 10 ms, as a median',
    cases: [7],
    async check(stage) {
      const { port } = await stage.before(async ({ socket }) => {
        socket.write(streamHead)
        for (let i = 0; i < 50; i++) {
          socket.write(chunk(`data: ${performance.now()}\n\n`))
          await sleep(10)
        }
        socket.write(lastChunk)
      })
      const delays: number[] = []
      await Promise.all(Array.from({ length: 20 }, async () => {
        const { response } = await begin(port, chat)
        response.on('data', (part: Buffer) => {
          for (const [, sent] of part.toString().matchAll(/data: (.*)\n\n/g)) delays.push(performance.now() - Number(sent))
        })
        await collect(response)
      }))
      const median = delays.sort((a, b) => a - b)[delays.length / 2 | 0] ?? Infinity
      must(delays.length === 1_000, `${delays.length} of 1000 events`)
      must(median < 10, `median ${median.toFixed(1)} ms`)
      return `median ${median.toFixed(1)} ms`
    },
  },
  {
    name: 'fifty streams at a time keep their own bytes',
    cases: [20],
    async check(stage) {
      const { port } = await stage.before(async ({ socket, body }) => {
        socket.write(streamHead)
        for (let i = 0; i < 40; i++) {
          socket.write(chunk(`data: ${body} ${i}\n\n`))
          await sleep(Number(body) % 5)
        }
        socket.write(lastChunk)
      })
      const right = await Promise.all(Array.from({ length: 50 }, async (_, stream) => {
        const got = await send(port, { ...chat, body: String(stream) })
        return got.whole && got.body.toString() === Array.from({ length: 40 }, (_, i) => `data: ${stream} ${i}\n\n`).join('')
      }))
      must(right.every(Boolean), `${right.filter((one) => !one).length} of 50 wrong`)
    },
  },
  {
    name: 'a slow reader holds the engine back instead of filling memory',
    async check(stage) {
      const total = 64 * 1024 * 1024
      const piece = Buffer.alloc(64 * 1024, 'x')
      let written = 0
      const { port } = await stage.before(async ({ socket }) => {
        socket.write(head('200 OK', ['content-length', String(total)]))
        while (written < total) {
          written += piece.length
          if (!socket.write(piece)) await new Promise((resolve) => socket.once('drain', resolve))
        }
      })
      const { response } = await begin(port)
      response.pause()
      await sleep(500)
      const taken = written
      must(taken < total / 2, `${(taken / 2 ** 20).toFixed(0)} of 64 MiB taken from the engine`)
      const collected = collect(response)
      response.resume()
      const got = await collected
      must(got.whole && got.body.length === total, `${got.body.length} of ${total} bytes`)
    },
  },
  {
    name: 'a stream that is silent for 65 seconds goes on',
    seconds: 90,
    waits: true,
    slow: true,
    async check(stage) {
      const { port } = await stage.before(async ({ socket }) => {
        socket.write(streamHead + chunk('data: 1\n\n').toString())
        await sleep(65_000)
        socket.write(chunk('data: 2\n\n').toString() + lastChunk)
      })
      const began = performance.now()
      const got = await send(port, chat)
      must(got.whole && got.body.toString() === 'data: 1\n\ndata: 2\n\n', `ended after ${((performance.now() - began) / 1000).toFixed(0)} s`)
    },
  },
  {
    name: 'an HTTP/1.0 client gets the body until the connection ends, without chunks',
    async check(stage) {
      const { port } = await stage.before(({ socket }) => socket.write(streamHead + chunk('data: 1\n\n').toString() + lastChunk))
      const client = await open(port)
      client.write('GET /v1/x HTTP/1.0\r\n\r\n')
      const answer = await readAll(client)
      must(answer.endsWith('\r\n\r\ndata: 1\n\n'), JSON.stringify(answer.slice(-30)))
      must(!/transfer-encoding/i.test(answer), 'transfer-encoding in it')
    },
  },
]
