// The two tables that npm run test:agents makes, and what the README says of them.

import { readFileSync } from 'node:fs'
import t from 'tap'

const tableIn = (page: string): string[][] => {
  const text = readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8')
  const table = text.split('<!-- made by npm run test:agents -->')[1]!.split('<!-- end of what npm run test:agents made -->')[0]!
  return table.trim().split('\n').map((line) => line.split('|').slice(1, -1).map((cell) => cell.trim()))
}

const [names, , ...rows] = tableIn('docs/agents.md')
const overview = tableIn('README.md').slice(2)
const column = (name: string): string[] => rows.map((row) => row[names!.indexOf(name)]!)

t.test('the README tells of the runs that docs/agents.md tells of', async (t) => {
  const all = column('agent')
  t.ok(overview.length > 20)
  t.strictSame(overview.map(([agent]) => agent), all.filter((agent) => !agent.includes('`agents.generic: false`')))
})

t.test('no run lost a line of its agent or changed a request on its way, as the README says', async (t) => {
  t.strictSame([...new Set(column('lines lost'))], ['0'])
  t.strictSame([...new Set(column('other requests unchanged'))], ['yes'])
})
