// Compacts Codex's last session by hand, as `/compact` does on its screen: over the protocol of `codex app-server`.

import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const rollouts = readdirSync(join(process.env.CODEX_HOME, 'sessions'), { recursive: true }).filter((file) => file.endsWith('.jsonl')).sort()
const threadId = /([0-9a-f]{8}-[0-9a-f-]{27})\.jsonl$/.exec(rollouts.at(-1))[1]
const server = spawn('codex', ['app-server'], { stdio: ['pipe', 'pipe', 'inherit'] })
const waiting = new Map()
let asked = 0

createInterface({ input: server.stdout }).on('line', (line) => {
  const message = JSON.parse(line)
  console.log(line.slice(0, 300))
  if (message.id !== undefined && waiting.has(message.id)) waiting.get(message.id)(message)
  if (message.method === 'turn/completed') process.exit(message.params.turn.status === 'completed' ? 0 : 1)
})
server.on('close', () => process.exit(1))

function ask(method, params) {
  server.stdin.write(`${JSON.stringify({ id: ++asked, method, params })}\n`)
  return new Promise((resolve, reject) => waiting.set(asked, ({ error, result }) => (error ? reject(new Error(error.message)) : resolve(result))))
}

await ask('initialize', { clientInfo: { name: 'codex_exec', title: null, version: '0.171.0' }, capabilities: null })
server.stdin.write(`${JSON.stringify({ method: 'initialized' })}\n`)
await ask('thread/resume', { threadId })
await ask('thread/compact/start', { threadId })
