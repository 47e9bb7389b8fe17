// `npm run bench:plan`: CPU time that one fork of a 100 000-token conversation costs the proxy's process, beside what
// it costs to relay the same request, and where it goes. The engine answers from another process, from memory.

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { simulatorModel } from '../../src/simulator/simulator.ts'
import { conversation } from '../helpers/conversation.ts'
import { partsOfAPlan } from './plan-parts.ts'

const tokens = Number(process.argv[2] ?? 100_000)
const rounds = 30

const session = conversation({ seed: 'bench', groups: Math.round(tokens / 800), tokens })
const main = { model: simulatorModel, messages: session.messages, tools: session.tools, max_tokens: 4096 }
const summary = {
  model: simulatorModel,
  messages: [
    { role: 'system', content: 'You are a helpful AI assistant tasked with summarizing conversations.' },
    ...session.messages.slice(1),
    { role: 'assistant', content: 'All of it is read.' },
    { role: 'user', content: 'What did we do so far?' },
    { role: 'user', content: 'Provide a detailed prompt for continuing our conversation above.' },
  ],
  max_tokens: 4096,
  stream: true,
}

const children: ChildProcess[] = []
try {
  const engine = await started('canned-engine.ts')
  const forking = await warmfork(engine, 'on')
  const relaying = await warmfork(engine, 'off')
  const forked = await cpuOfSummaries(forking, 'forked')
  const relayed = await cpuOfSummaries(relaying, 'passed')

  console.log(`conversation: ${tokens} tokens, ${JSON.stringify(main).length} bytes, ${main.messages.length} messages; ${availableParallelism()} cores, Node ${process.version}`)
  console.log(`CPU of the proxy's process per summary request, median and mean of ${rounds}; the mean has the collector's share:`)
  print('forked, first byte to last', forked.median, forked.mean)
  print('the same request relayed, fork.mode off', relayed.median, relayed.mean)
  print('planning, proving and judging', forked.median - relayed.median, forked.mean - relayed.mean)
  console.log('where it goes, each part alone, in a warmed-up process:')
  for (const [name, ms] of partsOfAPlan(main, summary, tokens)) print(name, ms)
} finally {
  for (const child of children) child.kill()
}

function print(name: string, ...figures: number[]): void {
  console.log(`  ${name.padEnd(44)} ${figures.map((ms) => `${ms.toFixed(1).padStart(6)} ms`).join(' ')}`)
}

/** Starts a file of this folder. @returns the first line that it prints */
async function started(file: string, ...args: string[]): Promise<string> {
  const child = spawn(process.execPath, [fileURLToPath(new URL(file, import.meta.url)), ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  const lines = createInterface(child.stdout)
  const [line] = await once(lines, 'line') as [string]
  return line
}

async function warmfork(engine: string, mode: 'on' | 'off'): Promise<{ url: string, adminUrl: string }> {
  const { url, admin_url } = JSON.parse(await started('warmfork.ts', engine, mode)) as { url: string, admin_url: string }
  return { url, adminUrl: admin_url }
}

/** Each summary after a main request of its own, so that no ids are known from the round before. @returns ms */
async function cpuOfSummaries({ url, adminUrl }: { url: string, adminUrl: string }, decision: string): Promise<{ median: number, mean: number }> {
  const mainBody = JSON.stringify(main)
  const summaryBody = JSON.stringify(summary)
  const measured: number[] = []
  for (let round = -5; round < rounds; round++) {
    await post(url, mainBody)
    const scrape = -(await cpu(adminUrl)) + await cpu(adminUrl)
    const before = await cpu(adminUrl)
    const reply = await post(url, summaryBody)
    const spent = await cpu(adminUrl) - before - scrape
    if (reply.headers.get('x-warmfork-decision') !== decision) throw new Error(`expected ${decision}: ${JSON.stringify([...reply.headers])}`)
    if (round >= 0) measured.push(spent * 1000)
  }
  return { median: measured.sort((a, b) => a - b)[Math.floor(rounds / 2)]!, mean: measured.reduce((sum, ms) => sum + ms) / rounds }
}

async function post(url: string, body: string): Promise<Response> {
  const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  await response.arrayBuffer()
  if (!response.ok) throw new Error(`the chat endpoint answered ${response.status}`)
  return response
}

/** CPU time that a warmfork process has taken so far, in s. */
async function cpu(adminUrl: string): Promise<number> {
  const metrics = await (await fetch(`${adminUrl}/metrics`)).text()
  return Number(/^process_cpu_seconds_total (\S+)/m.exec(metrics)![1])
}
