// What a gateway reads in the query of a target (a version, a key) it reads in that of a fork.

import t from 'tap'
import { opencodeSession, startWarmfork } from '../helpers/warmfork.ts'

const target = '/v1/chat/completions?api-version=1&x=%20'

for (const [placement, reasoning] of [['user', undefined], ['tokens', 'reasoning']] as const) {
  t.test(`a fork by ${placement} has the query of the summary request`, async (t) => {
    const warmfork = await startWarmfork(t)
    const session = opencodeSession({ groups: 8, ...(reasoning ? { reasoning } : {}) })
    await warmfork.main(session, { target })
    const since = warmfork.since()
    const reply = await warmfork.chat(session.summary, { target })
    t.match(await warmfork.receipt(reply), { decision: 'forked', placement })
    t.strictSame(since.generations().map((sent) => sent.target), [placement === 'user' ? target : '/v1/completions?api-version=1&x=%20'])
  })
}
