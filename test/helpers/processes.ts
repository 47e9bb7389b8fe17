// Starts processes as a user's shell would: without tap's hooks and without warmfork's variables.

import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { dirname } from 'node:path'
import type { Readable } from 'node:stream'

export interface ProcessOptions {
  env?: Record<string, string>
  cwd?: string
}

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

/** Starts a command; the Node that runs this test comes first on its path. */
export function start(command: string, args: string[], { env = {}, cwd }: ProcessOptions): ChildProcessByStdio<null, Readable, Readable> {
  const kept = Object.entries(process.env).filter(([name]) => !/^(WARMFORK_|TAP|_TAP|NODE_V8_COVERAGE$)/.test(name))
  const PATH = `${dirname(process.execPath)}:${process.env['PATH']}`
  const options = { env: { ...Object.fromEntries(kept), PATH, ...env }, cwd, stdio: ['ignore', 'pipe', 'pipe'] as ['ignore', 'pipe', 'pipe'] }
  // tap adds its loader to NODE_OPTIONS of whatever is started; env(1) takes it out again and becomes the command.
  return spawn('env', [`NODE_OPTIONS=${env['NODE_OPTIONS'] ?? ''}`, command, ...args], options)
}

/** Runs a command until it ends by itself. */
export async function run(command: string, args: string[], options: ProcessOptions): Promise<Ended> {
  const child = start(command, args, options)
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const code = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve))
  return { code, stdout, stderr }
}
