// What could be read in two ways reaches the engine in one way or not at all; all else reaches it as sent.

import { open, readAll, sleep } from '../../helpers/http.ts'
import { type EngineRequest, reply } from '../../helpers/raw-engine.ts'
import { must, type Row } from '../row.ts'
import { oneReading, smuggled, start, twoReadings } from '../shapes.ts'

/** What comes back until the connection ends, or nothing came for a while. */
async function answersTo(port: number, bytes: Buffer): Promise<string> {
  const client = await open(port)
  let text = ''
  let lastAt = performance.now()
  client.on('data', (part) => {
    text += part.toString('latin1')
    lastAt = performance.now()
  })
  client.write(bytes)
  while (!client.destroyed && performance.now() - lastAt < 300) await sleep(10)
  client.destroy()
  return text
}

const headerLine = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[ \t]*[^\0\r\n]*$/

/** Whether a request, as it reached the engine, has one reading only. */
function isPlain({ head, rawHeaders }: EngineRequest): boolean {
  const [first, ...lines] = head.split('\r\n')
  const framings = rawHeaders.filter((name, i) => i % 2 === 0 && /^(content-length|transfer-encoding)$/i.test(name))
  return /^[A-Z]+ \S+ HTTP\/1\.[01]$/.test(first!) && lines.every((line) => headerLine.test(line)) && framings.length <= 1
}

export const framing: readonly Row[] = [
  {
    name: 'what could be read in two ways is refused, or reaches the engine in one way only',
    cases: [24],
    seconds: 60,
    async check(stage) {
      const { engine, port } = await stage.before(({ socket, body }) => socket.write(reply('200 OK', [], body)))
      const through: string[] = []
      let refused = 0
      for (const [what, bytes] of Object.entries(twoReadings)) {
        const before = engine.requests.length
        const text = await answersTo(port, Buffer.from(bytes + smuggled, 'latin1'))
        const arrived = engine.requests.slice(before)
        const answered = text.match(/HTTP\/1\.1 [2-5]\d\d /g)?.length ?? 0
        if (arrived.length === 0) refused += 1
        else if (!arrived.every(isPlain) || arrived.length > answered) through.push(what)
      }
      const all = Object.keys(twoReadings).length
      must(through.length === 0, `${through.length} of ${all} let through: ${through.join(', ')}`)
      return `${refused} of ${all} refused`
    },
  },
  ...Object.entries(oneReading).map(([what, { bytes, bodies }]): Row => ({
    name: `${what}: passed as sent`,
    async check(stage) {
      const { engine, port } = await stage.before(({ socket, body }) => socket.write(reply('200 OK', [], body)))
      const text = await answersTo(port, Buffer.from(bytes, 'latin1'))
      const replies = text.split('HTTP/1.1 200 OK\r\n').slice(1)
      must(replies.length === bodies.length, `status ${[...text.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => status).join(', ') || 'none'}`)
      // Requests in flight at a time go to engines in any order; their replies keep it.
      const arrived = engine.requests.map(({ body }) => body.toString())
      must(arrived.join('') !== '' || bodies.join('') === '', 'without its body')
      must(arrived.toSorted().join() === bodies.toSorted().join(), `arrived as ${JSON.stringify(arrived)}`)
      must(replies.every((text, i) => text.endsWith(bodies[i]!) || text.includes(`\r\n${bodies[i]}\r\n`)), 'other replies')
    },
  })),
  {
    name: 'a broken chunk in the middle of an upload reaches no engine as a request',
    cases: [24],
    async check(stage) {
      const { engine, port } = await stage.before(({ socket }) => socket.write(reply('200 OK', [])))
      await answersTo(port, Buffer.from(`${start}transfer-encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n`))
      must(engine.requests.length === 0, 'it arrived')
      must(engine.open() === 0, 'a connection stayed open')
    },
  },
  {
    name: 'a head that comes byte by byte is read like any other',
    async check(stage) {
      const { port } = await stage.before(({ socket }) => socket.write(reply('200 OK', [])))
      const client = await open(port)
      const answer = readAll(client)
      for (const byte of Buffer.from(`${start}connection: close\r\ncontent-length: 2\r\n\r\n{}`)) {
        client.write(Buffer.of(byte))
        await new Promise(setImmediate)
      }
      must((await answer).startsWith('HTTP/1.1 200 '), 'no 200')
    },
  },
  {
    name: 'an asked upgrade to another protocol is not made: the request passes without it',
    cases: [26],
    async check(stage) {
      const { engine, port } = await stage.before(({ socket, body }) => socket.write(reply('200 OK', [], body)))
      for (const upgrade of ['h2c', 'something']) {
        const text = await answersTo(port, Buffer.from(`${start}connection: upgrade, close, http2-settings\r\nupgrade: ${upgrade}\r\nhttp2-settings: AAMAAABk\r\ncontent-length: 2\r\n\r\n{}`))
        must(text.startsWith('HTTP/1.1 200 '), `${upgrade}: ${text.slice(9, 12) || 'no reply'}`)
        must(engine.requests.at(-1)!.header('upgrade') === undefined, `${upgrade}: goes on`)
      }
    },
  },
]
