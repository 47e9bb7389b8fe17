// npm run test:peers: the relay's rows with warmfork and with other proxies, and their table in docs/relay.md.
// With arguments (parts of rows' names): only those, and nothing is written. WARMFORK_NGINX names nginx's binary.

import '../helpers/seed.ts'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { play, type Result } from './play.ts'
import type { Row } from './row.ts'
import { concerns } from './rows/all.ts'
import { peers, type Peer } from './peers.ts'
import { asMarkdown, type Column } from './table.ts'

const { positionals, values } = parseArgs({ allowPositionals: true, options: { only: { type: 'string' } } })
const page = fileURLToPath(new URL('../../docs/relay.md', import.meta.url))
const wanted = (row: Row) => positionals.length === 0 || positionals.some((part) => row.name.includes(part))
const rows = Object.values(concerns).flat().filter(wanted)

const present = await peers()
for (const { name, missing } of present.missing) console.log(`${name}: ${missing}; left out`)
const columns: Column[] = []
for (const peer of present.found) {
  if (values.only === undefined || peer.name.startsWith(values.only)) columns.push({ peer, results: await playAll(peer) })
}

if (positionals.length === 0 && values.only === undefined) writeFileSync(page, asMarkdown(readFileSync(page, 'utf8'), columns))
const own = columns.find(({ peer }) => peer.name === 'warmfork')
process.exitCode = own && [...own.results.values()].every(({ kept }) => kept) ? 0 : 1

async function playAll(peer: Peer): Promise<Map<Row, Result>> {
  const results = new Map<Row, Result>()
  const one = async (row: Row) => {
    const result = await play(row, peer.start)
    results.set(row, result)
    console.log(`${result.kept ? 'yes' : 'NO '} ${peer.name} | ${row.name}${result.fact && ` | ${result.fact}`}`)
  }
  const waiting = rows.filter(({ waits }) => waits).map(one)
  for (const row of rows.filter(({ waits }) => !waits)) await one(row)
  await Promise.all(waiting)
  await peer.end()
  console.log(`${peer.name}: ${[...results.values()].filter(({ kept }) => kept).length} of ${results.size}`)
  return results
}
