import { readFileSync } from 'node:fs'
import t from 'tap'
import { concerns } from './rows/all.ts'

const page = readFileSync(new URL('../../docs/relay.md', import.meta.url), 'utf8')

t.test('the table of docs/relay.md has the rows of today, and warmfork keeps each', async (t) => {
  const cells = page.split('\n').filter((line) => line.startsWith('| ')).map((line) => line.split(' | ').map((cell) => cell.replace(/^\| /, '')))
  const [head, , ...rows] = cells
  t.match(head![1], /^warmfork /)
  const told = rows.filter(([name]) => name !== 'kept' && !name!.startsWith('**'))
  t.same(told.map(([name]) => name), Object.values(concerns).flat().map(({ name }) => name))
  t.same(told.filter(([, kept]) => !kept!.startsWith('yes')), [])
})
