// Input that no agent should send. The client gets what the engine alone gives, a summary one receipt, the log at most
// one warning, and the next conversation works as if nothing had been.

import { brotliCompressSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { opencodeSession, sameForAll, startWarmfork } from '../helpers/warmfork.ts'

const warmfork = await startWarmfork(t, { config: { limits: { body_bytes: 100_000, header_bytes: 64 * 1024 } } })
const explicit = ['x-warmfork-request', 'summary']
const { main, summary } = opencodeSession()
const json = JSON.stringify(summary)

interface Bad {
  readonly body: Buffer | string
  readonly headers?: readonly string[]
  /** The reason in the receipt where it says that it is a summary. */
  readonly reason?: string
}

const bodies: Record<string, Bad> = {
  'nothing at all': { body: '' },
  'no JSON': { body: 'not json' },
  'half a JSON': { body: json.slice(0, -20) },
  'JSON with bytes behind it': { body: `${json} x` },
  'an array': { body: '[1,2]' },
  'null': { body: 'null' },
  'no messages': { body: '{"model":"qwen3-simulated"}' },
  'messages that are no array': { body: '{"model":"qwen3-simulated","messages":"hello"}' },
  'messages that are no objects': { body: '{"model":"qwen3-simulated","messages":["hello"]}' },
  'an empty array of messages': { body: '{"model":"qwen3-simulated","messages":[]}', reason: 'no_warm_evidence' },
  'a top-level key twice': { body: json.replace('{', '{"messages":[],') },
  'a number that is none': { body: json.replace('{', '{"temperature":01,') },
  'bytes that are no UTF-8': { body: Buffer.concat([Buffer.from('{"model":"qwen3-simulated","messages":[{"role":"user","content":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}]}')]) },
  'a NUL in a text': { body: json.replace('What did we', 'What\\u0000 did we'), reason: 'no_warm_evidence' },
  'a raw NUL': { body: json.replace('What did we', 'What\u0000 did we') },
  'a lone surrogate': { body: json.replace('What did we', 'What \\ud800 did we'), reason: 'no_warm_evidence' },
  'a gzip body': { body: gzipSync(json), headers: ['content-encoding', 'gzip'] },
  'a brotli body': { body: brotliCompressSync(json), headers: ['content-encoding', 'br'] },
  'a body that says zstd': { body: json, headers: ['content-encoding', 'zstd'] },
}

for (const [what, { body, headers = [], reason = 'unreadable_body' }] of Object.entries(bodies)) {
  const bytes = Buffer.from(body)

  t.test(`a summary with ${what} gets the engine's own answer and one receipt`, async (t) => {
    const since = warmfork.since()
    const lines = warmfork.logged.length
    const reply = await warmfork.chat(bytes, { headers: [...explicit, ...headers] })
    const alone = await warmfork.engineAlone(bytes, { headers })
    t.equal(reply.status, alone.status)
    t.equal(sameForAll(reply), sameForAll(alone))
    t.match(reply.warmfork, { decision: 'passed', 'fallback-reason': reason })
    await warmfork.outcome(reply)
    t.strictSame(warmfork.logged.slice(lines).map(({ msg }) => msg), ['receipt', 'outcome'])
    t.ok(since.generations()[0]!.body.equals(bytes))
  })

  t.test(`a side request with ${what} gets the engine's own answer, and no receipt`, async (t) => {
    const since = warmfork.since()
    const reply = await warmfork.chat(bytes, { headers: [...headers, 'x-warmfork-request', 'side'] })
    const alone = await warmfork.engineAlone(bytes, { headers })
    t.equal(reply.status, alone.status)
    t.equal(sameForAll(reply), sameForAll(alone))
    t.strictSame(reply.warmfork, {})
    t.ok(since.generations()[0]!.body.equals(bytes))
    t.strictSame(since.warnings(), [])
  })
}

t.test('main requests that cannot be read leave nothing that is in the way of others', async (t) => {
  const since = warmfork.since()
  for (const { body, headers = [] } of Object.values(bodies)) {
    const alone = await warmfork.engineAlone(body, { headers })
    const reply = await warmfork.chat(body, { headers: [...headers, 'x-warmfork-request', 'main'] })
    t.equal(reply.status, alone.status)
    t.equal(sameForAll(reply), sameForAll(alone))
  }
  t.strictSame(since.warnings(), [])
  const session = opencodeSession()
  await warmfork.main(session)
  t.equal((await warmfork.chat(session.summary)).warmfork['decision'], 'forked')
})

t.test('an agent\'s own summary in a compressed body goes out as it came', async (t) => {
  const session = opencodeSession()
  await warmfork.main(session)
  const body = gzipSync(JSON.stringify(session.summary))
  const since = warmfork.since()
  await warmfork.chat(body, { headers: ['content-encoding', 'gzip'] })
  t.ok(since.generations()[0]!.body.equals(body))
})

t.test('a body over the limit is a readable 413, and the engine hears nothing', async (t) => {
  const since = warmfork.since()
  const reply = await warmfork.chat({ ...main, filler: 'x'.repeat(100_000) }, { headers: explicit })
  t.equal(reply.status, 413)
  t.equal(JSON.parse(reply.text).error.code, 'body_too_large')
  t.strictSame(since.generations(), [])
})

t.test('a main request that is unreadable as evidence gives the summary that reason', async (t) => {
  const session = opencodeSession()
  await warmfork.chat(JSON.stringify(session.main).replace('{', '{"temperature":0,"temperature":0,'))
  const reply = await warmfork.chat(session.summary)
  t.match(reply.warmfork, { decision: 'passed', 'fallback-reason': 'unreadable_body' })
  t.equal(reply.status, 200)
})

for (const [what, id] of Object.entries({ '10 kB long': 'i'.repeat(10_240), 'of control characters': '\t\u0080\u0099\t', 'of latin1 bytes': 'é\u00ff', 'a prototype key': '__proto__' })) {
  t.test(`a conversation id ${what} works like any other, in headers and in the body`, async (t) => {
    const since = warmfork.since()
    for (const [headers, members] of [[['x-conversation-id', id], {}], [[], { metadata: { conversation_id: id.replaceAll('\t', '\u0001') } }]] as const) {
      const session = opencodeSession()
      t.equal((await warmfork.chat({ ...session.main, ...members }, { headers })).status, 200)
      const reply = await warmfork.chat({ ...session.summary, ...members }, { headers })
      t.equal(reply.warmfork['decision'], 'forked')
      const { conversation } = await warmfork.receipt(reply)
      t.match(conversation, /^[\w-]{22}$/, 'the receipt has its hash')
    }
    t.strictSame(since.warnings(), [])
  })
}

t.test('ids that are no strings name no conversation', async (t) => {
  for (const value of [7, null, ['a'], { a: 1 }, true]) {
    const session = opencodeSession()
    await warmfork.chat({ ...session.main, metadata: { conversation_id: value } })
    const reply = await warmfork.chat({ ...session.summary, metadata: { conversation_id: value } })
    t.equal(reply.warmfork['decision'], 'forked')
    t.equal((await warmfork.receipt(reply))['conversation'], null)
  }
})

t.test('a summary for a conversation that never was passes', async (t) => {
  const session = opencodeSession()
  const reply = await warmfork.chat(session.summary, { headers: ['x-conversation-id', 'never-was'] })
  t.equal(reply.status, 200)
  t.equal(reply.warmfork['fallback-reason'], 'no_warm_evidence')
})

t.test('a value of x-warmfork-request that nobody knows says nothing', async (t) => {
  const session = opencodeSession()
  await warmfork.main(session, { headers: ['x-warmfork-request', 'whatever'] })
  t.equal((await warmfork.chat(session.summary, { headers: ['x-warmfork-request', 'whatever'] })).warmfork['decision'], 'forked')
})
