import t from 'tap'
import { fuzz } from './fuzzing.ts'

t.test('mutated requests crash nothing, hang nothing and get nobody else’s reply', { timeout: 100_000 }, async (t) => {
  const { statuses, faults } = await fuzz(3_000, 1)
  t.same(faults, [])
  t.ok(statuses['200']! > 300 && statuses['400']! > 300, JSON.stringify(statuses))
})
