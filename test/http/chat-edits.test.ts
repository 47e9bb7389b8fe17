// A fork's reply on the chat endpoint as the client sees it: every byte of the engine's, less what we asked for and the
// client did not.

import t from 'tap'
import { type ReplyTap, startReplyTap } from '../helpers/reply-tap.ts'
import { isFork, opencodeSession, startWarmfork } from '../helpers/warmfork.ts'

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
    // An event without a word is there for its ids alone.
    if (!ids) expected = expected.split('\n\n').filter((event) => !/"delta":\{\},"logprobs":null,"finish_reason":null/.test(event)).join('\n\n')
    if (!ids) expected = expected.replace(/"(prompt_token_ids|token_ids)":\[[\d,]*\]/g, '"$1":null')
    // The finish has the fingerprint that came with the usage.
    const [fingerprint] = /,"system_fingerprint":"[^"]+"/.exec(expected)!
    if ('stream' in options && !usage) expected = expected.replace(/"finish_reason":"stop"[^\n]*(?=\}\n)/, `$&${fingerprint}`)
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

t.test('a finish whose usage does not come is not held back for long, and one of a reply that breaks off not sent', async (t) => {
  const session = opencodeSession()
  await warmfork.main(session)
  await warmfork.chat({ ...session.summary, stream: true })
  const [upToFinish] = tap.replies.findLast(({ target, requestBody }) => target === chatPath && isFork(requestBody))!.body.toString('utf8').split(/(?<="finish_reason":"stop".*\n\n)/)
  for (const breaks of [false, true]) {
    tap.answer = ({ url }, body, response) => {
      if (url !== chatPath || !isFork(body)) return false
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`${upToFinish}: ping\n\n`)
      if (breaks) setTimeout(() => response.destroy(), 50)
      return true
    }
    const { response } = await warmfork.begin({ ...session.summary, stream: true })
    let text = ''
    await new Promise<void>((resolve) => {
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString()
        if (text.includes(': ping')) resolve()
      })
      response.on('error', () => resolve())
      response.on('close', () => resolve())
    })
    tap.answer = undefined
    t.equal(text.includes('"finish_reason":"stop"'), !breaks)
    t.ok(text.includes('"What"'))
    response.destroy()
  }
})
