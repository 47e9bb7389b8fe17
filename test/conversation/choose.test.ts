import t from 'tap'
import { chooseEvidence, conversationOf, evidenceById, noneById, type Choice } from '../../src/conversation/choose.ts'
import { conversationInBody } from '../../src/conversation/conversation-id.ts'
import { opening } from '../../src/conversation/content.ts'
import type { Evidence } from '../../src/conversation/evidence.ts'
import type { ExpiredEvidence } from '../../src/conversation/store.ts'
import { chat } from '../../src/endpoint/chat.ts'
import type { Endpoint } from '../../src/endpoint/endpoint.ts'
import { assistant, readRequest, system, user } from '../helpers/chat-requests.ts'
import { evidenceOf } from '../helpers/evidence.ts'

const sources = { headers: [], bodyFields: ['session_id'] }
const turns = [user('one'), assistant('two'), user('three')]
const foreign = { role: 'system', content: 'You write summaries.' }
const instruction = user('Summarise.')

function choose(live: readonly Evidence[], summary: object, options: { conversation?: string, expired?: ExpiredEvidence[], shape?: 'flattened' } = {}): Choice {
  const request = readRequest(summary)
  const conversation = options.conversation ?? conversationInBody(request, sources)
  return chooseEvidence({ live, expired: options.expired ?? [] }, { summary: request, conversation, shape: options.shape ?? 'structured', sources })
}

function names(choice: Choice): string[] | string {
  return 'reason' in choice ? choice.reason : choice.fits.map(({ evidence }) => evidence.id)
}

const summary = { model: 'm', messages: [foreign, ...turns, instruction] }

t.test('evidence is found by content where the summary has no id, or the evidence has none [case 55]', async (t) => {
  const withId = evidenceOf({ model: 'm', messages: [system, ...turns] }, { id: 'a', conversation: 'c' })
  const other = evidenceOf({ model: 'm', messages: [system, user('other')] }, { id: 'b', conversation: 'c' })
  t.strictSame(names(choose([other, withId], summary)), ['a'])
  t.strictSame(names(choose([other, { ...withId, conversation: null }], summary, { conversation: 'c' })), ['a'])
  t.strictSame(names(choose([other, withId], summary, { conversation: 'unknown' })), ['a'])
})

t.test('an id narrows the search between equal contents', async (t) => {
  const lines = ['c', 'd', null].map((conversation, i) => evidenceOf({ model: 'm', messages: [system, ...turns] }, { id: `${i}`, conversation }))
  t.strictSame(names(choose(lines, summary, { conversation: 'd' })), ['1'])
  t.strictSame(names(choose(lines, summary, { conversation: 'unknown' })), ['0', '1', '2'])
  t.strictSame(names(choose(lines, summary)), ['0', '1', '2'])
})

t.test('an id in the body narrows like one in a header', async (t) => {
  const body = (id: string): object => ({ model: 'm', messages: [system, ...turns], session_id: id })
  const lines = [evidenceOf(body('x'), { id: 'x' }), evidenceOf(body('y'), { id: 'y' })]
  t.strictSame(names(choose(lines, { ...summary, session_id: 'y' })), ['y'])
  t.strictSame(names(choose(lines, { ...summary, session_id: 'z' })), ['x', 'y'])
  t.equal(conversationOf(lines[0]!, sources), conversationInBody(readRequest(body('x')), sources))
})

t.test('side requests that share the id do not win over the main line', async (t) => {
  const main = evidenceOf({ model: 'm', messages: [system, ...turns] }, { id: 'main', conversation: 'c' })
  const title = evidenceOf({ model: 'm', messages: [{ role: 'system', content: 'Give it a title.' }, user('one')] }, { id: 'title', conversation: 'c' })
  const agent = evidenceOf({ model: 'm', messages: [{ role: 'system', content: 'You help.' }, user('find')] }, { id: 'agent', conversation: 'c' })
  t.strictSame(names(choose([title, agent, main], summary, { conversation: 'c' })), ['main'])
  t.strictSame(names(choose([title, agent], { model: 'm', messages: [foreign, user('find'), instruction] }, { conversation: 'c' })), ['agent'])
})

t.test('the longest shared beginning wins, then the same system text', async (t) => {
  const short = evidenceOf({ model: 'm', messages: [system, turns[0]!] }, { id: 'short' })
  const long = evidenceOf({ model: 'm', messages: [system, ...turns, assistant('four')] }, { id: 'long' })
  t.strictSame(names(choose([short, long], summary)), ['long'])
  const same = evidenceOf({ model: 'm', messages: [foreign, ...turns] }, { id: 'same' })
  t.strictSame(names(choose([evidenceOf({ model: 'm', messages: [system, ...turns] }, { id: 'apart' }), same], summary)), ['same'])
})

