// What the ends of every endpoint have in common, on replies as its engine sends them.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { ReplyRecorder, type RecordedReply } from '../../src/conversation/recorder.ts'
import type { ReplyEnd } from '../../src/relay/types.ts'
import { SummaryObserver } from '../../src/receipt/outcome.ts'
import { SseSplitter } from '../../src/wire/sse.ts'
import { overEndpoints } from '../helpers/endpoints/all.ts'
import { holds } from '../helpers/property.ts'

const streamHeaders = ['content-type', 'text/event-stream; charset=utf-8']
const jsonHeaders = ['content-type', 'application/json']
const texts = ['漢é👩‍👩‍👧 ', '', 'data: [DONE]\n\n', '"prompt_token_ids":[1,2] ', 'x'.repeat(300)]

function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [0, ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  return sorted.slice(1).map((to, i) => Buffer.from(bytes.subarray(sorted[i], to)))
}

overEndpoints(t, async (t, { endpoint, canned, write }) => {
  const { whole, events, end } = canned(texts)
  const stream = Buffer.from(`: ping\n\n${events.join('')}${end}`)

  function record(chunks: readonly Buffer[], options: { headers?: string[], how?: ReplyEnd, keepWhole?: boolean } = {}): RecordedReply {
    const { headers = streamHeaders, how = 'complete', keepWhole = true } = options
    let recorded!: RecordedReply
    const recorder = new ReplyRecorder(endpoint.reply, { keepWhole }, (reply) => (recorded = reply))
    recorder.head(200, headers)
    for (const chunk of chunks) recorder.data(chunk)
    recorder.end(how)
    return recorded
  }

  t.test('any split of a stream gives the same record, and the same outcome [case 1]', async (t) => {
    const wanted = record([stream])
    t.match(wanted, { cleanEnd: true, reply: { finish: 'stop', content: texts.join(''), done: true, error: false, severalChoices: false, toolCalls: false } })
    holds(t, fc.property(fc.array(fc.nat(stream.length), { maxLength: 20 }), (places) => {
      const chunks = cut(stream, places)
      assert.deepEqual(record(chunks), wanted)
      const observer = new SummaryObserver(endpoint.reply, () => {})
      observer.head(200, streamHeaders)
      for (const chunk of chunks) observer.data(chunk)
      observer.end('complete')
      assert.deepEqual(observer.reply, wanted.reply)
      assert.notEqual(observer.firstTokenAt, null)
    }))
  })

  t.test('the end of a long stream is read from its tail', async (t) => {
    const long = canned(Array<string>(2_000).fill('x'.repeat(500)))
    const { reply, cleanEnd } = record([Buffer.from(long.events.join('') + long.end)], { keepWhole: false })
    t.match({ reply, cleanEnd }, { cleanEnd: true, reply: { finish: 'stop', done: true, error: false } })
  })

  t.test('a whole reply is read whole, in any split', async (t) => {
    const body = Buffer.from(whole)
    for (let place = 0; place <= body.length; place += 7) {
      t.match(record(cut(body, [place]), { headers: jsonHeaders }), { cleanEnd: true, reply: { finish: 'stop', content: texts.join('') } })
    }
    t.equal(record([body.subarray(0, -5)], { headers: jsonHeaders }).reply.finish, null)
  })

  t.test('a client that left has the reply only when the end mark came, and a broken one never ended (R1)', async (t) => {
    t.equal(record([stream], { how: 'client_gone' }).cleanEnd, true)
    t.equal(record([Buffer.from(events.slice(0, -1).join(''))], { how: 'client_gone' }).cleanEnd, false)
    t.equal(record([stream], { how: 'upstream_died' }).cleanEnd, false)
  })

  t.test('a reply that ends before its finish has none, wherever it ends', async (t) => {
    for (const count of events.keys()) t.equal(record([Buffer.from(events.slice(0, count).join(''))]).reply.finish, null)
  })

  t.test('a reply that holds nothing of ours passes every byte', async (t) => {
    const edit = endpoint.edit(endpoint.read(Buffer.from(JSON.stringify(write({ model: 'm', messages: [{ role: 'user', content: 'a' }], stream: true }))))!)
    const passed = new SseSplitter().push(stream).map((event) => edit.event(event) ?? Buffer.alloc(0))
    t.equal(Buffer.concat(passed).toString(), stream.toString())
    t.equal(edit.reply(Buffer.from(whole)).toString(), whole)
  })

  t.test('a reply of any form is read without a throw', async (t) => {
    holds(t, fc.property(fc.json(), fc.constantFrom('choices', 'usage', 'error', 'type', 'response', 'message', 'delta', 'output', 'content_block'), (json, key) => {
      for (const text of [json, `{${JSON.stringify(key)}:${json}}`]) {
        record([Buffer.from(text)], { headers: jsonHeaders })
        record([Buffer.from(`data: ${text}\n\n`)])
        endpoint.reply.promptIds(Buffer.from(text))
      }
    }), 500)
  })
})
