import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { growth, opening, sharedBytes } from '../../src/conversation/content.ts'
import { lineOf } from '../../src/conversation/lineage.ts'
import { messages } from '../../src/endpoint/messages.ts'
import { answer, assistant, bytes, calls, chatRequest, system, user } from '../helpers/chat-requests.ts'
import { evidenceOf } from '../helpers/evidence.ts'
import { messagesBodies } from '../helpers/messages-requests.ts'
import { holds } from '../helpers/property.ts'

const extendsLine = (recorded: Buffer, body: Buffer): boolean => growth(recorded, body, { itemsKey: 'messages' }) !== null

const talk = [system, user('one'), calls('a'), answer('a'), assistant('two')]

/** The same request with options in front of the messages, behind them, or on both sides. */
const layouts: Readonly<Record<string, (messages: object[], seed: number) => Buffer>> = {
  'options in front': (messages, seed) => bytes({ model: 'm', seed, messages }),
  'options behind': (messages, seed) => bytes({ messages, model: 'm', seed }),
  'both': (messages, seed) => bytes({ model: 'm', messages, seed, tools: [] }),
  'over lines': (messages, seed) => Buffer.from(JSON.stringify({ model: 'm', messages, seed }, null, 2)),
  'over lines with tabs and CR': (messages, seed) => Buffer.from(JSON.stringify({ model: 'm', messages, seed }, null, '\t').replaceAll('\n', '\r\n')),
  'spaced': (messages, seed) => Buffer.from(`{ "model" : "m" , "messages" : [ ${messages.map((message) => JSON.stringify(message)).join(' , ')} ] , "seed" : ${seed} }`.replaceAll(' ,', ',')),
}

for (const [layout, write] of Object.entries(layouts)) {
  t.test(`a request that goes on grows its line, written with ${layout}`, async (t) => {
    for (let length = 1; length < talk.length; length++) {
      t.equal(extendsLine(write(talk.slice(0, length), 1), write(talk.slice(0, length + 1), 1)), true)
      t.equal(extendsLine(write(talk.slice(0, length), 1), write(talk, 2)), true)
    }
  })

  t.test(`a changed, shortened or foreign conversation grows no line, written with ${layout}`, async (t) => {
    const recorded = write(talk, 1)
    t.equal(extendsLine(recorded, write(talk.slice(0, 3), 1)), false, 'rewound')
    t.equal(extendsLine(recorded, write([system, user('ONE'), ...talk.slice(2), user('x')], 1)), false, 'changed')
    t.equal(extendsLine(recorded, write([{ role: 'system', content: 'Give it a title.' }, user('one')], 1)), false, 'side request')
    t.equal(extendsLine(write([system, user('one')], 1), write([system, user('one more')], 1)), false, 'longer text')
  })

  t.test(`the same request again grows its line, written with ${layout}`, async (t) => {
    t.equal(extendsLine(write(talk, 1), write(talk, 1)), true)
  })
}

t.test('bodies without messages grow nothing', async (t) => {
  t.equal(extendsLine(Buffer.from('{}'), bytes({ messages: [] })), false)
  t.equal(extendsLine(bytes({ messages: [] }), Buffer.from('')), false)
  t.equal(extendsLine(bytes({ messages: [] }), bytes({ messages: [user('a')] })), false)
})

t.test('shared bytes are those that a plain loop finds', async (t) => {
  const piece = fc.constantFrom(1, 3, 17, 255, 256, 257, 4095, 16_384, 65_535, 65_536, 65_537, 200_000)
  holds(t, fc.property(piece, fc.nat(40), fc.nat(40), fc.uint8Array({ maxLength: 5 }), fc.uint8Array({ maxLength: 5 }), (size, from, at, behindA, behindB) => {
    const shared = Buffer.alloc(size, 'abcdefg')
    const a = Buffer.concat([Buffer.alloc(from), shared, behindA])
    const b = Buffer.concat([Buffer.alloc(at), shared, behindB])
    let naive = 0
    while (from + naive < a.length && at + naive < b.length && a[from + naive] === b[at + naive]) naive++
    assert.equal(sharedBytes(a, from, b, at), naive)
  }), 150)
})

