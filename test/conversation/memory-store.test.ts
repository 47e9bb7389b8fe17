import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { evidenceBytes, type Evidence } from '../../src/conversation/evidence.ts'
import { MemoryStore } from '../../src/conversation/memory-store.ts'
import { opening } from '../../src/conversation/content.ts'
import { chat } from '../../src/endpoint/chat.ts'
import type { Endpoint } from '../../src/endpoint/endpoint.ts'
import { chatRequest, system, user } from '../helpers/chat-requests.ts'
import { evidenceOf } from '../helpers/evidence.ts'

const small = evidenceBytes(evidenceOf(Buffer.alloc(0)))

function store(options: { maxBytes?: number, ttlMs?: number } = {}): { store: MemoryStore, clock: { now: number } } {
  const clock = { now: 0 }
  return { store: new MemoryStore({ maxBytes: 1_000_000, ttlMs: 1000, ...options, now: () => clock.now }), clock }
}

function live(from: MemoryStore, tenant = 't'): string[] {
  return from.candidates(tenant).live.map(({ id }) => id)
}

t.test('the most recently kept comes first', async (t) => {
  const { store: memory } = store()
  for (const id of ['a', 'b', 'c']) memory.put(evidenceOf('{}', { id }))
  t.strictSame(live(memory), ['c', 'b', 'a'])
  memory.put(evidenceOf('{}', { id: 'a' }))
  t.strictSame(live(memory), ['a', 'c', 'b'])
  t.equal(memory.size().entries, 3)
})

t.test('tenants see only their own evidence, and replace only their own', async (t) => {
  const { store: memory } = store()
  memory.put(evidenceOf('{}', { id: 'a', tenant: 't' }))
  memory.put(evidenceOf('{}', { id: 'b', tenant: 'u' }))
  t.strictSame(live(memory), ['a'])
  t.strictSame(live(memory, 'u'), ['b'])
  t.strictSame(live(memory, 'nobody'), [])
  memory.put(evidenceOf('{}', { id: 'c', tenant: 'u' }), 'b')
  t.strictSame(live(memory), ['a'])
  t.strictSame(live(memory, 'u'), ['c'])
  t.strictSame(memory.size(), { entries: 2, bytes: 2 * (small + 2) })
  memory.put(evidenceOf('{}', { id: 'd', tenant: 'u' }), 'a')
  t.strictSame(live(memory), ['a'])
  t.strictSame(live(memory, 'u'), ['d', 'c'])
})

t.test('a line’s evidence takes the place of what it grew from', async (t) => {
  const { store: memory } = store()
  memory.put(evidenceOf('{}', { id: 'a' }))
  memory.put(evidenceOf('{"b":1}', { id: 'b' }), 'a')
  t.strictSame(live(memory), ['b'])
  t.equal(memory.size().bytes, small + 7)
  memory.put(evidenceOf('{}', { id: 'c' }), 'gone')
  t.strictSame(live(memory), ['c', 'b'])
})

t.test('the one unused for longest goes first, and an amended one was used', async (t) => {
  const { store: memory } = store({ maxBytes: 3 * small })
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((id) => evidenceOf(Buffer.alloc(0), { id })) as [Evidence, Evidence, Evidence, Evidence]
  for (const each of [a, b, c]) memory.put(each)
  memory.amend({ ...a, forkFailed: true })
  memory.put(d)
  t.strictSame(live(memory), ['d', 'a', 'c'])
})

t.test('what is larger than the bound is not kept, and takes nothing with it but what it grew from', async (t) => {
  const { store: memory } = store({ maxBytes: 3 * small })
  memory.put(evidenceOf(Buffer.alloc(0), { id: 'a' }))
  memory.put(evidenceOf(Buffer.alloc(0), { id: 'b' }))
  memory.put(evidenceOf(Buffer.alloc(4 * small), { id: 'c' }), 'a')
  t.strictSame(live(memory), ['b'])
})

t.test('what has gone is not brought back by what was learned of it', async (t) => {
  const { store: memory } = store()
  const a = evidenceOf('{}', { id: 'a' })
  memory.put(a)
  memory.put(evidenceOf('{}', { id: 'b' }), 'a')
  memory.amend({ ...a, forkFailed: true })
  t.strictSame(live(memory), ['b'])
})

t.test('ids, routing and tokens count too', async (t) => {
  const bytes = evidenceBytes(evidenceOf('12345', {
    ids: { engine: 'e', prompt: new Uint32Array(100), withoutGenerationPrompt: null }, routing: ['x-session-id', 'abc'], sessionToken: ['x-session-token', 'd'.repeat(1000)], replyText: 'reply',
  }))
  t.equal(bytes, small + 5 + 400 + 2 * (12 + 3) + 2 * (15 + 1000) + 10)
})

