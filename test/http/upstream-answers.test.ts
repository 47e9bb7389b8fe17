// What the engine or a gateway answers to a request that is no fork goes to the client as it came.

import t from 'tap'
import { overEndpoints } from '../helpers/endpoints/all.ts'
import { opencodeSession, startWarmfork } from '../helpers/warmfork.ts'
import { type ReplyTap, startReplyTap } from '../helpers/reply-tap.ts'

interface Answer {
  readonly status: number
  readonly headers?: Record<string, string>
  readonly body?: string
}

const answers: Record<string, Answer> = {
  '400 with an empty body': { status: 400 },
  '400 in JSON': { status: 400, headers: { 'content-type': 'application/json' }, body: '{"error":{"message":"no","code":400}}' },
  '401 in text': { status: 401, headers: { 'content-type': 'text/plain' }, body: 'Unauthorized' },
  '404 in HTML': { status: 404, headers: { 'content-type': 'text/html' }, body: '<h1>no</h1>' },
  '422 in JSON': { status: 422, headers: { 'content-type': 'application/json' }, body: '{"detail":[]}' },
  '429 with retry-after': { status: 429, headers: { 'retry-after': '17' }, body: 'later' },
  '500 with an empty body': { status: 500 },
  '503 with retry-after': { status: 503, headers: { 'retry-after': '3', 'content-type': 'text/html' }, body: '<h1>busy</h1>' },
  '529 of a gateway': { status: 529, body: 'overloaded' },
}

overEndpoints(t, async (t, spoken) => {
  let tap!: ReplyTap
  const warmfork = await startWarmfork(t, {
    spoken,
    between: async (url) => {
      tap = await startReplyTap(t, url)
      return tap.url
    },
  })

  for (const [what, { status, headers = {}, body = '' }] of Object.entries(answers)) {
    for (const kind of ['main', 'summary'] as const) {
      t.test(`[case 42] [case 43] ${what} to a ${kind} request passes unchanged`, async (t) => {
        const session = opencodeSession({ groups: 1 })
        tap.answer = ({ url }, _body, response) => {
          if (url !== spoken.endpoint.path) return false
          response.writeHead(status, headers).end(body)
          return true
        }
        const reply = await warmfork.chat(session[kind])
        tap.answer = undefined
        t.equal(reply.status, status)
        t.equal(reply.text, body)
        for (const [name, value] of Object.entries(headers)) t.equal(reply.header(name), value)
        t.equal(reply.header('x-warmfork-error'), undefined)
        if (kind === 'main') return t.strictSame(reply.warmfork, {})
        t.match(reply.warmfork, { decision: 'passed', 'fallback-reason': 'no_warm_evidence' })
        t.match(await warmfork.outcome(reply), { valid: null, finish_reason: null, prompt_tokens: null, engine_cached_tokens: null })
      })
    }
  }

  t.test('[case 42] an engine that is down is our own 502, without an address, and one warning at most', async (t) => {
    const down = await startWarmfork(t, { spoken })
    const session = opencodeSession()
    await down.main(session)
    await down.engine.close()
    const since = down.since()
    for (const body of [session.main, session.summary]) {
      const reply = await down.chat(body)
      t.equal(reply.status, 502)
      t.equal(reply.header('x-warmfork-error'), 'upstream_unreachable')
      t.notMatch(reply.text, /127\.0\.0\.1|:\d{4}/)
    }
    t.ok(since.warnings().length <= 1)
    t.match(await down.line(({ msg }) => msg === 'receipt'), { decision: 'passed', fallback_reason: 'caching_not_advertised' })
    t.match(await down.line(({ msg }) => msg === 'outcome'), { valid: null })
  })
})

const usages: Record<string, { readonly usage: unknown, readonly cached: number | null }> = {
  'no usage': { usage: undefined, cached: null },
  'usage null': { usage: null, cached: null },
  'usage without details': { usage: { prompt_tokens: 10 }, cached: null },
  'details null': { usage: { prompt_tokens: 10, prompt_tokens_details: null }, cached: null },
  'details empty': { usage: { prompt_tokens: 10, prompt_tokens_details: {} }, cached: null },
  'cached tokens null': { usage: { prompt_tokens: 10, prompt_tokens_details: { cached_tokens: null } }, cached: null },
  'cached tokens 0': { usage: { prompt_tokens: 10, prompt_tokens_details: { cached_tokens: 0 } }, cached: 0 },
  'cached tokens': { usage: { prompt_tokens: 10, prompt_tokens_details: { cached_tokens: 9 } }, cached: 9 },
  'more cached tokens than prompt': { usage: { prompt_tokens: 10, prompt_tokens_details: { cached_tokens: 11 } }, cached: null },
  'negative cached tokens': { usage: { prompt_tokens: 10, prompt_tokens_details: { cached_tokens: -1 } }, cached: null },
  'cached tokens in words': { usage: { prompt_tokens: 10, prompt_tokens_details: { cached_tokens: '9' } }, cached: null },
}

t.test('how much was cached, as chat says it', async (t) => {
  let tap!: ReplyTap
  const warmfork = await startWarmfork(t, {
    between: async (url) => {
      tap = await startReplyTap(t, url)
      return tap.url
    },
  })

  for (const [what, { usage, cached }] of Object.entries(usages)) {
    t.test(`[case 40] [case 11] a reply with ${what} has an outcome with ${cached} cached tokens, streamed and not`, async (t) => {
      for (const stream of [false, true]) {
        const whole = JSON.stringify({ choices: [{ index: 0, message: { content: 'The summary.' }, finish_reason: 'stop' }], usage })
        const events = [{ choices: [{ index: 0, delta: { content: 'The summary.' } }] }, { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }, { choices: [], usage }]
        tap.answer = ({ url }, _body, response) => {
          if (url !== '/v1/chat/completions') return false
          response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' })
          response.end(stream ? `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')}data: [DONE]\n\n` : whole)
          return true
        }
        const reply = await warmfork.chat({ ...opencodeSession({ groups: 1 }).summary, stream })
        tap.answer = undefined
        t.match(await warmfork.outcome(reply), { valid: true, engine_cached_tokens: cached, finish_reason: 'stop' })
      }
    })
  }
})
