// Errors that the engine answers a fork by token ids with, on each endpoint: the client gets what the endpoint itself
// would have answered, in the endpoint's own words.

import type { OutgoingHttpHeaders } from 'node:http'
import t, { type Test } from 'tap'
import { overEndpoints } from '../helpers/endpoints/all.ts'
import { type ReplyTap, startReplyTap } from '../helpers/reply-tap.ts'
import { type ChatReply, opencodeSession, startWarmfork, streamed, whenForked } from '../helpers/warmfork.ts'

overEndpoints(t, async (t, spoken) => {
  let tap!: ReplyTap
  const warmfork = await startWarmfork(t, {
    spoken,
    engine: { reasoningParser: true },
    between: async (url) => {
      tap = await startReplyTap(t, url)
      return tap.url
    },
  })

  t.afterEach(() => {
    warmfork.script.reply = undefined
    tap.answer = undefined
  })

  async function forked(t: Test, options: object): Promise<ChatReply> {
    // A client that echoes reasoning: a trailing user message would drop all of it.
    const session = opencodeSession({ groups: 8, outputTokens: 400, reasoning: 'reasoning_content' })
    await warmfork.main(session)
    warmfork.script.reply = whenForked({ refuse: { status: 429 } })
    const reply = await warmfork.chat({ ...session.summary, ...options })
    t.match(await warmfork.receipt(reply), { decision: 'forked', placement: 'tokens', fork_sent: true })
    return reply
  }

  /** Answers the fork in the engine's place. @param chunks of its body; one that is null breaks the connection */
  function answered(status: number, headers: OutgoingHttpHeaders, chunks: readonly (string | null)[]): void {
    tap.answer = ({ url }, _body, response) => {
      if (url !== '/v1/completions') return false
      response.writeHead(status, headers)
      for (const chunk of chunks) {
        if (chunk === null) return void setTimeout(() => response.destroy(), 20), true
        response.write(chunk)
      }
      response.end()
      return true
    }
  }

  /** An error object of vLLM's as this endpoint writes it. */
  const inOwnWords = (said: { type: string, message: string }, json: string): string =>
    spoken.endpoint.name === 'messages' ? JSON.stringify({ type: 'error', error: { type: said.type, message: said.message } }) : json

  for (const [how, options] of [['whole', {}], ['streamed', streamed]] as const) {
    for (const status of [401, 403, 429, 500, 502]) {
      t.test(`a ${status} to a ${how} fork looks as the endpoint's own`, async (t) => {
        const error = { message: 'refused', type: 'BadRequestError', param: null, code: status }
        warmfork.script.reply = () => ({ refuse: { status } })
        const own = await warmfork.engineAlone({ ...opencodeSession().summary, ...options })
        warmfork.script.reply = undefined
        const json = JSON.stringify({ error })
        answered(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(json), 'retry-after': '7' }, [json])
        const reply = await forked(t, options)
        t.equal(reply.status, status)
        t.equal(reply.text, own.text)
        t.equal(reply.text, inOwnWords(error, json))
        t.equal(reply.header('content-length'), String(reply.body.length))
        t.equal(reply.header('content-type'), 'application/json')
        t.equal(reply.header('retry-after'), '7')
        t.equal(reply.error?.message, error.message)
        t.match(await warmfork.outcome(reply), { valid: status >= 500 ? false : null, invalid_reason: status >= 500 ? 'summary_engine_error' : null })
      })
    }
  }

  t.test('an error in pieces, without a length, is turned as a whole', async (t) => {
    const error = { message: 'Busy, é.', type: 'Overloaded', param: null, code: 429 }
    const json = JSON.stringify({ error })
    answered(429, { 'content-type': 'application/json' }, [json.slice(0, 20), json.slice(20)])
    const reply = await forked(t, {})
    t.equal(reply.text, inOwnWords(error, json))
  })

  // vLLM's middleware and whatever stands in front of it answer every route alike.
  for (const [what, body, type] of [
    ['a string', '{"error":"Unauthorized"}', 'application/json'],
    ["FastAPI's detail", '{"detail":"Not allowed"}', 'application/json'],
    ['no object', '[1]', 'application/json'],
    ['no type', '{"error":{"message":"x"}}', 'application/json'],
    ['a page', '<html>502 Bad Gateway</html>', 'text/html'],
    ['nothing', '', 'text/plain'],
    ['more than an error is', JSON.stringify({ error: { message: 'x'.repeat(300_000), type: 'Long' } }), 'application/json'],
  ] as const) {
    t.test(`an error that is ${what} stays as it came`, async (t) => {
      answered(502, { 'content-type': type, 'content-length': Buffer.byteLength(body) }, [body.slice(0, 100_000), body.slice(100_000)].filter((chunk) => chunk !== ''))
      const reply = await forked(t, {})
      t.equal(reply.status, 502)
      t.equal(reply.text, body)
      t.equal(reply.header('content-length'), String(body.length))
      t.equal(reply.header('content-type'), type)
    })
  }

  if (spoken.endpoint.name === 'messages') {
    t.test('an error that breaks off before it is read is one of ours', async (t) => {
      answered(500, { 'content-type': 'application/json' }, ['{"error":{"mess', null])
      const reply = await forked(t, {})
      t.equal(reply.status, 502)
      t.equal(reply.header('x-warmfork-error'), 'upstream_reset')
      t.match(await warmfork.outcome(reply), { valid: false, invalid_reason: 'summary_engine_error' })
    })
  }
})
