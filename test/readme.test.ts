// The README says what the code does: its tables are compared with those they were written from.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { defaultConfig } from '../src/config.ts'
import { keys, type Mapping, valueAt } from '../src/config/keys.ts'
import { commands, settings } from '../src/config/settings.ts'
import { errorDefinitions } from '../src/errors.ts'
import { packageRoot } from '../src/package-root.ts'
import { emptyOutcome, emptyReceipt } from './helpers/receipts.ts'
import { receiptHeaders } from '../src/receipt/receipt.ts'
import { reasons } from '../src/receipt/reasons.ts'
import { verdicts } from '../src/summary/verdict.ts'

const readme = readFileSync(new URL('README.md', packageRoot), 'utf8')
const packageJson = JSON.parse(readFileSync(new URL('package.json', packageRoot), 'utf8'))
const fenced = [...readme.matchAll(/^```(\w*)\n([^]*?)^```$/gm)].map(([, language, text]) => ({ language: language!, text: text! }))

t.test('the reasons are those of the code, each with its sentence', async (t) => {
  t.same(rows('reason | meaning'), Object.entries(reasons).map(([name, sentence]) => [code(name), sentence]))
})

t.test('the verdicts are those of the code, each with its message', async (t) => {
  t.same(rows('code | message'), Object.entries(verdicts).map(([name, message]) => [code(name), message]))
})

t.test('the errors are those of the code, with status and message', async (t) => {
  t.same(rows('code | status | message'), Object.entries(errorDefinitions).map(([name, { status, message }]) => [code(name), String(status), message]))
})

t.test('the configuration keys are those of the schema, in order, with their defaults', async (t) => {
  const table = rows('key | default | meaning')
  t.same(table.map(([key, value]) => [key, value]), keys.map((key) => [code(key), code(shown(valueAt(defaultConfig, key)))]))
  for (const { key, flag, variable } of settings) {
    const meaning = table.find(([name]) => name === code(key))![2]!
    t.match(meaning, `\`--${flag}\``)
    if (variable !== undefined) t.match(meaning, `\`${variable}\``)
  }
})

t.test('every agent file has a row with its agent and the releases it was checked with', async (t) => {
  const files = readdirSync(new URL('config/agents/', packageRoot)).map((file) => {
    const { agent, versions } = parse(readFileSync(new URL(`config/agents/${file}`, packageRoot), 'utf8')) as Mapping
    return [code(file.replace(/\.yaml$/, '')), agent, (versions as string[]).join(', ')]
  })
  t.same(rows('file | agent | checked with | what its summary request looks like').map((row) => row.slice(0, 3)), files.sort())
})

t.test('every header and every log field of a summary request is explained', async (t) => {
  const headers = receiptHeaders(emptyReceipt).filter((_, i) => i % 2 === 0)
  t.same(names('header | meaning'), headers)
  t.same(names('field of `receipt` | meaning').sort(), Object.keys(emptyReceipt).sort())
  t.same(names('field of `outcome` | meaning').sort(), Object.keys(emptyOutcome).sort())
})

t.test('every dependency has its reason, and no other is named', async (t) => {
  t.same(names('package | why').sort(), Object.keys(packageJson.dependencies).sort())
})

t.test('every npm script that is named exists, and so does every command in a fence', async (t) => {
  for (const [, script] of readme.matchAll(/npm (?:run )?([a-z:]+)/g)) {
    t.ok(['ci', 'pack'].includes(script!) || script! in packageJson.scripts, `npm run ${script}`)
  }
  const flags = [...settings, ...commands].map(({ flag }) => `--${flag}`)
  const lines = fenced.filter(({ language }) => language === '').flatMap(({ text }) => text.trim().split('\n')).filter((line) => !line.startsWith('x-warmfork-'))
  for (const command of lines.flatMap((line) => line.split(' && '))) {
    t.match(command, /^(npm (ci|test|start|run) ?|vllm serve |docker compose )/)
    if (command.startsWith('npm start')) t.ok([...command.matchAll(/ (--[a-z-]+)/g)].every(([, flag]) => flags.includes(flag!)), command)
  }
  const services = Object.keys(parse(readFileSync(new URL('docker-compose.yml', packageRoot), 'utf8')).services)
  for (const [, service] of readme.matchAll(/docker compose [^\n]*up (\S+)/g)) t.ok(services.includes(service!), service!)
})

t.test('every file that is named or linked exists', async (t) => {
  const named = [...readme.matchAll(/\]\(([^)#]+)\)|`((?:config|src|test|\.ci)\/[a-z./-]*)`/g)].map(([, link, path]) => link ?? path!)
  t.ok(named.length > 4)
  for (const path of named) t.ok(existsSync(new URL(path, packageRoot)), path)
})

/** The cells of the rows under a heading row. */
function rows(heading: string): string[][] {
  const lines = readme.split('\n')
  const at = lines.indexOf(`| ${heading} |`)
  if (at < 0) throw new Error(`the README has no table "${heading}"`)
  const end = lines.findIndex((line, i) => i > at && !line.startsWith('|'))
  return lines.slice(at + 2, end).map((line) => line.slice(1, -1).split('|').map((cell) => cell.trim()))
}

/** The names in the first cells of a table. */
function names(heading: string): string[] {
  return rows(heading).flatMap(([cell]) => [...cell!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!))
}

function code(text: string): string {
  return `\`${text}\``
}

function shown(value: unknown): string {
  return Array.isArray(value) && value.length > 0 ? value.join(', ') : Array.isArray(value) ? '[]' : String(value)
}
