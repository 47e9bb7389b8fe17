import t from 'tap'
import { asFollowing, ownFollowing } from '../../src/fork/build.ts'
import { readsAsPlanned } from '../../src/fork/read-back.ts'
import type { ForkParts } from '../../src/fork/parts.ts'
import { structuredCoverage, type Covered } from '../../src/summary/coverage.ts'
import { assistant, readRequest, user } from '../helpers/chat-requests.ts'
import { merging, mergingRequest } from '../helpers/merging-endpoint.ts'

const directive = Buffer.from('{"role":"user","content":"Sum it up."}')
const instruction = { role: 'user', content: 'Sum it up.' }
const one = { role: 'user', content: 'one' }

function coverage(evidence: Parameters<typeof mergingRequest>[0], summary: Parameters<typeof mergingRequest>[0]): { parts: ForkParts, covered: Covered } {
  const [read, asked] = [mergingRequest(evidence), mergingRequest(summary)]
  const covered = structuredCoverage(read, asked) as Covered
  t.ok(covered.covered)
  return { covered, parts: { evidence: read, summary: asked, headLength: covered.headLength, following: asFollowing(asked, covered.following), directive } }
}

function written(parts: ForkParts): unknown {
  return (JSON.parse(merging.forkBody(parts, { toolChoiceNone: true, maxTokens: null }).toString('utf8')) as { input: unknown }).input
}

t.test('a head never ends inside an item, and the item that follows is the one of the summary', async (t) => {
  const summary = [one, { role: 'user', parts: ['two', 'other'] }, { role: 'user', content: 'four' }, instruction]
  const { parts } = coverage([one, { role: 'user', parts: ['two', 'three'] }], summary)
  t.equal(parts.headLength, 1)
  t.strictSame(written(parts), summary)
  t.ok(readsAsPlanned(parts))
})

t.test('an item that goes on in the message before is part of it', async (t) => {
  const summary = [one, { role: 'assistant', content: 'two' }, { more: ' and more' }, { role: 'user', content: 'three' }, instruction]
  const shorter = coverage([one, { role: 'assistant', content: 'two' }], summary).parts
  t.equal(shorter.headLength, 1, 'the message is another')
  t.strictSame(written(shorter), summary)
  t.ok(readsAsPlanned(shorter))
  const whole = coverage(summary.slice(0, 3), summary).parts
  t.equal(whole.headLength, 2)
  t.strictSame(written(whole), summary)
  t.ok(readsAsPlanned(whole))
})

t.test('an instruction may be taken out of an item whose other part the head holds', async (t) => {
  const { parts } = coverage([one, { role: 'user', content: 'two' }], [one, { role: 'user', parts: ['two', 'Sum it up.'] }])
  t.equal(parts.headLength, 2)
  t.strictSame(written(parts), [one, { role: 'user', content: 'two' }, instruction])
  t.ok(readsAsPlanned(parts))
})

t.test('a fork that reads otherwise than planned is found out', async (t) => {
  const { parts } = coverage([one, { role: 'assistant', content: 'two' }], [one, { role: 'assistant', content: 'two' }, { role: 'user', parts: ['three', 'Sum it up.'] }])
  t.notOk(readsAsPlanned(parts), 'the item of what follows holds the instruction too')
  t.notOk(readsAsPlanned({ ...parts, following: [{ role: 'user', json: Buffer.from('{"role":"user","content":"x"}'), items: Buffer.from('{"more":"x"}') }] }))
  t.ok(readsAsPlanned({ ...parts, following: [ownFollowing('assistant', Buffer.from('{"role":"assistant","content":"Understood."}'))] }))
})

t.test('a fork that lost or gained what shapes its prompt is found out', async (t) => {
  const { parts } = coverage([one, { role: 'assistant', content: 'two' }], [one, { role: 'assistant', content: 'two' }, instruction])
  t.ok(readsAsPlanned(parts))
  const { evidence } = parts
  t.notOk(readsAsPlanned({ ...parts, evidence: { ...evidence, members: evidence.members.filter(({ key }) => key !== 'model') } }))
})

t.test('a chat request is its own chat form, and its fork is not read', async (t) => {
  const evidence = readRequest({ model: 'm', messages: [user('one'), assistant('two')] })
  const unread = { ...evidence, endpoint: { ...evidence.endpoint, read: () => { throw new Error('it was read') } } }
  t.ok(readsAsPlanned({ evidence: unread, summary: evidence, headLength: 2, following: [], directive }))
})