t.test('evidence counts for its time, and then leaves a name behind', async (t) => {
  const { store: memory, clock } = store({ ttlMs: 1000 })
  const body = { messages: [system, user('one')] }
  memory.put(evidenceOf(body, { id: 'a', conversation: 'c', completedAt: 0 }))
  clock.now = 999
  t.strictSame(live(memory), ['a'])
  clock.now = 1000
  const { live: left, expired } = memory.candidates('t')
  t.strictSame(left, [])
  t.strictSame(expired.map(({ conversation, opening }) => ({ conversation, opening })), [{ conversation: 'c', opening: opening(chatRequest(body)) }])
  t.strictSame((memory.candidates('u')).expired, [])
  memory.put(evidenceOf('not json', { id: 'b', completedAt: 0 }))
  t.equal((memory.candidates('t')).expired.at(-1)!.opening, null)
})

t.test('the name that is left behind has the id that the body gave, where no header did', async (t) => {
  const clock = { now: 0 }
  const memory = new MemoryStore({ maxBytes: 1_000_000, ttlMs: 1000, now: () => clock.now, conversationOf: ({ conversation, body }) => conversation ?? `from ${body}` })
  memory.put(evidenceOf('body', { id: 'a', completedAt: 0 }))
  memory.put(evidenceOf('body', { id: 'b', conversation: 'c', completedAt: 0 }))
  clock.now = 1000
  t.strictSame((memory.candidates('t')).expired.map(({ conversation }) => conversation), ['from body', 'c'])
})

t.test('names of the expired are bounded in number, and go before evidence does', async (t) => {
  const { store: memory, clock } = store({ ttlMs: 1, maxBytes: 50_000_000 })
  for (let i = 0; i < 5000; i++) {
    clock.now = i
    memory.put(evidenceOf('{}', { completedAt: i }))
  }
  clock.now = 10_000
  t.equal((memory.candidates('t')).expired.length, 4096)
  const tight = store({ ttlMs: 10, maxBytes: 2 * small })
  tight.store.put(evidenceOf(Buffer.alloc(0), { completedAt: 0 }))
  tight.clock.now = 20
  for (const id of ['x', 'y']) tight.store.put(evidenceOf(Buffer.alloc(0), { id, completedAt: 20 }))
  const { live: kept, expired } = tight.store.candidates('t')
  t.equal(kept.length, 2)
  t.equal(expired.length, 0)
})

t.test('memory is never above the bound, whatever comes', async (t) => {
  const step = fc.record({
    kind: fc.constantFrom('put', 'put', 'put', 'amend', 'read', 'wait'),
    id: fc.nat(12), tenant: fc.nat(2), size: fc.oneof(fc.nat(300), fc.nat(30_000)), supersedes: fc.option(fc.nat(12)), ids: fc.nat(500), wait: fc.nat(400),
  })
  const property = fc.property(fc.integer({ min: 0, max: 40_000 }), fc.array(step, { maxLength: 60 }), (maxBytes, steps) => {
    const { store: memory, clock } = store({ maxBytes, ttlMs: 500 })
    for (const { kind, id, tenant, size, supersedes, ids, wait } of steps) {
      const evidence = evidenceOf(Buffer.alloc(size), { id: `${id}`, tenant: `${tenant}`, completedAt: clock.now, ids: { engine: '', prompt: new Uint32Array(ids), withoutGenerationPrompt: null } })
      if (kind === 'put') memory.put(evidence, supersedes === null ? undefined : `${supersedes}`)
      else if (kind === 'amend') memory.amend(evidence)
      else if (kind === 'wait') clock.now += wait
      const all = ['0', '1', '2'].map((each) => memory.candidates(each))
      const bytes = all.flatMap(({ live }) => live).reduce((sum, each) => sum + evidenceBytes(each), 0) + 256 * all.flatMap(({ expired }) => expired).length
      assert.ok(memory.size().bytes <= maxBytes)
      assert.equal(memory.size().bytes, bytes)
      assert.equal(memory.size().entries, all.flatMap(({ live }) => live).length)
      for (const [tenant, { live }] of all.entries()) assert.ok(live.every((each) => each.tenant === `${tenant}`))
    }
  })
  fc.assert(property, { numRuns: 150 })
  t.pass('the property holds')
})

t.test('the lines of a conversation are its own, the most recently used first, and no more than asked for', async (t) => {
  const { store: memory } = store()
  const other: Endpoint = { ...chat, name: 'responses' }
  for (const id of ['a', 'b', 'c']) memory.put(evidenceOf('{}', { id, conversation: 'x' }))
  memory.put(evidenceOf('{}', { id: 'd', conversation: null }))
  memory.put(evidenceOf('{}', { id: 'e', conversation: 'x', tenant: 'other' }))
  memory.put(evidenceOf('{}', { id: 'elsewhere', conversation: 'x', endpoint: other }))
  const ids = (conversation: string | null, limit: number, endpoint = chat) => memory.lines({ tenant: 't', endpoint, conversation }, limit).map(({ id }) => id)
  t.strictSame(ids('x', 9), ['c', 'b', 'a'])
  t.strictSame(ids('x', 2), ['c', 'b'])
  t.strictSame(ids(null, 9), ['d'])
  t.strictSame(ids('y', 9), [])
  t.strictSame(ids('x', 9, other), ['elsewhere'])
  memory.put(evidenceOf('{}', { id: 'f', conversation: 'x' }), 'b')
  t.strictSame(ids('x', 9), ['f', 'c', 'a'])
})
