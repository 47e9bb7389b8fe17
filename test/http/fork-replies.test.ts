// A fork's reply as the client sees it, on each endpoint: headers, several at once, slow clients, gateways that answer.

import t from 'tap'
import { verdicts } from '../../src/summary/verdict.ts'
import { overEndpoints } from '../helpers/endpoints/all.ts'
import { sleep } from '../helpers/http.ts'
import { type ReplyTap, startReplyTap } from '../helpers/reply-tap.ts'
import { collectChat, isFork, opencodeSession, startWarmfork, streamed } from '../helpers/warmfork.ts'

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

  t.test("the engine's own headers stay, and the receipt's come behind them", async (t) => {
    const session = opencodeSession()
    await warmfork.main(session)
    const reply = await warmfork.chat({ ...session.summary, ...streamed })
    t.equal(reply.header('server'), 'uvicorn')
    t.equal(reply.header('content-type'), 'text/event-stream; charset=utf-8')
    t.equal(reply.header('x-accel-buffering'), 'no')
    t.equal(reply.header('x-warmfork-decision'), 'forked')
  })

  t.test('[case 18] two summaries of one conversation at once are two forks with the same bytes', async (t) => {
    const session = opencodeSession()
    await warmfork.main(session)
    const since = warmfork.since()
    const first = warmfork.chat({ ...session.summary, ...streamed })
    await sleep(20)
    const second = warmfork.chat({ ...session.summary, ...streamed })
    const replies = await Promise.all([first, second])
    const [a, b, ...more] = since.generations()
    t.strictSame(more, [])
    t.ok(a!.body.equals(b!.body))
    for (const reply of replies) {
      t.equal(reply.warmfork['decision'], 'forked')
      t.ok(reply.done)
      t.match(await warmfork.outcome(reply), { valid: true })
    }
    t.not(replies[0]!.header('x-warmfork-receipt'), replies[1]!.header('x-warmfork-receipt'))
    t.equal((await warmfork.chat(session.summary)).warmfork['decision'], 'forked', 'and the record is as it was')
  })

  t.test('a slow client holds the engine back, and gets everything', async (t) => {
    const session = opencodeSession()
    await warmfork.main(session)
    const texts = 500
    const { events, end } = spoken.canned(Array<string>(texts).fill('x'.repeat(64 * 1024)))
    let written = 0
    tap.answer = ({ url }, body, response) => {
      if (url !== spoken.endpoint.path || !isFork(body)) return false
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const go = (): void => {
        while (written < events.length) {
          if (!response.write(events[written++])) return void response.once('drain', go)
        }
        response.end(end)
      }
      go()
      return true
    }
    t.teardown(() => (tap.answer = undefined))
    const { response } = await warmfork.begin({ ...session.summary, stream: true })
    response.pause()
    let before = -1
    while (before !== written) {
      before = written
      await sleep(150)
    }
    t.ok(written < events.length / 2, `the engine was held back after ${written} events of 64 KiB`)
    const collected = collectChat(response, spoken)
    response.resume()
    const reply = await collected
    t.equal(reply.content.length, texts * 64 * 1024)
    t.equal(reply.finish, 'stop')
  })

  t.test('an answer of a gateway that is no reply of the endpoint is no summary', async (t) => {
    const session = opencodeSession()
    t.teardown(() => (tap.answer = undefined))
    for (const [type, text] of [['text/html', '<html>ok</html>'], ['application/json', '{}'], ['application/json', 'null'], ['application/json', '[]'], ['application/json', '{"choices":[null]}'], ['text/event-stream', 'data: {"choices":[null]}\n\ndata: 7\n\ndata: [DONE]\n\n']] as const) {
      tap.answer = undefined
      // Evidence anew, so that the failed fork is forgotten.
      await warmfork.main(session)
      tap.answer = ({ url }, body, response) => {
        if (url !== spoken.endpoint.path || !isFork(body)) return false
        response.writeHead(200, { 'content-type': type }).end(text)
        return true
      }
      const reply = await warmfork.chat(session.summary)
      t.equal(reply.status, 422, text)
      t.strictSame(JSON.parse(reply.text), spoken.error('summary_incomplete', verdicts.summary_incomplete))
    }
  })
})
