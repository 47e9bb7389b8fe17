import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { send, without } from '../helpers/http.ts'
import { startProxy } from '../helpers/proxy.ts'
import { reply, startRawEngine } from '../helpers/raw-engine.ts'

/** What client and proxy may each make for their own connection. */
const perConnection = ['host', 'connection', 'keep-alive', 'content-length', 'transfer-encoding']

const token = fc.stringMatching(/^[A-Za-z][A-Za-z0-9_.~!-]{0,20}$/).map((name) => `x-${name}`)
/** Visible text and bytes above ASCII; the ends are no blanks, since parsers take those away. */
const value = fc.stringMatching(/^([!-~\u00a1-\u00ff]([ !-~\u00a1-\u00ff]{0,40}[!-~\u00a1-\u00ff])?)?$/)
const headers = fc.array(fc.tuple(token, value), { maxLength: 8 }).map((pairs) => pairs.flat())
const anyBytes = fc.uint8Array({ maxLength: 5_000 }).map((bytes) => Buffer.from(bytes))
const body = fc.oneof(anyBytes, anyBytes.map((bytes) => gzipSync(bytes)), fc.json().map((text) => Buffer.from(text)))
const method = fc.constantFrom('POST', 'PUT', 'PATCH', 'DELETE')
const target = fc
  .tuple(fc.stringMatching(/^[A-Za-z0-9_~!$&'()*+,;=:@-]{1,20}(\/[A-Za-z0-9_~-]{0,9}){0,3}$/), fc.stringMatching(/^(\?[!-"$-~]{0,30})?$/))
  .map(([path, query]) => `/v1/${path}${query}`)

t.test('whatever is not a summary reaches the engine byte for byte, and so does the reply', async (t) => {
  let answer: Buffer = Buffer.alloc(0)
  const engine = await startRawEngine(t, (request) => request.socket.write(answer))
  const proxy = await startProxy(t, engine.origin)

  await fc.assert(
    fc.asyncProperty(method, target, headers, body, headers, body, async (...drawn) => {
      const [method, target, sentHeaders, sentBody, replyHeaders, replyBody] = drawn
      answer = reply('207 Some Reason', replyHeaders, replyBody)
      const got = await send(proxy.port, { method, target, headers: sentHeaders, body: sentBody })
      const seen = engine.requests.pop()!
      t.equal(seen.head.split('\r\n')[0], `${method} ${target} HTTP/1.1`)
      t.same(without(seen.rawHeaders, perConnection), without(sentHeaders, perConnection))
      t.ok(seen.body.equals(sentBody))
      t.equal(got.status, 207)
      t.equal(got.statusMessage, 'Some Reason')
      t.same(without(got.rawHeaders, [...perConnection, 'date']), without(replyHeaders, perConnection))
      t.ok(got.body.equals(replyBody))
    }),
    { numRuns: 100 },
  )
})
