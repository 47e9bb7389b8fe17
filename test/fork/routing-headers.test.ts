import t from 'tap'
import { forkHeaders, givenSessionToken, routingHeaders } from '../../src/fork/routing-headers.ts'

const parent = { routing: ['X-Session-ID', 'parent', 'X-data-parallel-rank', '1'], sessionToken: [] as string[] }

/** The headers of a fork without the encoding, which it always says. */
function fork(summary: string[], of: { routing: readonly string[], sessionToken: readonly string[] } = parent): string[] {
  const headers = forkHeaders(summary, of, 'r1')
  t.strictSame(headers.filter((name, i) => i % 2 === 0 && name.toLowerCase() === 'accept-encoding'), ['accept-encoding'])
  const at = headers.indexOf('accept-encoding')
  return headers.toSpliced(at, 2)
}

t.test('only what routers read is kept of a main request, as it was sent', async (t) => {
  t.strictSame(routingHeaders(['Host', 'h', 'X-Session-ID', 'a', 'x-session-affinity', 'b', 'authorization', 'k', 'X-Session-Token', 't', 'x-dynamo-session-final', '1', 'odd']),
    ['X-Session-ID', 'a', 'x-session-affinity', 'b', 'X-Session-Token', 't'])
  t.strictSame(givenSessionToken(['Content-Type', 'x', 'X-Session-Token', 't']), ['X-Session-Token', 't'])
  t.strictSame(givenSessionToken(['x-session-id', 'a']), [])
})

t.test('a fork has the conversation’s routing, also where the summary’s differs or is missing [case 61]', async (t) => {
  t.strictSame(fork(['accept', '*/*']), ['accept', '*/*', 'X-Session-ID', 'parent', 'X-data-parallel-rank', '1'])
  t.strictSame(fork(['x-session-id', 'own', 'thread-id', 'own']), ['X-Session-ID', 'parent', 'X-data-parallel-rank', '1'])
})

t.test('none is invented [case 61]', async (t) => {
  t.strictSame(fork(['x-session-id', 'own', 'accept', '*/*'], { routing: [], sessionToken: [] }), ['accept', '*/*'])
})

t.test('a session token that the reply gave replaces the one that the request had', async (t) => {
  t.strictSame(fork([], { routing: ['X-Session-Token', 'old', 'x-session-id', 'a'], sessionToken: ['x-session-token', 'new'] }), ['x-session-id', 'a', 'x-session-token', 'new'])
  t.strictSame(fork(['x-session-token', 'own'], { routing: ['X-Session-Token', 'old'], sessionToken: [] }), ['X-Session-Token', 'old'])
})

t.test('what names or ends a request, or is for warmfork alone, is left out', async (t) => {
  const left = ['X-Warmfork-Request', 'summary', 'x-warmfork-conversation', 'c', 'X-Dynamo-Session-Final', 'true', 'x-correlation-id', 'a', 'traceparent', 'b', 'tracestate', 'c', 'X-Client-Request-Id', 'd', 'Accept-Encoding', 'gzip']
  t.strictSame(fork(left, { routing: [], sessionToken: [] }), [])
})

t.test('a request id is made anew where the client named its request', async (t) => {
  t.strictSame(fork(['X-Request-Id', 'own'], { routing: [], sessionToken: [] }), ['x-request-id', 'warmfork-r1'])
})

t.test('credentials and everything else are the summary’s own, in order and case', async (t) => {
  const own = ['Authorization', 'Bearer K', 'X-Odd', '1', 'x-odd', '2', 'Content-Type', 'application/json']
  t.strictSame(fork(own, { routing: [], sessionToken: [] }), own)
})
