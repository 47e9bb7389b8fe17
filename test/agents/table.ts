// Keeps each run's report and writes the tables of all of them: every figure into docs/agents.md, what a reader decides
// by into the README.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { agentsHome } from './install.ts'
import { recipes } from './recipes.ts'
import type { Report, SummaryLine } from './report.ts'

const begin = '<!-- made by npm run test:agents -->'
const end = '<!-- end of what npm run test:agents made -->'
const folder = join(agentsHome, 'reports')

export function saveReport(report: Report): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${report.name}.json`), JSON.stringify(report, null, 1))
}

export function writeTables(): void {
  const reports = recipes.map(({ name }) => join(folder, `${name}.json`)).filter((file) => existsSync(file))
    .map((file) => JSON.parse(readFileSync(file, 'utf8')) as Report)
  put('docs/agents.md', tableOf(reports))
  put('README.md', overviewOf(reports))
}

function put(page: string, table: string): void {
  const file = fileURLToPath(new URL(`../../${page}`, import.meta.url))
  const text = readFileSync(file, 'utf8')
  const [before, rest] = text.split(begin)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined) throw new Error(`${page} has no place for the table`)
  writeFileSync(file, `${before}${begin}\n${table}\n${end}${after}`)
}

export function tableOf(reports: readonly Report[]): string {
  const head = ['agent', 'main requests', 'summary requests', 'recognised', 'decisions', 'head / recorded messages', 'lines lost', 'other requests unchanged', 'exit codes', 'summaries after which it went on', 'note']
  const rows = reports.map((report) => [
    report.version,
    String(report.mains),
    String(report.summaries.length),
    recognised(report),
    tally(report.summaries.map(({ decision, reason }) => (reason ? `${decision}: \`${reason}\`` : decision))),
    report.summaries.filter(({ headMessages }) => headMessages !== null).map(headOf).join(', ') || '–',
    String(report.summaries.reduce((sum, { lostLines }) => sum + lostLines.length, 0)),
    report.byteIdentical ? 'yes' : 'no',
    report.exitCodes.map((code) => code ?? 'ended by the time limit').join(', '),
    `${report.wentOn} of ${report.summaries.length}`,
    report.note,
  ])
  return markdown(head, rows)
}

/** One row an agent: what its compactions became. Runs that show what no data file finds are left to the whole table. */
export function overviewOf(reports: readonly Report[]): string {
  const rows = reports.filter(({ name }) => !name.endsWith('-by-files')).map((report) => [
    report.version,
    String(report.summaries.length),
    recognised(report),
    tally(report.summaries.map(({ decision, reason }) => (reason ? `\`${reason}\`` : decision))),
    keptShare(report.summaries),
    `${report.wentOn} of ${report.summaries.length}`,
  ])
  return markdown(['agent', 'compactions', 'recognised', 'became', 'of the conversation in the head', 'went on after'], rows)
}

/** Least and most of the recorded messages that a fork kept. */
function keptShare(summaries: readonly SummaryLine[]): string {
  const shares = summaries.filter(({ decision, headMessages }) => decision === 'forked' && headMessages !== null)
    .map(({ headMessages, recordedMessages }) => Math.min(100, Math.round(100 * headMessages! / recordedMessages)))
  if (shares.length === 0) return '–'
  const [least, most] = [Math.min(...shares), Math.max(...shares)]
  return least === most ? `${least} %` : `${least}–${most} %`
}

function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')
}

function recognised({ agent, summaries }: Report): string {
  const expected = agent ?? 'generic'
  return `${summaries.filter((summary) => summary.agent === expected).length} of ${summaries.length}${agent === null ? ', generic' : ''}`
}

function headOf({ headMessages, recordedMessages }: SummaryLine): string {
  return `${headMessages}/${recordedMessages}`
}

function tally(words: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  return [...counts].map(([word, count]) => (count > 1 ? `${count} × ${word}` : word)).join(', ') || '–'
}
