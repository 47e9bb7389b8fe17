// The headers of a fork: the summary's own, the routing of the recorded request, nothing that names or ends a session.

import t from 'tap'
import { overEndpoints } from '../helpers/endpoints/all.ts'
import { type ReplyTap, startReplyTap } from '../helpers/reply-tap.ts'
import { valueOf } from '../helpers/http.ts'
import { isFork, opencodeSession, startWarmfork } from '../helpers/warmfork.ts'

overEndpoints(t, async (t, spoken) => {
  let tap!: ReplyTap
  const warmfork = await startWarmfork(t, {
    spoken,
    between: async (url) => {
      tap = await startReplyTap(t, url)
      return tap.url
    },
  })

  const { path } = spoken.endpoint

  /** The headers that the engine got with the fork of a session. */
  async function headersOfFork(main: readonly string[], summary: readonly string[], target = path): Promise<readonly string[]> {
    const session = opencodeSession()
    await warmfork.main(session, { headers: main })
    tap.replies.length = 0
    const reply = await warmfork.chat(session.summary, { headers: summary, target })
    if (reply.warmfork['decision'] !== 'forked') throw new Error(JSON.stringify(reply.warmfork))
    return tap.replies.find(({ target: sent, requestBody }) => sent === target && isFork(requestBody))!.requestHeaders
  }

  /** All values of a header. */
  function values(raw: readonly string[], name: string): string[] {
    return raw.filter((_, i) => i % 2 === 1 && raw[i - 1]!.toLowerCase() === name)
  }

  t.test("[case 61] the recorded request's routing headers win over the summary's, and are there where the summary has none", async (t) => {
    const headers = await headersOfFork(
      ['X-data-parallel-rank', '3', 'x-session-id', 'of-main', 'x-session-affinity', 'a'],
      ['x-session-id', 'of-summary', 'x-session-affinity', 'b', 'x-kept', 'summary'])
    t.strictSame(values(headers, 'x-data-parallel-rank'), ['3'])
    t.strictSame(values(headers, 'x-session-id'), ['of-main'])
    t.strictSame(values(headers, 'x-session-affinity'), ['a'])
    t.strictSame(values(headers, 'x-kept'), ['summary'])
  })

  t.test('[case 61] no routing header is invented or brought by the summary alone', async (t) => {
    const headers = await headersOfFork([], ['x-session-id', 'of-summary', 'x-data-parallel-rank', '1', 'x-dynamo-session-final', 'true'])
    for (const name of ['x-session-id', 'x-data-parallel-rank', 'x-dynamo-session-final', 'x-session-token']) t.strictSame(values(headers, name), [], name)
  })

  t.test("[case 61] a session token that the main request's reply gave is repeated", async (t) => {
    tap.answer = ({ url }, body, response) => {
      if (url !== path || isFork(body) || !body.includes('Session s')) return false
      response.writeHead(200, { 'content-type': 'application/json', 'x-session-token': 'given' })
      response.end(spoken.canned(['ok']).whole)
      return true
    }
    t.teardown(() => (tap.answer = undefined))
    for (const main of [[], ['x-session-token', 'older']]) {
      t.strictSame(values(await headersOfFork(main, ['x-session-token', 'of-summary']), 'x-session-token'), ['given'])
    }
  })

  t.test("warmfork's own headers stay here, and a request's name is made anew", async (t) => {
    const headers = await headersOfFork(['authorization', 'Bearer k'], [
      'x-warmfork-request', 'summary', 'x-warmfork-conversation', 'c', 'X-Request-Id', 'of-the-client', 'x-client-request-id', 'another',
      'traceparent', '00-0-0-00', 'accept-encoding', 'gzip, br', 'authorization', 'Bearer k', 'te', 'trailers', 'proxy-authorization', 'Basic x'])
    t.notOk(headers.some((name, i) => i % 2 === 0 && /^x-warmfork/i.test(name)))
    t.match(values(headers, 'x-request-id'), [/^warmfork-/])
    t.notOk(headers.includes('of-the-client'))
    for (const name of ['x-client-request-id', 'traceparent', 'te', 'proxy-authorization']) t.strictSame(values(headers, name), [], name)
    t.strictSame(values(headers, 'accept-encoding'), ['identity'])
    t.strictSame(values(headers, 'authorization'), ['Bearer k'])
    t.equal(values(headers, 'content-length').length, 1)
    t.strictSame(values(headers, 'transfer-encoding'), [])
  })

  t.test('a request that names itself not gets no name', async (t) => {
    t.strictSame(values(await headersOfFork([], []), 'x-request-id'), [])
  })

  t.test('[case 24] a summary in chunks is forked with one exact length', async (t) => {
    const session = opencodeSession()
    await warmfork.main(session)
    tap.replies.length = 0
    const body = warmfork.write(session.summary)
    const reply = await fetch(`${warmfork.app.url}${path}`, {
      method: 'POST', headers: { 'content-type': 'application/json' }, duplex: 'half',
      body: new ReadableStream({ start: (controller) => { controller.enqueue(body.subarray(0, 50)); controller.enqueue(body.subarray(50)); controller.close() } }),
    } as RequestInit)
    t.equal(reply.headers.get('x-warmfork-decision'), 'forked')
    const { requestHeaders, requestBody } = tap.replies.find(({ target, requestBody }) => target === path && isFork(requestBody))!
    t.equal(valueOf(requestHeaders, 'content-length'), String(requestBody.length))
    t.equal(valueOf(requestHeaders, 'transfer-encoding'), undefined)
  })

  t.test("the summary's own target, query included, is the fork's", async (t) => {
    const headers = await headersOfFork([], [], `${path}?tag=1&x=%20y`)
    t.ok(headers.length > 0)
  })
})
