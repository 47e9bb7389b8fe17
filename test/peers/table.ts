// The table of docs/relay.md.

import { configurationOfNginx } from './nginx.ts'
import type { Peer } from './peers.ts'
import type { Result } from './play.ts'
import type { Row } from './row.ts'
import { concerns } from './rows/all.ts'

export interface Column {
  readonly peer: Peer
  readonly results: ReadonlyMap<Row, Result>
}

const begin = '<!-- made by npm run test:peers -->'
const end = '<!-- end of what npm run test:peers made -->'

const beginConfiguration = '<!-- nginx, as npm run test:peers configures it -->'
const endConfiguration = '<!-- end of nginx -->'

/** The page with the table of this run in its place. */
export function asMarkdown(page: string, columns: readonly Column[]): string {
  const configuration = `\`\`\`nginx\n${configurationOfNginx('server 127.0.0.1:8000;', 'listen 8080;').replace(/^ {2}/gm, '')}\`\`\``
  return between(between(page, begin, table(columns), end), beginConfiguration, configuration, endConfiguration)
}

function between(page: string, begin: string, text: string, end: string): string {
  const [before, rest] = page.split(begin)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined) throw new Error(`docs/relay.md has no place between ${begin} and ${end}`)
  return `${before}${begin}\n${text}\n${end}${after}`
}

function table(columns: readonly Column[]): string {
  const lines = [
    ['', ...columns.map(({ peer }) => `${peer.name} ${peer.version}`)],
    ['---', ...columns.map(() => '---')],
    ['kept', ...columns.map(({ results }) => `${[...results.values()].filter(({ kept }) => kept).length} of ${results.size}`)],
  ]
  for (const [concern, rows] of Object.entries(concerns)) {
    lines.push([`**${concern}**`, ...columns.map(() => '')])
    for (const row of rows) lines.push([row.name, ...columns.map(({ results }) => cell(results.get(row)!))])
  }
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function cell({ kept, fact }: Result): string {
  const text = fact.replaceAll('|', '\\|').replaceAll('\n', ' ')
  return kept ? ['yes', text].filter(Boolean).join(', ') : `**no**${text && `: ${text}`}`
}
