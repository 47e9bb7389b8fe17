// Keeps each run's report and writes the table of all of them into docs/agents.md.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { agentsHome } from './install.ts'
import type { Report, SummaryLine } from './report.ts'

const page = fileURLToPath(new URL('../../docs/agents.md', import.meta.url))
const begin = '<!-- made by npm run test:agents -->'
const end = '<!-- end of what npm run test:agents made -->'
const folder = join(agentsHome, 'reports')

export function saveReport(report: Report): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${report.name}.json`), JSON.stringify(report, null, 1))
}

export function writeTable(): void {
  if (!existsSync(page)) return
  const reports = readdirSync(folder).sort().map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Report)
  const text = readFileSync(page, 'utf8')
  const [before, rest] = text.split(begin)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined) throw new Error('docs/agents.md has no place for the table')
  writeFileSync(page, `${before}${begin}\n${tableOf(reports)}\n${end}${after}`)
}

export function tableOf(reports: readonly Report[]): string {
  const head = ['agent', 'main requests', 'summary requests', 'recognised', 'decisions', 'head / recorded messages', 'lost lines', 'goes on', 'note']
  const rows = reports.map((report) => {
    const { summaries } = report
    return [
      report.version,
      String(report.mains),
      String(summaries.length),
      report.agent === null ? (summaries.some(({ agent, decision }) => agent !== null || decision !== 'relayed') ? 'yes' : 'no data file') : `${summaries.filter(({ agent }) => agent === report.agent).length} of ${summaries.length}`,
      tally(summaries.map(({ decision, reason }) => (reason ? `${decision}: \`${reason}\`` : decision))),
      summaries.filter(({ headMessages }) => headMessages !== null).map(headOf).join(', ') || '–',
      String(summaries.reduce((sum, { lostLines }) => sum + lostLines.length, 0)),
      report.exitCodes.every((code) => code === 0) ? `yes, ${report.mainsAfter} more` : `exit ${report.exitCodes.join(', ')}`,
      report.note || (report.byteIdentical ? '' : 'not byte-identical'),
    ]
  })
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')
}

function headOf({ headMessages, recordedMessages }: SummaryLine): string {
  return `${headMessages}/${recordedMessages}`
}

function tally(words: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  return [...counts].map(([word, count]) => (count > 1 ? `${count} × ${word}` : word)).join(', ') || '–'
}
