import t from 'tap'
import { soak } from './soaking.ts'

t.test('mixed traffic before an engine that dies: nothing is lost or mixed up, and nothing is left behind', { timeout: 100_000 }, async (t) => {
  const { faults, tally, decisions, restarts } = await soak({ seconds: 9, warmUpSeconds: 3, agents: 8, restartEverySeconds: 2 })
  t.same(faults, [])
  t.ok(restarts >= 1)
  t.ok(tally['main: right']! > 0 && decisions['forked']! > 0, JSON.stringify({ tally, decisions }))
})
