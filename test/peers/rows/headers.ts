// Headers: what belongs to one connection ends at it, all else goes on.

import { send, sendBytes, valueOf, without } from '../../helpers/http.ts'
import { head, reply } from '../../helpers/raw-engine.ts'
import { must, type Row } from '../row.ts'

/** What client and proxy may each make for their own connection. */
export const perConnection = ['host', 'connection', 'keep-alive', 'content-length', 'transfer-encoding', 'date']

const requestLines = [
  'Authorization', 'Bearer sk-1', 'x-api-key', 'k', 'X-Request-Id', 'a', 'x-session-id', 's', 'session_id', 't', 'User-Agent', 'OpenAI/Python 1.0',
  'X-Stainless-Lang', 'python', 'x-foo', 'one', 'accept', '*/*', 'X-Foo', 'two', 'x-empty', '', 'Cookie', 'a=1; b=2', 'traceparent', '00-1-2-01', 'Via', '1.1 other',
]

const replyLines = [
  'Set-Cookie', 'a=1', 'x-foo', 'one', 'set-cookie', 'b=2', 'X-Request-Id', 'r', 'X-Foo', 'two', 'Retry-After', '7', 'x-empty', '',
]

/** The same lines, whatever their order and case. */
const loosely = (lines: readonly string[]) => lines.map((line) => line.replace(/^[^:]*/, (name) => name.toLowerCase())).sort()

function compare(got: readonly string[], sent: readonly string[]): void {
  const missing = sent.filter((line) => !got.includes(line))
  const added = got.filter((line) => !sent.includes(line))
  const joined = missing.length > added.length && names(added) === [...new Set(missing.map(nameOf))].join(', ')
  must(!joined, `joined: ${names(added)}`)
  const told = [missing.length > 0 && `missing: ${names(missing)}`, added.length > 0 && `added: ${names(added)}`].filter(Boolean)
  must(told.length === 0 && got.length === sent.length, told.join('; ') || 'another number')
}

const nameOf = (line: string) => line.split(':', 1)[0]!
const names = (lines: readonly string[]) => lines.map(nameOf).join(', ')

