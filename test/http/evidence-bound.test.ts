// evidence.max_bytes: what is recorded stays below it, the newest stays, and nobody's request notices.

import t from 'tap'
import { opencodeSession, startWarmfork, streamed, type Session, type Warmfork } from '../helpers/warmfork.ts'

const bytesOf = ({ main }: Session) => JSON.stringify(main).length

async function evidence(warmfork: Warmfork): Promise<{ bytes: number, entries: number }> {
  const text = await (await fetch(`${warmfork.app.adminUrl}/metrics`)).text()
  const value = (name: string) => Number(new RegExp(`^${name} (\\S+)`, 'm').exec(text)![1])
  return { bytes: value('warmfork_evidence_bytes'), entries: value('warmfork_evidence_entries') }
}

const sessions = Array.from({ length: 12 }, () => opencodeSession())
const maxBytes = 3 * bytesOf(sessions[0]!) + 10_000
const warmfork = await startWarmfork(t, { config: { evidence: { max_bytes: maxBytes } } })
const reasonFor = async (session: Session) => {
  const { warmfork: headers, content } = await warmfork.chat(session.summary)
  t.ok(content.length > 0)
  return headers['fallback-reason'] ?? headers['decision']
}

t.test('at its bound warmfork relays as ever, records the newest and lets the oldest go', async (t) => {
  for (const [i, session] of sessions.entries()) {
    const reply = await warmfork.main({ ...session, main: { ...session.main, ...(i % 2 === 0 && streamed) } })
    t.equal(reply.finish, 'stop')
    const { bytes } = await evidence(warmfork)
    t.ok(bytes <= maxBytes, `${bytes} of ${maxBytes}`)
  }
  const { entries } = await evidence(warmfork)
  t.ok(entries >= 2 && entries <= 3, `${entries} conversations are kept`)
  t.equal(await reasonFor(sessions.at(-1)!), 'forked', 'the newest')
  t.equal(await reasonFor(sessions[0]!), 'no_warm_evidence', 'the oldest')
  await warmfork.main(sessions[0]!)
  t.equal(await reasonFor(sessions[0]!), 'forked', 'until it comes again')
})

t.test('a request larger than the bound passes, is not recorded, and drives nobody out', async (t) => {
  const kept = opencodeSession()
  await warmfork.main(kept)
  const large = opencodeSession({ outputTokens: 2_000 })
  t.ok(bytesOf(large) > maxBytes)
  t.equal((await warmfork.main(large)).finish, 'stop')
  t.equal(await reasonFor(large), 'no_warm_evidence')
  t.equal(await reasonFor(kept), 'forked')
})

t.test('with no memory for evidence everything is relayed', async (t) => {
  const without = await startWarmfork(t, { config: { evidence: { max_bytes: 1 } } })
  const session = opencodeSession()
  t.equal((await without.main(session)).finish, 'stop')
  t.match((await without.chat(session.summary)).warmfork, { decision: 'passed', 'fallback-reason': 'no_warm_evidence' })
  t.same(await evidence(without), { bytes: 0, entries: 0 })
})
