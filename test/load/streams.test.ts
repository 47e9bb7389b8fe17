import t from 'tap'
import { runStreams } from './paced-streams.ts'

t.test('no event of a hundred streams at a time is lost, moved or merged [case 7] [case 20]', { timeout: 60_000 }, async (t) => {
  const { faults, warmfork, beside } = await runStreams({ streams: 100, beside: 5, perSecond: 20, seconds: 3, directSeconds: 0 })
  t.same(faults, [])
  t.equal(warmfork.events, 100 * 60)
  t.equal(beside.events, 5 * 60)
})
