import t from 'tap'
import { fuzz } from './fuzzing.ts'

t.test('mutated requests crash nothing, hang nothing and get nobody else’s reply', { timeout: 100_000 }, async (t) => {
  const { statuses, faults } = await fuzz(3_000, 1)
  t.same(faults, [])
  // How many wait for an answer long enough is the machine's load.
  t.ok(statuses['200']! > 0 && statuses['400']! > 0, JSON.stringify(statuses))
})
