import t from 'tap'
import { chat } from '../../src/endpoint/chat.ts'
import { outcomeOf, SummaryObserver } from '../../src/receipt/outcome.ts'
import { emptyReply } from '../../src/wire/reply.ts'

const event = 'data: {"choices":[{"index":0,"delta":{"content":"漢"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":8}}}\n\n'

function observe(bytes: Buffer, cut: number, headers: string[], status = 200): SummaryObserver {
  let ended = 0
  const observer = new SummaryObserver(chat.reply, () => ended++)
  observer.head(status, headers)
  observer.data(bytes.subarray(0, cut))
  observer.data(bytes.subarray(cut))
  observer.end('complete')
  t.equal(ended, 1)
  return observer
}

t.test('a reply that goes by is read alike wherever it is cut, as a stream or whole', async (t) => {
  const stream = Buffer.from(`: ping\n\n${event}data: [DONE]\n\n`)
  for (let cut = 0; cut <= stream.length; cut += 3) {
    const { reply, firstTokenAt } = observe(stream, cut, ['content-type', 'text/event-stream'])
    t.match(reply, { content: '漢', finish: 'stop', done: true, usage: { promptTokens: 9, cachedTokens: 8 } })
    t.type(firstTokenAt, 'number')
  }
  const whole = Buffer.from('{"choices":[{"message":{"content":"漢"},"finish_reason":"stop"}]}')
  for (let cut = 0; cut <= whole.length; cut += 3) t.match(observe(whole, cut, ['content-type', 'application/json']).reply, { content: '漢', finish: 'stop' })
})

t.test('what is encoded or no success is not read', async (t) => {
  const stream = Buffer.from(event)
  t.equal(observe(stream, 5, ['content-type', 'text/event-stream', 'content-encoding', 'gzip']).isReadable, false)
  const refused = observe(stream, 5, ['content-type', 'text/event-stream'], 400)
  t.strictSame(refused.reply, emptyReply())
})

t.test('an outcome tells what the engine reported, and null where it did not [case 11]', async (t) => {
  const times = { receivedAt: performance.now() - 50, firstTokenAt: null }
  const receipt = { receipt: 'r', decision: 'forked' as const }
  t.match(outcomeOf(receipt, emptyReply(), null, null, times), {
    receipt: 'r', decision: 'forked', prompt_ids_confirmed: null, finish_reason: null, valid: null, invalid_reason: null,
    prompt_tokens: null, completion_tokens: null, engine_cached_tokens: null, first_token_ms: null,
  })
  const usage = { promptTokens: 9, completionTokens: 2, cachedTokens: 0 }
  t.match(outcomeOf(receipt, { ...emptyReply(), finish: 'length', usage }, { valid: false, reason: 'summary_truncated' }, true, { ...times, firstTokenAt: times.receivedAt + 20 }), {
    prompt_ids_confirmed: true, finish_reason: 'length', valid: false, invalid_reason: 'summary_truncated', prompt_tokens: 9, completion_tokens: 2, engine_cached_tokens: 0, first_token_ms: 20,
  })
})

t.test('an unknown finish could hold a reply’s text, so it is not written down', async (t) => {
  const finish = (text: string | null): unknown => outcomeOf({ receipt: 'r', decision: 'passed' }, { ...emptyReply(), finish: text }, null, null, { receivedAt: 0, firstTokenAt: null }).finish_reason
  t.equal(finish('CANARY'), 'other')
  for (const known of ['stop', 'length', 'tool_calls', 'abort', 'repetition', null]) t.equal(finish(known), known)
})
