// Runs the real warmfork process with nothing set but what a test gives.

import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

export interface Given {
  args?: string[]
  env?: Record<string, string>
  cwd?: string
}

export const mainFile = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

/** The environment of this process without tap's and warmfork's variables. */
export function cleanEnvironment(added: Record<string, string> = {}): Record<string, string> {
  const kept = Object.entries(process.env).filter(([name]) => !/^(WARMFORK_|NODE_OPTIONS$|TAP|NODE_V8_COVERAGE$)/.test(name))
  return { ...Object.fromEntries(kept as [string, string][]), ...added }
}

export function startWarmfork({ args = [], env = {}, cwd }: Given) {
  return spawn(process.execPath, [mainFile, ...args], { env: cleanEnvironment(env), cwd, stdio: ['ignore', 'pipe', 'pipe'] })
}

/** Runs warmfork until it ends by itself. */
export async function runWarmfork(given: Given): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = startWarmfork(given)
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const code = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve))
  return { code, stdout, stderr }
}

/** Runs warmfork until it has said where it listens; killed when the test is over. */
export async function warmforkListening(t: Test, { args = [], env, cwd }: Given) {
  const child = startWarmfork({ args: [...args, '--port', '0', '--admin-port', '0'], env, cwd })
  t.teardown(() => child.kill('SIGKILL'))
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const lines: Record<string, unknown>[] = []
  const first = await new Promise<Record<string, unknown>>((resolve, reject) => {
    createInterface(child.stdout).on('line', (text) => {
      const line = JSON.parse(text)
      lines.push(line)
      resolve(line)
    })
    void exited.then((code) => reject(new Error(`ended with ${code}: ${stderr}`)))
  })
  return { child, exited, first, url: String(first['url']), adminUrl: String(first['admin_url']), /** All lines logged so far. */ lines }
}
