// How requests are framed, over raw sockets. What could be read in two ways is refused here by the parser and never
// reaches the engine; all else reaches it as sent.

import t from 'tap'
import { open, readAll, sendBytes, sleep } from '../helpers/http.ts'
import { startProxy } from '../helpers/proxy.ts'
import { head, reply, startRawEngine } from '../helpers/raw-engine.ts'

const engine = await startRawEngine(t, ({ socket, body }) => socket.write(reply('200 OK', [], body)))
const proxy = await startProxy(t, engine.origin)

const start = 'POST /v1/completions HTTP/1.1\r\nhost: x\r\n'
const smuggled = 'GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n'

const refused: Record<string, string> = {
  'both length headers': `${start}content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
  'both length headers, the other way round': `${start}transfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\n`,
  'two lengths that differ': `${start}content-length: 2\r\ncontent-length: 3\r\n\r\n{}}`,
  'two equal lengths': `${start}content-length: 2\r\ncontent-length: 2\r\n\r\n{}`,
  'a list of lengths': `${start}content-length: 2, 2\r\n\r\n{}`,
  'a length with a sign': `${start}content-length: +2\r\n\r\n{}`,
  'a negative length': `${start}content-length: -2\r\n\r\n{}`,
  'a length in hexadecimal': `${start}content-length: 0x2\r\n\r\n{}`,
  'a length with a space inside': `${start}content-length: 1 2\r\n\r\n{}`,
  'an empty length': `${start}content-length:\r\n\r\n{}`,
  'a length beyond 64 bits': `${start}content-length: 99999999999999999999\r\n\r\n{}`,
  'chunked, but not last': `${start}transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n`,
  'chunked twice': `${start}transfer-encoding: chunked, chunked\r\n\r\n0\r\n\r\n`,
  'chunked in two headers': `${start}transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n\r\n0\r\n\r\n`,
  'an unknown coding': `${start}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n`,
  'a chunk size that is no number': `${start}transfer-encoding: chunked\r\n\r\nxyz\r\n{}\r\n0\r\n\r\n`,
  'a chunk size with a prefix': `${start}transfer-encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n`,
  'a negative chunk size': `${start}transfer-encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n`,
  'a chunk size beyond 64 bits': `${start}transfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}\r\n0\r\n\r\n`,
  'a chunk longer than its size': `${start}transfer-encoding: chunked\r\n\r\n2\r\n{}}}\r\n0\r\n\r\n`,
  'a chunk ended by a bare line feed': `${start}transfer-encoding: chunked\r\n\r\n2\n{}\n0\n\n`,
  'a space before the colon': `${start}content-length : 2\r\n\r\n{}`,
  'a tab before the colon': `${start}transfer-encoding\t: chunked\r\n\r\n0\r\n\r\n`,
  'a folded header': `${start}x-long: a\r\n b\r\ncontent-length: 2\r\n\r\n{}`,
  'a folded length': `${start}content-length:\r\n 2\r\n\r\n{}`,
  'a header line without a colon': `${start}nonsense\r\n\r\n`,
  'a header without a name': `${start}: x\r\n\r\n`,
  'a control character in a name': `${start}x\x01y: 1\r\n\r\n`,
  'a zero byte in a value': `${start}x: a\0b\r\n\r\n`,
  'a bare carriage return in a value': `${start}x: a\rcontent-length: 2\r\n\r\n{}`,
  'bare line feeds': 'POST /v1/completions HTTP/1.1\nhost: x\ncontent-length: 2\n\n{}',
  'a bare line feed after a header': 'POST /v1/completions HTTP/1.1\r\nhost: x\ncontent-length: 2\r\n\r\n{}',
  'a space in the target': 'GET /v1/models x HTTP/1.1\r\nhost: x\r\n\r\n',
  'an unknown version': 'GET /v1/models HTTP/1.2\r\nhost: x\r\n\r\n',
  'HTTP/2 by prior knowledge': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'a method that is none': 'G@T /v1/models HTTP/1.1\r\nhost: x\r\n\r\n',
  'no HTTP at all': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
}

for (const [what, bytes] of Object.entries(refused)) {
  t.test(`${what}: refused here, and what follows with it [case 24]`, async (t) => {
    const before = [engine.requests.length, engine.connections()]
    const answer = await sendBytes(proxy.port, Buffer.from(bytes + smuggled, 'latin1'))
    t.match(answer, /^HTTP\/1\.1 400 Bad Request\r\n/)
    t.match(answer, /"code":"malformed_request"/)
    t.equal(answer.split('HTTP/1.1 ').length, 2, 'one answer')
    t.same([engine.requests.length, engine.connections()], before)
  })
}

interface Passing {
  readonly bytes: string
  /** Bodies of the requests that the engine gets. */
  readonly bodies: readonly string[]
}

const passing: Record<string, Passing> = {
  'requests one behind the other in one write': { bytes: `${start}content-length: 3\r\n\r\none${start}content-length: 3\r\n\r\ntwo`, bodies: ['one', 'two'] },
  'chunks, extensions and trailers': { bytes: `${start}transfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n3;ext="a;b"\r\none\r\n2\r\n{}\r\n0\r\nx-sum: 1\r\n\r\n`, bodies: ['one{}'] },
  'chunk sizes with leading zeros, in capitals': { bytes: `${start}Transfer-Encoding: CHUNKED\r\n\r\n000A\r\n0123456789\r\n0\r\n\r\n`, bodies: ['0123456789'] },
  'a length with leading zeros': { bytes: `${start}content-length: 0002\r\n\r\n{}`, bodies: ['{}'] },
  'empty lines in front of a request': { bytes: `\r\n\r\n${start}content-length: 2\r\n\r\n{}`, bodies: ['{}'] },
  'a body that looks like a request': { bytes: `${start}content-length: ${smuggled.length}\r\n\r\n${smuggled}`, bodies: [smuggled] },
  'a GET with a body': { bytes: 'GET /v1/models HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}', bodies: ['{}'] },
  'no host': { bytes: 'POST /v1/completions HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}', bodies: ['{}'] },
  'header values that are not ASCII': { bytes: `${start}x-name: caf\xe9 \xff\r\ncontent-length: 2\r\n\r\n{}`, bodies: ['{}'] },
}

for (const [what, { bytes, bodies }] of Object.entries(passing)) {
  t.test(`${what}: passed as sent`, async (t) => {
    const before = engine.requests.length
    const client = await open(proxy.port)
    const answer = readAll(client)
    client.write(Buffer.from(bytes, 'latin1'))
    for (let i = 0; i < 100 && engine.requests.length < before + bodies.length; i++) await sleep(10)
    await sleep(20)
    client.end()
    const replies = (await answer).split('HTTP/1.1 200 OK\r\n').slice(1)
    // Requests in flight at a time go to engines in any order; their replies keep it.
    t.same(engine.requests.slice(before).map(({ body }) => body.toString()).toSorted(), [...bodies].toSorted())
    t.same(replies.map((text) => text.slice(text.indexOf('\r\n\r\n') + 4)), bodies)
    for (const request of engine.requests.slice(before)) {
      t.equal(request.header('transfer-encoding'), undefined)
      t.equal(request.header('trailer'), undefined)
    }
  })
}

t.test('header values that are not ASCII keep their bytes', async (t) => {
  await sendBytes(proxy.port, Buffer.from('GET /v1/models HTTP/1.1\r\nconnection: close\r\nx-name: caf\xe9 \xff\r\n\r\n', 'latin1'))
  t.equal(engine.requests.at(-1)!.header('x-name'), 'caf\xe9 \xff')
})

t.test('an asked upgrade to another protocol is not made: the request passes without it', async (t) => {
  for (const upgrade of ['h2c', 'TLS/1.2', 'something']) {
    const before = engine.requests.length
    const answer = await sendBytes(proxy.port, `${start}connection: upgrade, close, http2-settings\r\nupgrade: ${upgrade}\r\nhttp2-settings: AAMAAABk\r\ncontent-length: 2\r\n\r\n{}`)
    t.match(answer, /^HTTP\/1\.1 200 OK\r\n/)
    t.equal(engine.requests.length, before + 1)
    t.equal(engine.requests.at(-1)!.header('upgrade'), undefined)
    t.equal(engine.requests.at(-1)!.header('http2-settings'), undefined)
  }
})

t.test('CONNECT opens no tunnel', async (t) => {
  const before = engine.connections()
  const answer = await sendBytes(proxy.port, 'CONNECT 127.0.0.1:1 HTTP/1.1\r\nhost: x\r\n\r\n')
  t.notMatch(answer, /^HTTP\/1\.1 2/)
  t.equal(engine.connections(), before)
})

t.test('OPTIONS of the whole server goes to no engine', async (t) => {
  const before = engine.requests.length
  t.match(await sendBytes(proxy.port, 'OPTIONS * HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'), /^HTTP\/1\.1 404 /)
  t.equal(engine.requests.length, before)
})

t.test('a head that comes byte by byte is read like any other', async (t) => {
  const client = await open(proxy.port)
  const answer = readAll(client)
  for (const byte of Buffer.from(`${start}connection: close\r\ncontent-length: 2\r\n\r\n{}`)) {
    client.write(Buffer.of(byte))
    await new Promise(setImmediate)
  }
  t.match(await answer, /^HTTP\/1\.1 200 OK\r\n/)
})

t.test('several informational replies are not taken for the reply, and a reply after them is whole', async (t) => {
  const informing = await startRawEngine(t, ({ socket }) => {
    socket.write(`${head('103 Early Hints', ['link', '</x>; rel=preload'])}HTTP/1.1 102 Processing\r\n\r\n`)
    socket.write(reply('200 OK', ['x-final', 'yes'], 'body'))
  })
  const front = await startProxy(t, informing.origin)
  const answer = await sendBytes(front.port, `${start}connection: close\r\ncontent-length: 2\r\n\r\n{}`)
  t.match(answer, /^HTTP\/1\.1 200 OK\r\n/)
  t.match(answer, /body$/)
})

t.test('an engine that answers more than it was asked shifts no later reply', async (t) => {
  const talking = await startRawEngine(t, ({ socket, body }) => {
    socket.write(Buffer.concat([reply('200 OK', [], body), reply('200 OK', [], 'of nobody')]))
  })
  const front = await startProxy(t, talking.origin)
  for (const body of ['one', 'two', 'three']) {
    const answer = await sendBytes(front.port, `${start}connection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
    t.match(answer, new RegExp(`${body}$`))
    await sleep(10)
  }
})
