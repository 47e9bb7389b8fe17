// `npm run bench`: what relaying costs, side by side in one run. Every proxy has a process of its own on one core; the
// engine and the load share the others. Rounds alternate between the proxies, so that noise hits all alike.

import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Client, client, type Load } from './relay/load.ts'
import { startMeasuredNginx } from './relay/nginx.ts'

const { values } = parseArgs({ options: {
  rounds: { type: 'string', default: '9' },
  only: { type: 'string' },
  subjects: { type: 'string', default: 'undici,http-proxy,warmfork,nginx' },
  /** A folder: every Node process among them writes a CPU profile there. */
  profile: { type: 'string' },
} })
const rounds = Number(values.rounds)

interface Subject {
  readonly name: string
  readonly url: string
  /** CPU time so far, in µs. */
  cpu(): Promise<number>
}

/** One round of the load, and how often it is repeated per round. */
const loads: Record<string, Load> = {
  'whole reply, 1 KB': { bytes: 1_000, stream: false, agents: 8, requests: 100 },
  'whole reply, 100 KB': { bytes: 100_000, stream: false, agents: 8, requests: 25 },
  'whole reply, 1 MB': { bytes: 1_000_000, stream: false, agents: 4, requests: 12 },
  'stream of 200, 1 KB': { bytes: 1_000, stream: true, agents: 20, requests: 1 },
  'stream of 200, 100 KB': { bytes: 100_000, stream: true, agents: 20, requests: 1 },
  'stream of 200, 1 MB': { bytes: 1_000_000, stream: true, agents: 20, requests: 1 },
}

const cores = availableParallelism()
const canPin = cores > 1 && spawnSync('taskset', ['-V']).status === 0
const children: ChildProcess[] = []
const closers: (() => void)[] = []

try {
  if (canPin) pin(process.pid!, `0-${cores - 2}`)
  const engine = await startEngine()
  const subjects: Subject[] = []
  for (const name of values.subjects.split(',')) {
    const subject = name === 'nginx' ? await nginxSubject(engine) : await nodeSubject(name, engine)
    if (subject) subjects.push(subject)
    else console.log('nginx is not installed: left out')
  }
  console.log(`Node ${process.version}, ${cores} cores${canPin ? ', the proxies on one of them' : ''}, ${rounds} rounds, medians; ratio: to undici in the same round`)
  for (const [name, load] of Object.entries(loads)) {
    if (values.only === undefined || name.includes(values.only)) await compare(name, load, subjects, engine)
  }
} finally {
  for (const child of children) child.kill()
  for (const close of closers) close()
}

async function compare(name: string, load: Load, subjects: readonly Subject[], engine: string): Promise<void> {
  const runs = subjects.map((subject) => ({ subject, client: client(subject.url, load), perRequest: [] as number[], perEvent: [] as number[] }))
  // What is measured is compiled code.
  for (const { client } of runs) {
    for (let i = 0; i < (load.stream ? 2 : load.bytes < 10_000 ? 20 : 8); i++) await client.run()
  }
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < runs.length; i++) {
      const run = runs[(i + round) % runs.length]!
      const before = await run.subject.cpu()
      const { requests, events } = await run.client.run()
      const spent = await run.subject.cpu() - before
      run.perRequest.push(spent / requests)
      run.perEvent.push(spent / events)
    }
  }
  const latency = await delays(load, subjects, engine)
  console.log(`\n${name}`)
  console.log(`  ${'CPU µs'.padEnd(14)}${'/request'.padStart(10)}${load.stream ? '/event'.padStart(9) : ''}${'ratio'.padStart(8)}${'least'.padStart(8)}   added delay µs, ${load.stream ? 'per event' : 'per request'}: p50, p99`)
  const base = runs[0]!
  for (const run of runs) {
    const { p50, p99 } = latency.get(run.subject.name)!
    const ratios = run.perRequest.map((us, round) => us / base.perRequest[round]!)
    const least = Math.min(...run.perRequest) / Math.min(...base.perRequest)
    console.log(`  ${run.subject.name.padEnd(14)}${median(run.perRequest).toFixed(0).padStart(10)}${load.stream ? median(run.perEvent).toFixed(2).padStart(9) : ''}${median(ratios).toFixed(2).padStart(8)}${least.toFixed(2).padStart(8)}${p50.toFixed(0).padStart(23)}${p99.toFixed(0).padStart(9)}`)
  }
  await Promise.all(runs.map(({ client }) => client.close()))
}

/** What each proxy adds to the same load of one agent (of a stream: of several) straight to the engine. */
async function delays(load: Load, subjects: readonly Subject[], engine: string): Promise<Map<string, { p50: number, p99: number }>> {
  const alone = { ...load, agents: load.stream ? 5 : 1, requests: load.stream ? 1 : Math.min(load.requests, 25) }
  const all = [{ name: 'direct', url: engine }, ...subjects].map(({ name, url }) => ({ name, client: client(url, alone) as Client, delays: [] as number[] }))
  for (let round = -1; round < rounds; round++) {
    for (const one of all) {
      const answered = await one.client.run()
      if (round >= 0) one.delays.push(...answered.delays)
    }
  }
  await Promise.all(all.map(({ client }) => client.close()))
  const [direct, ...proxied] = all.map(({ name, delays }) => ({ name, p50: quantile(delays, 0.5), p99: quantile(delays, 0.99) }))
  return new Map(proxied.map(({ name, p50, p99 }) => [name, { p50: p50 - direct!.p50, p99: p99 - direct!.p99 }]))
}

async function startEngine(): Promise<string> {
  const child = spawn(process.execPath, [file('relay/engine.ts')], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  if (canPin) pin(child.pid!, `0-${cores - 2}`)
  const [url] = await once(createInterface(child.stdout), 'line') as [string]
  return url
}

async function nodeSubject(name: string, engine: string): Promise<Subject> {
  const execArgv = values.profile === undefined ? [] : ['--cpu-prof', '--cpu-prof-interval=200', `--cpu-prof-dir=${values.profile}`, `--cpu-prof-name=${name}.cpuprofile`]
  const child = fork(file('relay/subject.ts'), [name, engine], { execArgv, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  // It ends with its channel, and then writes its profile.
  closers.push(() => child.disconnect())
  const [{ url }] = await once(child, 'message') as [{ url: string }]
  if (canPin) pin(child.pid!, String(cores - 1))
  return {
    name,
    url,
    async cpu() {
      child.send('cpu')
      const [{ us }] = await once(child, 'message') as [{ us: number }]
      return us
    },
  }
}

async function nginxSubject(engine: string): Promise<Subject | null> {
  const nginx = await startMeasuredNginx(engine)
  if (!nginx) return null
  closers.push(() => void nginx.close())
  if (canPin) pin(nginx.worker, String(cores - 1))
  return { name: 'nginx', url: nginx.url, cpu: async () => nginx.cpu() }
}

function pin(pid: number, list: string): void {
  spawnSync('taskset', ['-a', '-c', '-p', list, String(pid)])
}

function file(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url))
}

function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

function quantile(values: readonly number[], q: number): number {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(q * values.length))]!
}
