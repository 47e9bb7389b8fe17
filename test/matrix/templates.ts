// The chat templates of the matrix, from the source package that carries them, into a cache folder: never kept here.

import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export const sourcePackage = 'llama-cpp-python'
export const sourceVersion = '0.3.36'
const folderInside = 'vendor/llama.cpp/models/templates'

/**
 * The folder of templates; fetched once (75 MB, 10 s).
 * @param python an interpreter with pip
 */
export async function templatesFolder(python: string): Promise<string> {
  const cache = process.env['WARMFORK_VLLM_HOME'] ?? join(homedir(), '.cache', 'warmfork')
  const folder = join(cache, `templates-${sourceVersion}`)
  if (existsSync(folder)) return folder
  mkdirSync(cache, { recursive: true })
  const aside = mkdtempSync(join(cache, 'templates-'))
  try {
    await run(python, ['-m', 'pip', '--disable-pip-version-check', 'download', '--no-deps', '--no-binary', sourcePackage, '--dest', aside, `${sourcePackage}==${sourceVersion}`])
    const archive = readdirSync(aside).find((name) => name.endsWith('.tar.gz'))!
    const root = archive.replace(/\.tar\.gz$/, '')
    await run('tar', ['xzf', join(aside, archive), '-C', aside, '--wildcards', `${root}/${folderInside}/*`])
    renameSync(join(aside, root, folderInside), folder)
  } finally {
    rmSync(aside, { recursive: true })
  }
  return folder
}
