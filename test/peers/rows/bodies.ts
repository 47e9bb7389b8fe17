// Bodies: bytes in, the same bytes out, in both directions.

import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import { begin, collect, open, readAll, send, sleep } from '../../helpers/http.ts'
import { head, reply } from '../../helpers/raw-engine.ts'
import { must, type Row } from '../row.ts'

const anyBytes = fc.uint8Array({ maxLength: 5_000 }).map((bytes) => Buffer.from(bytes))
const anyBody = fc.oneof(anyBytes, anyBytes.map((bytes) => gzipSync(bytes)), fc.json().map((text) => Buffer.from(text)))
const anyMethod = fc.constantFrom('POST', 'PUT', 'PATCH', 'DELETE')

/** Answers of an engine, errors above all: status line, headers, body. */
const answers: readonly (readonly [string, string[], string])[] = [
  ['207 Some Reason', [], 'x'],
  ['307 Temporary Redirect', ['location', 'http://elsewhere/v1/'], ''],
  ['400 Bad Request', ['content-type', 'application/json'], '{"error":{"message":"maximum context length is 8"}}'],
  ['400 Bad Request', [], ''],
  ['401 Unauthorized', ['www-authenticate', 'Bearer', 'content-type', 'application/json'], '{"error":"Unauthorized"}'],
  ['404 Not Found', ['content-type', 'application/json'], '{"detail":"Not Found"}'],
  ['409 Conflict', ['x-should-retry', 'true'], ''],
  ['422 Unprocessable Entity', ['content-type', 'text/plain'], 'no'],
  ['429 Too Many Requests', ['Retry-After', '7', 'x-ratelimit-remaining', '0'], 'slow down'],
  ['500 Internal Server Error', ['content-type', 'text/html'], '<html>oops</html>'],
  ['503 Service Unavailable', ['retry-after', '1'], ''],
  ['599 Odd One', [], 'x'],
]

