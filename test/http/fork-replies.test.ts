// A fork's reply as the client sees it: every byte of the engine's, less what we asked for and the client did not.

import t from 'tap'
import { sleep } from '../helpers/http.ts'
import { type ReplyTap, startReplyTap } from '../helpers/reply-tap.ts'
import { collectChat, isFork, opencodeSession, startWarmfork, streamed } from '../helpers/warmfork.ts'

let tap!: ReplyTap
const warmfork = await startWarmfork(t, {
  engine: { reasoningParser: true },
  between: async (url) => {
    tap = await startReplyTap(t, url)
    return tap.url
  },
})

const chatPath = '/v1/chat/completions'
const said = 'What was done: 漢字, é, 👩‍👩‍👧, "quotes", a \\ and\nnew lines; "prompt_token_ids":[1,2] and "token_ids":[3].'

t.beforeEach(() => {
  warmfork.script.reply = () => ({ reasoning: 'I think of {"usage":{}} first.', content: said })
})

const asked: Record<string, object> = {
  'nothing': {},
  'usage': { stream: true, stream_options: { include_usage: true } },
  'a stream': { stream: true },
  'a stream with continuous usage alone': { stream: true, stream_options: { continuous_usage_stats: true } },
  'a stream with continuous usage': { stream: true, stream_options: { include_usage: true, continuous_usage_stats: true } },
  'its token ids': { return_token_ids: true },
  'its token ids in a stream': { stream: true, return_token_ids: true },
  'no thinking': { include_reasoning: false },
  'no usage, said so': { stream: true, stream_options: { include_usage: false } },
}

for (const [what, options] of Object.entries(asked)) {
  t.test(`[case 41] a client that asks for ${what} sees the engine's bytes, and nothing that it did not ask for`, async (t) => {
    const session = opencodeSession()
    await warmfork.main(session)
    tap.replies.length = 0
    const reply = await warmfork.chat({ ...session.summary, ...options })
    t.equal(reply.warmfork['decision'], 'forked')
    const engine = tap.replies.find(({ target, requestBody }) => target === chatPath && isFork(requestBody))!
    const { return_token_ids: ids = false, stream_options: { include_usage: usage = false } = {} } = options as any
    t.ok(engine.body.includes('"prompt_token_ids":['), 'warmfork asked for ids')
    t.ok(engine.body.includes('"usage":{'), 'and for usage')

    let expected = engine.body.toString('utf8')
    if (!ids) expected = expected.replace(/"(prompt_token_ids|token_ids)":\[[\d,]*\]/g, '"$1":null')
    if ('stream' in options && !usage) expected = expected.split('\n\n').filter((event) => !event.includes('"choices":[]')).join('\n\n')
    t.equal(reply.text, expected)
    t.equal(reply.content, `\n\n${said}`)
    t.equal(reply.parts.some((part) => part.prompt_token_ids), ids)
    t.equal(reply.parts.some((part) => part.usage), usage || !('stream' in options))
    t.equal(reply.header('content-length'), 'stream' in options ? undefined : String(reply.body.length))
    t.match(await warmfork.outcome(reply), { valid: true, prompt_ids_confirmed: true })
    t.type((await warmfork.outcome(reply))['engine_cached_tokens'], 'number')
  })
}

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
  const event = `data: {"choices":[{"index":0,"delta":{"content":"${'x'.repeat(64 * 1024)}"},"finish_reason":null}]}\n\n`
  const events = 500
  let written = 0
  tap.answer = ({ url }, body, response) => {
    if (url !== chatPath || !isFork(body)) return false
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const go = (): void => {
      while (written < events) {
        written++
        if (!response.write(event)) return void response.once('drain', go)
      }
      response.end('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
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
  t.ok(written < events / 2, `the engine was held back after ${written} events of 64 KiB`)
  const collected = collectChat(response)
  response.resume()
  const reply = await collected
  t.equal(reply.content.length, events * 64 * 1024)
  t.equal(reply.finish, 'stop')
})

t.test('an answer of a gateway that is no chat completion is no summary', async (t) => {
  const session = opencodeSession()
  t.teardown(() => (tap.answer = undefined))
  for (const [type, text] of [['text/html', '<html>ok</html>'], ['application/json', '{}'], ['application/json', 'null'], ['application/json', '[]'], ['application/json', '{"choices":[null]}'], ['text/event-stream', 'data: {"choices":[null]}\n\ndata: 7\n\ndata: [DONE]\n\n']] as const) {
    tap.answer = undefined
    // Evidence anew, so that the failed fork is forgotten.
    await warmfork.main(session)
    tap.answer = ({ url }, body, response) => {
      if (url !== chatPath || !isFork(body)) return false
      response.writeHead(200, { 'content-type': type }).end(text)
      return true
    }
    const reply = await warmfork.chat(session.summary)
    t.equal(reply.status, 422, text)
    t.equal(JSON.parse(reply.text).error.code, 'summary_incomplete')
  }
})