t.test('of lines of one text whose heads are equally long the one that leaves less of it wins', async (t) => {
  const notes = ['The first note lists the shelves of the northern depot.', 'The second note lists the shelves of the southern depot, crate by crate, and says of each of them who checked it, on which round, and what was found in it.', 'The third note says nothing.']
  const line = (from: number, id: string): Evidence => evidenceOf({ model: 'm', messages: [system, user('Which shelves do the notes of this folder list?'), assistant(notes[from]!), user(`Go on, note ${from} is read.`)] }, { id })
  const asked = { model: 'm', messages: [foreign, user(`User: Which shelves do the notes of this folder list?\n\n${notes.map((note, i) => `Assistant: ${note}\n\nUser: Go on, note ${i} is read.`).join('\n\n')}\n\nSummarise.`)] }
  t.strictSame(names(choose([line(0, 'first'), line(1, 'second')], asked, { shape: 'flattened' })), ['second'])
  t.strictSame(names(choose([line(0, 'first'), line(0, 'again')], asked, { shape: 'flattened' })), ['first', 'again'], 'equal ones stay so')
})

t.test('the same content twice is told, the most recent first', async (t) => {
  const twins = ['a', 'b'].map((id) => evidenceOf({ model: 'm', messages: [system, ...turns] }, { id }))
  t.strictSame(names(choose(twins, summary)), ['a', 'b'])
})

t.test('another model is taken only where there is none of the summary’s [case 59]', async (t) => {
  const other = evidenceOf({ model: 'n', messages: [system, ...turns] }, { id: 'n' })
  const own = evidenceOf({ model: 'm', messages: [system, ...turns] }, { id: 'm' })
  t.strictSame(names(choose([other, own], summary)), ['m'])
  t.strictSame(names(choose([other], summary)), ['n'])
})

t.test('without evidence the reason says whether there once was some', async (t) => {
  const name = opening(readRequest(summary).chat)
  t.equal(names(choose([], summary)), 'no_warm_evidence')
  t.equal(names(choose([], summary, { expired: [{ conversation: null, opening: name }] })), 'evidence_expired')
  t.equal(names(choose([], summary, { expired: [{ conversation: 'c', opening: 'other' }], conversation: 'c' })), 'evidence_expired')
  t.equal(names(choose([], summary, { expired: [{ conversation: 'c', opening: 'other' }], conversation: 'd' })), 'no_warm_evidence')
  t.equal(names(choose([], summary, { expired: [{ conversation: null, opening: null }] })), 'no_warm_evidence')
  t.equal(names(choose([], { messages: [foreign] }, { expired: [{ conversation: null, opening: null }] })), 'no_warm_evidence')
})

t.test('where evidence has the id and does not cover, the reason is its own', async (t) => {
  const changed = evidenceOf({ model: 'm', messages: [system, user('ONE'), ...turns.slice(1)] }, { id: 'a', conversation: 'c' })
  t.equal(names(choose([changed], summary, { conversation: 'c' })), 'coverage_unproven')
  t.equal(names(choose([changed], summary)), 'no_warm_evidence')
  const later = evidenceOf({ model: 'm', messages: [system, user('zero'), assistant('x'), ...turns] }, { id: 'b' })
  t.equal(names(choose([later], summary)), 'mid_range')
  t.equal(names(choose([later, changed], summary, { conversation: 'c' })), 'coverage_unproven')
  const inBody = evidenceOf({ model: 'm', messages: [system, user('ONE')], session_id: 'x' })
  t.equal(names(choose([inBody], { ...summary, session_id: 'x' })), 'coverage_unproven')
})

t.test('evidence that cannot be read covers nothing', async (t) => {
  const twice = evidenceOf(`{"messages":[],"messages":${JSON.stringify([system, ...turns])}}`, { id: 'a', conversation: 'c' })
  t.equal(names(choose([twice], summary, { conversation: 'c' })), 'unreadable_body')
})

t.test('evidence by id alone is that of the conversation, and of no conversation none', async (t) => {
  const [a, b] = [evidenceOf({ messages: [] }, { conversation: 'c' }), evidenceOf({ messages: [] }, { conversation: 'd' })]
  t.strictSame(evidenceById({ live: [a, b], expired: [] }, 'd', sources).map(({ id }) => id), [b.id])
  t.strictSame(evidenceById({ live: [a, b, evidenceOf({ messages: [] })], expired: [] }, null, sources), [])
})

t.test('without evidence by id the reason says whether there once was some', (t) => {
  const expired = [{ conversation: 'c', opening: null }, { conversation: null, opening: 'same' }]
  t.equal(noneById({ live: [], expired }, 'c'), 'evidence_expired')
  t.equal(noneById({ live: [], expired }, 'd'), 'no_warm_evidence')
  t.equal(noneById({ live: [], expired }, null), 'no_warm_evidence', 'what had no id is not what was asked for')
  t.end()
})

t.test('evidence of another endpoint is none, and says so where it alone fits, by content or by id', async (t) => {
  const elsewhere: Endpoint = { ...chat, name: 'responses' }
  const body = { model: 'm', messages: [system, ...turns] }
  const foreignLine = evidenceOf(body, { id: 'f', endpoint: elsewhere, conversation: 'c' })
  t.equal(names(choose([foreignLine], summary)), 'endpoint_changed')
  t.strictSame(names(choose([foreignLine, evidenceOf(body, { id: 'a' })], summary)), ['a'])
  const other = evidenceOf({ model: 'm', messages: [system, user('other')] }, { endpoint: elsewhere, conversation: 'c' })
  t.equal(names(choose([other], summary)), 'no_warm_evidence')
  t.equal(names(choose([other], summary, { conversation: 'c' })), 'endpoint_changed')
})