export const bodies: readonly Row[] = [
  {
    name: 'any body reaches the engine byte for byte, and so does any reply',
    cases: [23, 35, 39],
    async check(stage) {
      let answer: Buffer = Buffer.alloc(0)
      const { engine, port } = await stage.before((request) => request.socket.write(answer))
      for (const [method, sent, back] of fc.sample(fc.tuple(anyMethod, anyBody, anyBody), 60)) {
        answer = reply('200 OK', ['content-type', 'application/json'], back)
        const got = await send(port, { method, headers: ['content-type', 'application/json'], body: sent })
        const seen = engine.requests.pop()
        must(seen?.method === method && seen.body.equals(sent), `other bytes to the engine (${method})`)
        must(got.whole && got.body.equals(back), 'other bytes to the client')
      }
    },
  },
  {
    name: 'compressed and broken bodies pass with their header',
    cases: [23],
    async check(stage) {
      const { engine, port } = await stage.before(({ socket }) => socket.write(reply('200 OK', [])))
      const text = '{"model":"m"}'
      const packed: [string, Buffer][] = [
        ['gzip', gzipSync(text)],
        ['br', brotliCompressSync(text)],
        ['zstd', zstdCompressSync(text)],
        ['gzip, zstd', zstdCompressSync(gzipSync(text))],
        ['gzip', Buffer.from([0x1f, 0x8b, 8, 0, 1, 2, 3])],
        // A bomb: 64 MB of zeros in 64 KB.
        ['gzip', gzipSync(Buffer.alloc(64 * 1024 * 1024))],
        ['identity', Buffer.from([0xff, 0xfe, 0x80, 0xc3])],
      ]
      for (const [encoding, body] of packed) {
        const got = await send(port, { target: '/v1/chat/completions', headers: ['content-encoding', encoding, 'content-type', 'application/json'], body })
        const seen = engine.requests.pop()
        must(got.status === 200, `${encoding}: status ${got.status}`)
        must(seen?.header('content-encoding') === encoding && seen.body.equals(body), `${encoding}: changed`)
      }
    },
  },
  {
    name: 'accept-encoding goes on as sent and an encoded reply comes back as encoded',
    cases: [30],
    async check(stage) {
      const packed = gzipSync('some reply')
      const { engine, port } = await stage.before((request) => {
        const zip = request.header('accept-encoding')?.includes('gzip')
        request.socket.write(zip ? reply('200 OK', ['content-encoding', 'gzip'], packed) : reply('200 OK', [], 'some reply'))
      })
      for (const accepted of ['gzip, deflate', 'identity', undefined]) {
        const got = await send(port, accepted === undefined ? {} : { headers: ['Accept-Encoding', accepted] })
        must(engine.requests.at(-1)!.header('accept-encoding') === accepted, `accept-encoding ${accepted} is changed`)
        const zip = accepted?.includes('gzip') ?? false
        must(got.header('content-encoding') === (zip ? 'gzip' : undefined) && got.body.equals(zip ? packed : Buffer.from('some reply')), 'the reply is changed')
      }
    },
  },
  {
    name: 'a body of 60 MB passes whole, both ways',
    cases: [21],
    async check(stage) {
      const { engine, port } = await stage.before((request) => request.socket.write(reply('200 OK', [], request.body)))
      for (const length of [1024 * 1024 + 1, 10_000_000, 60_000_000]) {
        const body = Buffer.alloc(length, 'abcdefg')
        const got = await send(port, { body })
        must(got.status === 200, `status ${got.status}`)
        must(engine.requests.pop()!.body.equals(body), `${length} bytes out`)
        must(got.body.equals(body), `${length} bytes back`)
      }
    },
  },
  {
    name: 'an upload in chunks arrives whole, framed in one way',
    cases: [24],
    async check(stage) {
      const { engine, port } = await stage.before(({ socket }) => socket.write(reply('200 OK', ['connection', 'close'])))
      const client = await open(port)
      const answer = readAll(client)
      client.write('POST /v1/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n')
      for (const part of ['{"a":', '1}']) {
        client.write(`${part.length.toString(16)}\r\n${part}\r\n`)
        await sleep(10)
      }
      client.write('0\r\n\r\n')
      must((await answer).startsWith('HTTP/1.1 200 '), 'no 200')
      const { body, rawHeaders } = engine.requests[0]!
      must(body.toString() === '{"a":1}', `arrived as ${JSON.stringify(body.toString())}`)
      const framings = rawHeaders.filter((name, i) => i % 2 === 0 && /^(content-length|transfer-encoding)$/i.test(name))
      must(framings.length === 1, framings.join(' and '))
    },
  },
  {
    name: 'curl’s expect: 100-continue is answered, and the body arrives whole',
    cases: [17],
    async check(stage) {
      const { engine, port } = await stage.before(({ socket, body }) => socket.write(reply('200 OK', ['connection', 'close'], String(body.length))))
      const client = await open(port)
      const first = new Promise<string>((resolve) => client.once('data', (part) => resolve(part.toString())).once('close', () => resolve('')))
      const length = 1024 * 1024 + 1
      client.write(`POST /v1/x HTTP/1.1\r\nhost: x\r\nconnection: close\r\nExpect: 100-continue\r\ncontent-length: ${length}\r\n\r\n`)
      const continued = await Promise.race([first, sleep(2_000)])
      must(continued?.startsWith('HTTP/1.1 100 ') === true, continued?.split('\r\n', 1)[0] || 'no answer')
      const rest = readAll(client)
      client.write(Buffer.alloc(length, 'a'))
      must((await rest).endsWith(`\r\n\r\n${length}`), 'no reply')
      must(engine.requests[0]!.header('expect') === undefined, 'the header goes on')
    },
  },
  {
    name: 'an engine that refuses an upload at its head and closes is heard',
    async check(stage) {
      const { port } = await stage.before(undefined, {
        // What it has not read makes its close a reset.
        onHead: (socket) => socket.pause().end(reply('413 Payload Too Large', ['connection', 'close'], 'no more than that'), () => setTimeout(() => socket.destroy(), 100)),
      })
      for (const size of [20_000, 200_000, 8 * 1024 * 1024]) {
        const got = await send(port, { target: '/v1/large', body: Buffer.alloc(size, 'x') })
        must(got.status === 413 && got.body.toString() === 'no more than that', `status ${got.status}`)
      }
    },
  },
  {
    name: 'answers of the engine pass unchanged, errors and redirects too',
    cases: [42, 43],
    async check(stage) {
      let answer = answers[0]!
      const { port } = await stage.before(({ socket }) => socket.write(reply(answer[0], answer[1], answer[2])))
      for (answer of answers) {
        const [status, headers, body] = answer
        const got = await send(port, { target: '/v1/chat/completions', body: '{}' })
        must(got.status === Number(status.slice(0, 3)), `${status}: status ${got.status}`)
        for (let i = 0; i < headers.length; i += 2) must(got.header(headers[i]!) === headers[i + 1], `${status}: ${headers[i]} is ${got.header(headers[i]!)}`)
        must(got.body.toString() === body, `${status}: another body`)
      }
    },
  },
  {
    name: 'reasons in the status line pass unchanged',
    cases: [42],
    async check(stage) {
      const { port } = await stage.before(({ socket }) => socket.write(reply('207 Some Reason', [])))
      const { statusMessage } = await send(port)
      must(statusMessage === 'Some Reason', `“${statusMessage}”`)
    },
  },
  {
    name: 'HEAD keeps the length of the body that it does not bring',
    cases: [29],
    async check(stage) {
      const { port } = await stage.before(({ socket }) => socket.write(head('200 OK', ['content-length', '1234'])))
      const got = await Promise.race([send(port, { method: 'HEAD' }), sleep(2_000)])
      must(got !== undefined, 'no reply')
      must(got.status === 200 && got.whole, `status ${got.status}`)
      must(got.header('content-length') === '1234', `content-length ${got.header('content-length') ?? 'is gone'}`)
    },
  },
  {
    name: 'replies without a body end where their head ends',
    cases: [29],
    async check(stage) {
      const { port } = await stage.before(({ socket, target }) =>
        socket.write(head(target === '/v1/204' ? '204 No Content' : '304 Not Modified', ['etag', '"x"'])))
      for (const status of [204, 304]) {
        const got = await Promise.race([send(port, { method: 'GET', target: `/v1/${status}` }), sleep(2_000)])
        must(got !== undefined, `${status}: no end`)
        must(got.status === status && got.whole, `${status}: status ${got.status}`)
        must(got.header('transfer-encoding') === undefined, `${status}: transfer-encoding`)
      }
    },
  },
  {
    name: 'trailers are relayed',
    cases: [29],
    async check(stage) {
      const { port } = await stage.before(({ socket }) =>
        socket.write(`${head('200 OK', ['transfer-encoding', 'chunked', 'trailer', 'X-Sum'])}2\r\nhi\r\n0\r\nX-Sum: 42\r\nx-sum: 43\r\n\r\n`))
      const got = await collect((await begin(port)).response)
      must(got.body.toString() === 'hi', 'another body')
      must(got.rawTrailers.join() === 'X-Sum,42,x-sum,43', got.rawTrailers.length === 0 ? 'dropped' : got.rawTrailers.join())
    },
  },
]
