// A fork's stream in every form that the standard allows and under any split of its bytes: the client's bytes, the
// verdict and the outcome are the same.

import fc from 'fast-check'
import t from 'tap'
import { sleep } from '../helpers/http.ts'
import { type ReplyTap, startReplyTap } from '../helpers/reply-tap.ts'
import { isFork, type ChatReply, opencodeSession, startWarmfork } from '../helpers/warmfork.ts'

let tap!: ReplyTap
const warmfork = await startWarmfork(t, {
  between: async (url) => {
    tap = await startReplyTap(t, url)
    return tap.url
  },
})
const chatPath = '/v1/chat/completions'
const session = opencodeSession()
const summary = { ...session.summary, stream: true }
await warmfork.main(session)
warmfork.script.reply = () => ({ content: 'What 漢字 and 👩‍👩‍👧 did; data: [DONE] is no end.' })
await warmfork.chat(summary)
const recorded = tap.replies.findLast(({ target, requestBody }) => target === chatPath && isFork(requestBody))!.body.toString('utf8')

/** Serves a stream in place of the fork's, in pieces. */
async function served(stream: string, cuts: readonly number[] = [], pauseMs = 0): Promise<ChatReply> {
  const bytes = Buffer.from(stream)
  tap.answer = ({ url }, body, response) => {
    if (url !== chatPath || !isFork(body)) return false
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    void (async () => {
      const places = [0, ...[...new Set(cuts.map((cut) => cut % bytes.length))].sort((a, b) => a - b), bytes.length]
      for (const [i, place] of places.slice(1).entries()) {
        response.write(bytes.subarray(places[i], place))
        await (pauseMs > 0 ? sleep(pauseMs) : new Promise(setImmediate))
      }
      response.end()
    })()
    return true
  }
  const reply = await warmfork.chat(summary)
  tap.answer = undefined
  return reply
}

/** What a client sees who asked for neither usage nor ids. */
function edited(stream: string): string {
  const [fingerprint] = /,"system_fingerprint":"[^"]+"/.exec(stream)!
  return stream.replace(/"finish_reason":"stop"[^\r\n]*(?=\}[\r\n])/, `$&${fingerprint}`)
    .replace(/data: ?\{[^\r\n]*"delta":\{\},"logprobs":null,"finish_reason":null[^\r\n]*\}(\r\n\r\n|\n\n|\r\r)/g, '')
    .replace(/"(prompt_token_ids|token_ids)":\[[\d,]*\]/g, '"$1":null')
    .replace(/data: ?\{[^\r\n]*"choices":\[\],[^\r\n]*\}(\r\n\r\n|\n\n|\r\r)/, '')
}

const forms: Record<string, (stream: string) => string> = {
  'with line feeds': (stream) => stream,
  'with carriage returns and line feeds': (stream) => stream.replaceAll('\n', '\r\n'),
  'with carriage returns': (stream) => stream.replaceAll('\n', '\r'),
  'without a space behind the colon': (stream) => stream.replaceAll('data: {', 'data:{').replace('data: [DONE]\n\n', 'data:[DONE]\n\n'),
  'with a byte order mark': (stream) => `\ufeff${stream}`,
  'with comments and other fields': (stream) => `: ping\n\nretry: 10\n\n${stream.replaceAll('\n\n', '\nid: 7\nevent: message\n\n: ping\n\n')}: bye\n\n`,
  'with an empty data line': (stream) => `data:\n\n${stream}`,
}

for (const [form, change] of Object.entries(forms)) {
  t.test(`[case 3] [case 4] a fork's stream ${form} is edited and judged alike`, async (t) => {
    const stream = change(recorded)
    const reply = await served(stream)
    t.equal(reply.warmfork['decision'], 'forked')
    t.match(await warmfork.outcome(reply), { valid: true, finish_reason: 'stop', prompt_ids_confirmed: true, completion_tokens: Number(/"completion_tokens":(\d+)/.exec(recorded)![1]) })
    t.notOk(/token_ids":\[/.test(reply.text), 'no ids')
    t.notOk(reply.text.includes('"usage"'), 'no usage')
    if (!form.startsWith('with comments')) t.equal(reply.text, edited(stream))
  })
}

t.test("[case 1] [case 2] any split of a fork's stream gives the same bytes and the same outcome", async (t) => {
  const expected = edited(recorded)
  let runs = 0
  await fc.assert(fc.asyncProperty(fc.array(fc.nat(), { maxLength: 40 }), async (cuts) => {
    const reply = await served(recorded, cuts)
    const { valid, prompt_ids_confirmed: confirmed, finish_reason: finish } = await warmfork.outcome(reply)
    runs++
    return reply.text === expected && reply.whole && valid && confirmed && finish === 'stop'
  }), { numRuns: 15 })
  t.ok(runs >= 15)
})

t.test('[case 1] one byte at a time', async (t) => {
  const reply = await served(recorded, Array.from({ length: Buffer.byteLength(recorded) }, (_, i) => i))
  t.equal(reply.text, edited(recorded))
  t.match(await warmfork.outcome(reply), { valid: true, prompt_ids_confirmed: true })
})

t.test('[case 5] a stream that ends cleanly behind its finish passes as it is, and no [DONE] is added', async (t) => {
  const stream = recorded.replace('data: [DONE]\n\n', '')
  const reply = await served(stream)
  t.equal(reply.text, edited(stream))
  t.match(await warmfork.outcome(reply), { valid: true })
})

t.test('[case 5] [case 10] an end mark without a finish, and an error event, are no summary', async (t) => {
  const events = recorded.split('\n\n')
  const unfinished = events.filter((event) => !event.includes('"finish_reason":"stop"')).join('\n\n')
  const cut = await served(unfinished)
  t.equal(cut.parts.at(-1).error.code, 'summary_incomplete')
  t.notOk(cut.done)
  await warmfork.main(session)
  const failing = [...events.slice(0, 4), 'data: {"error":{"message":"engine says","code":500}}', 'data: [DONE]', ''].join('\n\n')
  const failed = await served(failing)
  t.equal(failed.parts.at(-1).error.code, 'summary_engine_error')
  t.notOk(failed.done)
  t.notOk(failed.text.includes('engine says'))
  await warmfork.main(session)
})

t.test('a client that closes as soon as it has [DONE] has had a whole summary', async (t) => {
  tap.answer = ({ url }, body, response) => {
    if (url !== chatPath || !isFork(body)) return false
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    // The end of the body does not come.
    response.write(recorded)
    return true
  }
  const { response } = await warmfork.begin(summary)
  response.on('error', () => {})
  let text = ''
  await new Promise<void>((resolve) => response.on('data', (chunk: Buffer) => {
    text += chunk.toString()
    if (text.endsWith('data: [DONE]\n\n')) resolve()
  }))
  response.destroy()
  tap.answer = undefined
  const id = response.headers['x-warmfork-receipt']
  t.match(await warmfork.line(({ msg, receipt }) => msg === 'outcome' && receipt === id), { valid: true, finish_reason: 'stop' })
  t.equal((await warmfork.chat(session.summary)).warmfork['decision'], 'forked')
})
