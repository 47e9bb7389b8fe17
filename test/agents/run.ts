// npm run test:agents [-- name …]: real agents through warmfork, one after another; writes the tables in docs/agents.md and the README.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { agentsHome } from './install.ts'
import { recipes } from './recipes.ts'
import { reportOf } from './report.ts'
import { runSession, type Session } from './session.ts'
import { saveReport, tableOf, writeTables } from './table.ts'

const wanted = process.argv.slice(2)
let failed = 0
for (const recipe of recipes.filter(({ name }) => wanted.length === 0 || wanted.includes(name))) {
  try {
    const session = await runSession(recipe)
    keep(recipe.name, session)
    const report = reportOf(recipe, recipe.version, session)
    saveReport(report)
    console.log(tableOf([report]))
  } catch (error) {
    failed++
    console.log(`${recipe.name}: ${(error as Error).stack}`)
  }
}
writeTables()
process.exit(failed === 0 ? 0 : 1)

/** What went over the wire, for make-fixture.ts, and what the agent printed. */
function keep(name: string, { exchanges, received, logged, steps, place }: Session): void {
  const folder = join(agentsHome, 'captures', name)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'exchanges.json'), JSON.stringify({
    home: place.home, work: place.work, baseUrl: place.baseUrl,
    exchanges: exchanges.map(({ body, reply, ...rest }) => ({ ...rest, body: body.toString('utf8'), reply: reply.toString('utf8') })),
    received: received.map(({ target, body }) => ({ target, body: body.toString('utf8') })),
  }))
  writeFileSync(join(folder, 'log.ndjson'), logged.map((line) => JSON.stringify(line)).join('\n'))
  writeFileSync(join(folder, 'output.txt'), steps.map(({ step, code, output }) => `$ ${step.command} ${step.args.join(' ')}\n${output}\nended with ${code}\n`).join('\n'))
}