export const headers: readonly Row[] = [
  {
    name: 'a request’s headers reach the engine, each as often as it was sent, and no other does',
    cases: [25, 26],
    async check(stage) {
      const { engine, port } = await stage.before(({ socket }) => socket.write(reply('200 OK', [])))
      await send(port, { headers: requestLines, body: '{}' })
      compare(loosely(without(engine.requests[0]!.rawHeaders, perConnection)), loosely(without(requestLines, [])))
    },
  },
  {
    name: 'a request’s headers keep their order and case',
    cases: [25],
    async check(stage) {
      const { engine, port } = await stage.before(({ socket }) => socket.write(reply('200 OK', [])))
      await send(port, { headers: requestLines, body: '{}' })
      const got = without(engine.requests[0]!.rawHeaders, perConnection).map((line) => line.split(':', 1)[0]!)
      const sent = requestLines.filter((_, i) => i % 2 === 0)
      must(sent.filter((name) => got.includes(name)).length === sent.length, 'another case')
      must(got.filter((name) => sent.includes(name)).join() === sent.join(), 'another order')
    },
  },
  {
    name: 'a reply’s headers reach the client, each as often as it was sent',
    cases: [25],
    async check(stage) {
      const { port } = await stage.before(({ socket }) => socket.write(reply('200 OK', replyLines)))
      const got = await send(port)
      compare(loosely(without(got.rawHeaders, [...perConnection, 'server'])), loosely(without(replyLines, [])))
    },
  },
  {
    name: 'a reply’s headers keep their order and case',
    cases: [25],
    async check(stage) {
      const { port } = await stage.before(({ socket }) => socket.write(reply('200 OK', replyLines)))
      const got = without((await send(port)).rawHeaders, perConnection).map((line) => line.split(':', 1)[0]!)
      const sent = replyLines.filter((_, i) => i % 2 === 0)
      must(sent.every((name) => got.includes(name)), 'another case')
      must(got.filter((name) => sent.includes(name)).join() === sent.join(), 'another order')
    },
  },
  {
    name: 'date and server are the engine’s, once each',
    cases: [25],
    async check(stage) {
      const date = 'Thu, 01 Jan 1970 00:00:00 GMT'
      const { port } = await stage.before(({ socket }) => socket.write(reply('200 OK', ['date', date, 'server', 'uvicorn'])))
      const got = await send(port)
      const all = (name: string) => got.rawHeaders.filter((_, i) => i % 2 === 1 && got.rawHeaders[i - 1]!.toLowerCase() === name)
      must(all('date').join() === date, `date ${all('date').join(' and ')}`)
      must(all('server').join() === 'uvicorn', `server ${all('server').join(' and ')}`)
    },
  },
  {
    name: 'what belongs to one connection ends at it: a request’s headers',
    cases: [26],
    async check(stage) {
      const { engine, port } = await stage.before(({ socket }) => socket.write(reply('200 OK', [])))
      await send(port, {
        headers: [
          'Connection', 'x-secret-hop, keep-alive', 'X-Secret-Hop', '1', 'te', 'trailers', 'proxy-authorization', 'Basic eDp5',
          'proxy-connection', 'keep-alive', 'x-unknown', 'kept',
        ],
        body: '{}',
      })
      const leaked = ['x-secret-hop', 'te', 'proxy-authorization', 'proxy-connection'].filter((name) => engine.requests[0]!.header(name) !== undefined)
      must(leaked.length === 0, `goes on: ${leaked.join(', ')}`)
      must(engine.requests[0]!.header('x-unknown') === 'kept', 'others are taken away')
    },
  },
  {
    name: 'what belongs to one connection ends at it: a reply’s headers',
    cases: [26],
    async check(stage) {
      const { port } = await stage.before(({ socket }) => socket.write(reply('200 OK', [
        'connection', 'X-Reply-Hop', 'x-reply-hop', '1', 'proxy-authenticate', 'Basic', 'proxy-connection', 'keep-alive', 'x-kept', 'yes',
      ])))
      const got = await send(port)
      const leaked = ['x-reply-hop', 'proxy-authenticate', 'proxy-connection'].filter((name) => got.header(name) !== undefined)
      must(leaked.length === 0, `goes on: ${leaked.join(', ')}`)
      must(got.header('x-kept') === 'yes', 'others are taken away')
    },
  },
  {
    name: 'header values that are not ASCII keep their bytes, both ways',
    cases: [25],
    async check(stage) {
      const odd = 'caf\xe9 \xff'
      const { engine, port } = await stage.before(({ socket }) => socket.write(Buffer.from(`HTTP/1.1 200 OK\r\nx-name: ${odd}\r\ncontent-length: 0\r\n\r\n`, 'latin1')))
      const got = await send(port, { headers: ['x-name', odd] })
      must(engine.requests[0]!.header('x-name') === odd, 'not to the engine')
      must(valueOf(got.rawHeaders, 'x-name') === odd, 'not to the client')
    },
  },
  {
    name: 'names with unusual characters go on, both ways',
    cases: [25],
    async check(stage) {
      const odd = ['x.dot', '1', 'x_low', '2', "x!#$%&'*+^`|~", '3']
      const { engine, port } = await stage.before(({ socket }) => socket.write(reply('200 OK', odd)))
      const got = await send(port, { headers: odd })
      const gone = (raw: readonly string[]) => odd.filter((name, i) => i % 2 === 0 && valueOf(raw, name) === undefined)
      const [there, back] = [gone(engine.requests[0]!.rawHeaders), gone(got.rawHeaders)]
      must(there.length + back.length === 0, `dropped: ${[...new Set([...there, ...back])].join(' ').replaceAll('|', '¦')}`)
    },
  },
  {
    name: 'a head of 48 KB goes on, both ways',
    cases: [25],
    async check(stage) {
      const large = Array.from({ length: 12 }, (_, i) => [`x-${i}`, 'v'.repeat(4_000)]).flat()
      const { engine, port } = await stage.before(({ socket, target }) => socket.write(reply('200 OK', target === '/v1/large' ? large : [])))
      const { status } = await send(port, { headers: large })
      must(status === 200 && engine.requests[0]!.header('x-11')?.length === 4_000, `to the engine: status ${status}`)
      const answer = await sendBytes(port, 'GET /v1/large HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
      must(answer.startsWith('HTTP/1.1 200 ') && /x-11: v{4000}\r\n/i.test(answer), `to the client: status ${answer.slice(9, 12)}`)
    },
  },
  {
    name: 'an informational reply is not taken for the reply',
    async check(stage) {
      const { port } = await stage.before(({ socket }) => {
        socket.write(`${head('103 Early Hints', ['link', '</x>; rel=preload'])}HTTP/1.1 102 Processing\r\n\r\n`)
        socket.write(reply('200 OK', ['x-real', 'yes'], 'body'))
      })
      const got = await send(port)
      must(got.status === 200 && got.header('x-real') === 'yes' && got.body.toString() === 'body', `status ${got.status}`)
    },
  },
]
