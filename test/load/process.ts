// The processes of a load run: warmfork as a user starts it, and engines and clients beside it.

import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'

const fileOf = (name: string) => fileURLToPath(new URL(name, import.meta.url))

/** Without what a test runner adds for its own processes. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(WARMFORK_|TAP|_TAP|NODE_V8_COVERAGE$|NODE_OPTIONS$)/.test(name)))

/** Starts a file of this folder; it ends with its channel. */
export function startBeside(name: string, args: readonly string[] = []): ChildProcess {
  return fork(fileOf(name), args, { env, execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
}

/** The next message of a process; throws if it ends first. */
export async function messageOf<T>(child: ChildProcess): Promise<T> {
  const ended = new AbortController()
  const exit = once(child, 'exit', { signal: ended.signal }).then(([code]) => { throw new Error(`a process of the load run ended with ${code}`) })
  try {
    const [message] = await Promise.race([once(child, 'message', { signal: ended.signal }), exit]) as [T]
    return message
  } finally {
    ended.abort()
    exit.catch(() => {})
  }
}

export interface Usage {
  readonly rssMb: number
  /** What JavaScript holds, buffers included. */
  readonly heldMb: number
  readonly evidenceMb: number
  readonly files: number
  readonly clients: number
  readonly upstreams: number
  readonly cpuSeconds: number
}

export interface RunningWarmfork {
  readonly url: string
  readonly child: ChildProcess
  /** All lines logged so far. */
  readonly logged: Record<string, any>[]
  /** As its own page of metrics says. */
  usage(): Promise<Usage>
  /** Collects garbage first. */
  settledUsage(): Promise<Usage>
  /** @returns its exit code, null where it had to be killed */
  stop(): Promise<number | null>
}

/** Runs warmfork from its main file, with a configuration in place of flags. */
export async function startWarmforkProcess(config: object): Promise<RunningWarmfork> {
  const folder = mkdtempSync(join(tmpdir(), 'warmfork-load-'))
  writeFileSync(join(folder, 'warmfork.yaml'), stringify({ server: { port: 0 }, admin: { port: 0 }, ...config }))
  const child = spawn(process.execPath, ['--expose-gc', `--import=${fileOf('collect-on-signal.ts')}`, fileOf('../../src/main.ts'), '--config', join(folder, 'warmfork.yaml')], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const logged: Record<string, any>[] = []
  const first = await new Promise<Record<string, any>>((resolve, reject) => {
    createInterface(child.stdout).on('line', (line) => {
      logged.push(JSON.parse(line))
      resolve(logged[0]!)
    })
    void exited.then((code) => reject(new Error(`warmfork ended with ${code}`)))
  })
  rmSync(folder, { recursive: true })

  const usage = async (): Promise<Usage> => {
    const text = await (await fetch(`${first['admin_url']}/metrics`, { headers: { connection: 'close' } })).text()
    const value = (name: string) => Number(new RegExp(`^${name} (\\S+)`, 'm').exec(text)?.[1])
    const mb = (name: string) => value(name) / 2 ** 20
    return {
      rssMb: mb('process_resident_memory_bytes'),
      heldMb: mb('nodejs_heap_size_used_bytes') + mb('nodejs_external_memory_bytes'),
      evidenceMb: mb('warmfork_evidence_bytes'),
      files: value('process_open_fds'),
      clients: value('warmfork_client_connections'),
      upstreams: value('warmfork_upstream_connections'),
      cpuSeconds: value('process_cpu_seconds_total'),
    }
  }
  return {
    url: first['url'],
    child,
    logged,
    usage,
    async settledUsage() {
      // What one collection frees may let the next free more.
      for (let i = 0; i < 3; i++) {
        child.kill('SIGUSR2')
        await sleep(300)
      }
      return usage()
    },
    async stop() {
      child.kill('SIGTERM')
      const code = await Promise.race([exited, sleep(10_000, null, { ref: false })])
      child.kill('SIGKILL')
      return code
    },
  }
}
