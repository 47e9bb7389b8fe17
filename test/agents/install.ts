// Installs an agent into a folder of its own, once per set of versions.

import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createHash } from 'node:crypto'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { run } from '../helpers/processes.ts'
import type { Recipe } from './recipe.ts'

export const agentsHome = process.env['WARMFORK_AGENTS_HOME'] ?? join(homedir(), '.cache', 'warmfork', 'agents')

/** @returns the folder with the agent's node_modules or virtual environment */
export async function install({ name, folder: shared = name, packages }: Recipe): Promise<string> {
  const key = createHash('sha256').update(JSON.stringify(packages)).digest('hex').slice(0, 8)
  const folder = join(agentsHome, `${shared}-${key}`)
  const done = join(folder, '.installed')
  if (existsSync(done)) return folder
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  if ('npm' in packages) {
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies: packages.npm }))
    await must('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], folder)
  } else {
    const uv = await installUv()
    await must(uv, ['venv', '--quiet', '--allow-existing', '--python', await pythonOf(packages.python), folder], agentsHome)
    await must(uv, ['pip', 'install', '--quiet', '--python', join(folder, 'bin', 'python'), ...packages.pypi], folder)
  }
  writeFileSync(done, JSON.stringify(packages))
  return folder
}

async function installUv(): Promise<string> {
  const folder = join(agentsHome, 'uv')
  const uv = join(folder, 'bin', 'uv')
  if (!existsSync(uv)) {
    await must('python3', ['-m', 'venv', folder], agentsHome)
    await must(join(folder, 'bin', 'pip'), ['install', '--quiet', 'uv'], agentsHome)
  }
  return uv
}

/** pyenv's interpreter of a version where there is one (its shims refuse versions that are not chosen), else uv's find. */
async function pythonOf(version: string): Promise<string> {
  const { code, stdout } = await run('pyenv', ['root'], {}).catch(() => ({ code: 1, stdout: '' }))
  const versions = code === 0 ? join(stdout.trim(), 'versions') : null
  const found = versions && existsSync(versions) ? readdirSync(versions).find((name) => name.startsWith(`${version}.`)) : undefined
  return found ? join(versions!, found, 'bin', 'python') : version
}

async function must(command: string, args: string[], cwd: string): Promise<void> {
  mkdirSync(cwd, { recursive: true })
  const { code, stderr, stdout } = await run(command, args, { cwd })
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}: ${(stderr || stdout).slice(-2000)}`)
}
