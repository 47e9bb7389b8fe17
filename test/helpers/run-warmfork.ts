// Runs the real warmfork process with nothing set but what a test gives.

import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { type Ended, type ProcessOptions, run, start } from './processes.ts'

interface Given extends ProcessOptions {
  args?: string[]
}

const mainFile = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

/** Runs warmfork until it ends by itself. */
export function runWarmfork({ args = [], ...options }: Given): Promise<Ended> {
  return run(process.execPath, [mainFile, ...args], options)
}

/** Runs warmfork on free ports until it has said where it listens; killed when the test is over. */
export function warmforkListening(t: Test, { args = [], ...options }: Given) {
  return listening(t, process.execPath, [mainFile, ...args], options)
}

/** The same with another command for warmfork. */
export async function listening(t: Test, command: string, args: string[], options: ProcessOptions) {
  const child = start(command, [...args, '--port', '0', '--admin-port', '0'], options)
  t.teardown(() => child.kill('SIGKILL'))
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  /** All lines logged so far. */
  const lines: Record<string, unknown>[] = []
  const first = await new Promise<Record<string, unknown>>((resolve, reject) => {
    createInterface(child.stdout).on('line', (text) => {
      const line = JSON.parse(text)
      lines.push(line)
      resolve(line)
    })
    void exited.then((code) => reject(new Error(`ended with ${code}: ${stderr}`)))
  })
  return { child, exited, first, lines, url: String(first['url']), adminUrl: String(first['admin_url']) }
}
