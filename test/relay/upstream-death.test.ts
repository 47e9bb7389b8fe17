import t from 'tap'
import type { ReplyEnd } from '../../src/relay/types.ts'
import { send } from '../helpers/http.ts'
import { startProxy } from '../helpers/proxy.ts'
import { startRawEngine } from '../helpers/raw-engine.ts'
import { framings, garbage, upstreamDeath } from '../peers/rows/upstream-death.ts'
import { testRows } from '../peers/tap.ts'

testRows(t, upstreamDeath)

t.test('who records a reply learns once that its engine died', async (t) => {
  for (const [what, sent] of Object.entries(framings)) {
    const ends: ReplyEnd[] = []
    const passed = Promise.withResolvers<ReplyEnd>()
    const engine = await startRawEngine(t, ({ socket }) => socket.end(sent))
    const proxy = await startProxy(t, engine.origin, {
      conversation: async (request, relay) => {
        const observer = { head() {}, data() {}, end: (how: ReplyEnd) => void ends.push(how) }
        passed.resolve(await relay.pass(request, { observer }))
      },
    })
    await send(proxy.port, { target: '/v1/chat/completions', body: '{}' })
    t.equal(await passed.promise, 'upstream_died', what)
    t.same(ends, ['upstream_died'])
  }
})

t.test('what is no reply is a 502 that says so', async (t) => {
  for (const [what, script] of Object.entries(garbage)) {
    const engine = await startRawEngine(t, script)
    const proxy = await startProxy(t, engine.origin)
    const got = await send(proxy.port, { body: '{}' })
    t.equal(got.status, 502, what)
    t.equal(got.header('x-warmfork-error'), 'upstream_reset')
  }
})
