// An engine that dies in a reply looks dead to the client: no end that could be taken for the whole.

import { begin, collect, open, readAll, send, sleep } from '../../helpers/http.ts'
import { chunk, head, reply, type Script, streamHead } from '../../helpers/raw-engine.ts'
import { must, type Row } from '../row.ts'

/** What of a reply came before its engine died. */
export const framings: Record<string, string> = {
  'three chunks of a stream': streamHead + [1, 2, 3].map((n) => chunk(`data: ${n}\n\n`).toString()).join(''),
  'half of a body with a length': `${head('200 OK', ['content-length', '20'])}0123456789`,
  'half of a chunk': `${head('200 OK', ['transfer-encoding', 'chunked'])}14\r\n0123456789`,
}

export const garbage: Record<string, Script> = {
  'no HTTP at all': ({ socket }) => socket.end('SSH-2.0-OpenSSH_9.6\r\n'),
  'a head that breaks off': ({ socket }) => socket.end('HTTP/1.1 200 OK\r\ncontent-ty'),
  'nothing': ({ socket }) => socket.end(),
  'a head larger than any': ({ socket }) => socket.end(head('200 OK', ['x', 'x'.repeat(400_000)])),
}

export const upstreamDeath: readonly Row[] = [
  ...Object.entries(framings).flatMap(([what, sent]) => (['closes', 'resets'] as const).map((how): Row => ({
    name: `an engine that ${how} after ${what} looks dead to the client, which has what came before`,
    cases: [9],
    async check(stage) {
      const { engine, port } = await stage.before()
      const begun = begin(port, { target: '/v1/chat/completions', body: '{}' })
      const request = await engine.next()
      request.socket.write(sent)
      const { response } = await begun
      const collected = collect(response)
      await new Promise((resolve) => response.once('data', resolve))
      await sleep(20)
      if (how === 'closes') request.socket.end()
      else request.socket.resetAndDestroy()
      const got = await Promise.race([collected, sleep(5_000)])
      must(got !== undefined, 'the client is left waiting')
      must(!got.whole, 'a clean end')
      must(/data: 3|0123456789/.test(got.body.toString()), `${got.body.length} bytes of what came before`)
      must(engine.requests.length === 1, 'sent again')
    },
  }))),
  {
    name: 'what the engine sent in the moment of its death still arrives, and no end',
    cases: [9],
    async check(stage) {
      const { port } = await stage.before(({ socket }) => socket.end(`${streamHead}${chunk('data: last\n\n')}`))
      const got = await send(port)
      must(!got.whole, 'a clean end')
      must(got.body.toString() === 'data: last\n\n', 'it does not arrive')
    },
  },
  {
    name: 'a reply without length or chunks is whole after a close and dead after a reset',
    cases: [9],
    async check(stage) {
      const { engine, port } = await stage.before()
      for (const how of ['closes', 'resets']) {
        const begun = begin(port)
        const request = await engine.next()
        request.socket.write(`${head('200 OK', ['connection', 'close'])}some text`)
        const { response } = await begun
        const collected = collect(response)
        await new Promise((resolve) => response.once('data', resolve))
        if (how === 'closes') request.socket.end()
        else request.socket.resetAndDestroy()
        const got = await collected
        must(got.body.toString() === 'some text', 'other text')
        must(got.whole === (how === 'closes'), got.whole ? 'a clean end after the reset' : 'dead after the close')
      }
    },
  },
  {
    name: 'an HTTP/1.0 client, for whom a close is an end, sees a reset instead',
    cases: [9],
    async check(stage) {
      const { engine, port } = await stage.before()
      const client = await open(port)
      let code: string | undefined
      client.once('error', (error: NodeJS.ErrnoException) => { code = error.code })
      client.write('GET /v1/x HTTP/1.0\r\n\r\n')
      const ended = readAll(client)
      const request = await engine.next()
      request.socket.write(`${streamHead}${chunk('data: 1\n\n')}`)
      await new Promise((resolve) => client.once('data', resolve))
      request.socket.destroy()
      await ended
      must(code === 'ECONNRESET', 'a clean end')
    },
  },
  {
    name: 'an engine that half closes after its last event ends the reply, inside it not',
    async check(stage) {
      for (const [last, whole] of [['0\r\n\r\n', true], ['', false]] as const) {
        const { port } = await stage.before(({ socket }) => socket.end(`${streamHead}${chunk('data: 1\n\n')}${last}`))
        const got = await send(port)
        must(got.body.toString() === 'data: 1\n\n' && got.whole === whole, got.whole ? 'a clean end inside' : 'no end')
      }
    },
  },
  ...Object.entries(garbage).map(([what, script]): Row => ({
    name: `an engine that answers ${what} is an error of 5xx, and is not asked again`,
    cases: [42],
    async check(stage) {
      const { engine, port } = await stage.before(script)
      const got = await send(port, { body: '{}' })
      must(got.status >= 500, `status ${got.status}`)
      must(engine.requests.length === 1, `asked ${engine.requests.length} times`)
    },
  })),
  {
    name: 'an engine that falls silent in a reply keeps its client waiting, and no other',
    async check(stage) {
      const { engine, port } = await stage.before(({ socket, target }) => socket.write(target === '/v1/other' ? reply('200 OK', []) : `${streamHead}${chunk('data: 1\n\n')}`))
      const { request: client, response } = await begin(port, { target: '/v1/chat/completions', body: '{}' })
      let ended = false
      const collected = collect(response)
      void collected.then(() => { ended = true })
      const request = await engine.next()
      await new Promise((resolve) => response.once('data', resolve))
      await sleep(300)
      must(!ended, 'an end is made up')
      must((await send(port, { target: '/v1/other' })).status === 200, 'others are held up')
      client.destroy()
      must((await Promise.race([request.closed, sleep(2_000)])) !== undefined, 'the engine’s connection stayed open')
      must(!(await collected).whole, 'an end is made up')
    },
  },
]
