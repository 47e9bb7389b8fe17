// A conversation is forked on its own endpoint alone: another one may render it otherwise.

import t from 'tap'
import { endpoints } from '../../src/endpoint/endpoints.ts'
import { spokenEndpoints } from '../helpers/endpoints/all.ts'
import { opencodeSession, startWarmfork } from '../helpers/warmfork.ts'

t.test('the suites run over every endpoint', async (t) => {
  t.strictSame(spokenEndpoints.map(({ endpoint }) => endpoint.name), endpoints.map(({ name }) => name))
})

for (const spoken of spokenEndpoints) {
  for (const other of spokenEndpoints.filter((each) => each !== spoken)) {
    t.test(`a summary on ${other.endpoint.name} of a conversation on ${spoken.endpoint.name} is passed, and says why`, async (t) => {
      const warmfork = await startWarmfork(t, { spoken })
      const session = opencodeSession()
      const headers = ['x-session-id', 'the-same']
      await warmfork.main(session, { headers })
      const body = Buffer.from(JSON.stringify(other.write(session.summary)))
      const since = warmfork.since()
      const reply = await warmfork.chat(body, { headers, target: other.endpoint.path })
      t.match(reply.warmfork, { decision: 'passed', 'fallback-reason': 'endpoint_changed' })
      t.match(await warmfork.receipt(reply), { endpoint: other.endpoint.path })
      t.ok(since.generations()[0]!.body.equals(body))
    })
  }
}