t.test('a request grows the most recent line that it goes on with', async (t) => {
  const main = evidenceOf({ messages: talk }, { conversation: 'c' })
  const older = evidenceOf({ messages: talk.slice(0, 2) }, { conversation: 'c' })
  const agent = evidenceOf({ messages: [{ role: 'system', content: 'You are a helper.' }, user('find it')] }, { conversation: 'c' })
  const next = bytes({ messages: [...talk, user('go on')] })
  t.equal(lineOf([agent, main, older], next)?.evidence, main)
  t.equal(lineOf([older, main], next)?.evidence, older)
  t.equal(lineOf([main, agent], bytes({ messages: [{ role: 'system', content: 'Give it a title.' }, user('one')] }))?.evidence, undefined)
  t.equal(lineOf([main, agent], bytes({ messages: [{ role: 'system', content: 'You are a helper.' }, user('find it'), assistant('found')] }))?.evidence, agent)
})

t.test('a rewound conversation starts a line of its own and leaves the longer one', async (t) => {
  const main = evidenceOf({ messages: talk })
  t.equal(lineOf([main], bytes({ messages: [...talk.slice(0, 2), assistant('otherwise')] }))?.evidence, undefined)
})

t.test('a conversation without an id is called by its first message behind the system text', async (t) => {
  const name = (...messages: object[]): string | null => opening(chatRequest({ messages }))
  t.equal(name(system, user('one')), name({ role: 'system', content: 'other' }, { role: 'developer', content: 'x' }, user('one'), assistant('two')))
  t.not(name(user('one')), name(user('two')))
  t.equal(name(system), null)
})

t.test('on /v1/messages a line grows though marks for a cache move, and texts become strings', async (t) => {
  const mark = { cache_control: { type: 'ephemeral' } }
  const text = (words: string, own: object = {}): object => ({ type: 'text', text: words, ...own })
  const write = (said: readonly object[]): Buffer => bytes({ model: 'm', max_tokens: 9, messages: said, system: [text('Work here.', mark)] })
  const use = { type: 'tool_use', id: 'a', name: 'look', input: {} }
  const result = { type: 'tool_result', tool_use_id: 'a', content: 'seen' }
  const recorded = evidenceOf(write([{ role: 'user', content: [text('one', mark)] }, { role: 'system', content: [text('It is late.', mark)] }]), { endpoint: messages })
  const next = [{ role: 'user', content: 'one' }, { role: 'system', content: 'It is late.' }, { role: 'assistant', content: [use] }, { role: 'user', content: [{ ...result, ...mark }] }]
  t.equal(lineOf([recorded], write(next))?.evidence, recorded)
  const third = [...next.slice(0, 3), { role: 'user', content: [result] }, { role: 'assistant', content: 'two' }, { role: 'user', content: [text('three', mark)] }]
  t.ok(lineOf([evidenceOf(write(next), { endpoint: messages })], write(third)))
  for (const [name, other] of [
    ['rewound', next.slice(0, 1)], ['another first message', [{ role: 'user', content: 'ONE' }, ...next.slice(1)]], ['a longer text', [{ role: 'user', content: [text('one'), text('more')] }, ...next.slice(1)]],
    ['another message behind', [next[0]!, { role: 'system', content: 'It is early.' }, ...next.slice(2)]],
  ] as const) t.equal(lineOf([recorded], write(other)), undefined, name)
  t.equal(lineOf([recorded], bytes({ model: 'm', max_tokens: 9, messages: next, system: 'Work there.' })), undefined, 'another system text')
})

t.test('on /v1/messages a line grows by what stands behind it, whatever was marked', async (t) => {
  holds(t, fc.property(messagesBodies, (body) => {
    const unmarked = JSON.parse(JSON.stringify(body.messages, (key, value) => (key === 'cache_control' ? undefined : value)))
    const recorded = evidenceOf(bytes(body), { endpoint: messages })
    assert.ok(lineOf([recorded], bytes({ ...body, messages: [...unmarked, user('more')] })))
    assert.equal(lineOf([recorded], bytes({ ...body, messages: [user('other'), ...unmarked] }))?.evidence, undefined)
  }), 300)
})
