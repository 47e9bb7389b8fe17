import assert from 'node:assert/strict'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import t from 'tap'
import { chat } from '../../src/endpoint/chat.ts'
import { responses } from '../../src/endpoint/responses.ts'
import { ReplyRecorder, type RecordedReply } from '../../src/conversation/recorder.ts'
import type { ReplyEnd } from '../../src/relay/types.ts'
import { holds } from '../helpers/property.ts'

const streamHeaders = ['Content-Type', 'text/event-stream; charset=utf-8']
const jsonHeaders = ['content-type', 'application/json']

function record(chunks: readonly Buffer[], options: { headers?: string[], how?: ReplyEnd, keepWhole?: boolean, status?: number } = {}): RecordedReply | null {
  const { headers = streamHeaders, how = 'complete', keepWhole = false, status = 200 } = options
  let recorded: RecordedReply | null = null
  const recorder = new ReplyRecorder(chat.reply, { keepWhole }, (reply) => {
    assert.equal(recorded, null)
    recorded = reply
  })
  recorder.head(status, headers)
  for (const chunk of chunks) recorder.data(chunk)
  recorder.end(how)
  return recorded
}

function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [0, ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  return sorted.slice(1).map((to, i) => bytes.subarray(sorted[i], to))
}

const delta = (content: string): string => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`
const end = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\ndata: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}\n\ndata: [DONE]\n\n'
const ended = { finish: 'tool_calls', done: true, error: false, severalChoices: false, usage: { promptTokens: 7, completionTokens: 2, cachedTokens: 4 } }

t.test('any split of a short stream gives the same record [case 1]', async (t) => {
  const stream = Buffer.from(`: ping\n\n${delta('漢é👩‍👩‍👧')}${delta('data: [DONE]\n\n')}${end}: ping\n\n`)
  const whole = record([stream])!
  holds(t, fc.property(fc.array(fc.nat(stream.length), { maxLength: 20 }), (places) => {
    assert.deepEqual(record(cut(stream, places)), whole)
  }), 300)
  t.strictSame(record([...stream].map((byte) => Buffer.from([byte])))!, whole)
  t.match(whole, { cleanEnd: true, reply: ended })
})

t.test('any split of a stream longer than what is kept gives the same record', async (t) => {
  const stream = Buffer.from(delta('x'.repeat(500)).repeat(400) + end)
  holds(t, fc.property(fc.array(fc.nat(stream.length), { maxLength: 30 }), (places) => {
    const { reply, cleanEnd } = record(cut(stream, places))!
    const { finish, done, error, severalChoices, usage } = reply
    assert.deepEqual({ finish, done, error, severalChoices, usage, cleanEnd }, { ...ended, cleanEnd: true })
  }), 100)
})

t.test('a stream in very many small pieces takes little time and memory', async (t) => {
  const stream = Buffer.from(delta('x').repeat(4000) + end)
  const start = performance.now()
  t.match(record(Array.from({ length: stream.length }, (_, i) => stream.subarray(i, i + 1)))!.reply, ended)
  t.ok(performance.now() - start < 3000)
})

t.test('the pieces of a running stream are not kept: a thousand streams of small pieces cost what their ends are long', async (t) => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const recorder = new ReplyRecorder(chat.reply, { keepWhole: false }, () => {})
  recorder.head(200, streamHeaders)
  const pieces: WeakRef<Buffer>[] = []
  const add = (piece: Buffer) => {
    pieces.push(new WeakRef(piece))
    recorder.data(piece)
  }
  for (let i = 0; i < 200; i++) add(Buffer.from(delta('x'.repeat(200))))
  await new Promise(setImmediate)
  collect()
  t.equal(pieces.filter((piece) => piece.deref() !== undefined).length, 0)
  recorder.end('complete')
})

t.test('line ends, marks and missing spaces make no difference [case 3]', async (t) => {
  for (const ending of ['\n', '\r', '\r\n']) {
    for (const space of ['', ' ']) {
      const stream = Buffer.from(`\ufeff${(delta('a') + end).replaceAll('\n', ending).replaceAll('data: ', `data:${space}`)}`)
      t.match(record([stream.subarray(0, 40), stream.subarray(40)])!.reply, ended)
    }
  }
})

t.test('a client that left has the reply only when the end mark came (R1)', async (t) => {
  t.equal(record([Buffer.from(delta('a') + end)], { how: 'client_gone' })!.cleanEnd, true)
  t.equal(record([Buffer.from(delta('a') + end.replace('data: [DONE]\n\n', ''))], { how: 'client_gone' })!.cleanEnd, false)
  t.equal(record([Buffer.from('{"choices":[{"finish_reason":"stop"}]}')], { how: 'client_gone', headers: jsonHeaders })!.cleanEnd, false)
})

t.test('a reply that broke off did not end cleanly [case 9]', async (t) => {
  for (const how of ['upstream_died', 'unreachable'] as const) t.equal(record([Buffer.from(delta('a') + end)], { how })!.cleanEnd, false)
})

t.test('a whole reply is read whole, in any split', async (t) => {
  const body = Buffer.from(JSON.stringify({ choices: [{ index: 0, message: { content: 'é' }, finish_reason: 'stop' }], usage: { prompt_tokens: 3, completion_tokens: 1 } }))
  for (let place = 0; place <= body.length; place++) {
    t.match(record(cut(body, [place]), { headers: jsonHeaders }), { cleanEnd: true, reply: { finish: 'stop', content: 'é', usage: { promptTokens: 3, cachedTokens: null } } })
  }
  t.equal(record([body.subarray(0, -5)], { headers: jsonHeaders })!.reply.finish, null)
})

t.test('the text of a long stream is kept where it is wanted', async (t) => {
  const stream = Buffer.from(delta('x'.repeat(500)).repeat(400) + end)
  t.equal(record([stream], { keepWhole: true })!.reply.content.length, 200_000)
})

t.test('an encoded reply is not read, and one without a head is none [case 30]', async (t) => {
  t.equal(record([Buffer.from(end)], { headers: [...streamHeaders, 'Content-Encoding', 'gzip'] }), null)
  t.match(record([Buffer.from(end)], { headers: [...streamHeaders, 'content-encoding', 'identity'] }), { cleanEnd: true })
  let called = false
  new ReplyRecorder(chat.reply, { keepWhole: false }, () => (called = true)).end('complete')
  t.equal(called, false)
})

t.test('a last event that repeats all of the reply is read, however long it is and wherever it is cut', async (t) => {
  const text = 'x'.repeat(300_000)
  const item = { type: 'message', content: [{ type: 'output_text', text }] }
  const stream = Buffer.from([
    { type: 'response.created', response: { status: 'in_progress', instructions: text } },
    { type: 'response.output_text.delta', delta: '\nevent: response.completed\ndata: {"type":"response.completed","response":{"status":"incomplete"}}\n\n' },
    { type: 'response.output_text.delta', delta: text },
    { type: 'response.completed', response: { status: 'completed', output: [item], usage: { input_tokens: 7 } } },
  ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''))
  const begin = stream.lastIndexOf('event: response.completed')
  for (const place of [0, 1_000, begin - 200, ...Array.from({ length: 40 }, (_, i) => begin - 3 + i), stream.length - 5]) {
    let recorded: RecordedReply | undefined
    const recorder = new ReplyRecorder(responses.reply, { keepWhole: false }, (reply) => (recorded = reply))
    recorder.head(200, ['content-type', 'text/event-stream'])
    recorder.data(stream.subarray(0, place))
    recorder.data(stream.subarray(place))
    recorder.end('complete')
    t.match(recorded, { cleanEnd: true, reply: { finish: 'stop', done: true, usage: { promptTokens: 7 } } }, `cut at ${place}`)
  }
})
