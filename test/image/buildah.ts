// Builds and runs images where neither Docker nor a registry is to be had: buildah with a store of its own.

import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../', import.meta.url))
const baseScript = fileURLToPath(new URL('base-image.sh', import.meta.url))
const baseTag = 'docker.io/library/node:24-bookworm-slim'
const packages = { buildah: 'buildah', debootstrap: 'debootstrap', 'docker-compose': 'docker-compose' }

export interface ImageConfig {
  readonly User: string
  readonly Env: readonly string[]
  readonly Entrypoint: readonly string[]
  readonly StopSignal: string
  readonly Healthcheck: { readonly Test: readonly string[] }
  readonly ExposedPorts: Readonly<Record<string, object>>
}

export interface Builder {
  /** Builds the Dockerfile on a stand-in base image. */
  build(tag: string): Promise<ImageConfig>
  /** Makes a container; run commands in it until it is removed. */
  create(tag: string): Promise<string>
  run(container: string, image: ImageConfig, env: Readonly<Record<string, string>>, command: readonly string[]): ChildProcess
  remove(container: string): Promise<void>
  removeImage(tag: string): Promise<void>
}

/** Installs what is missing; an explanation where that cannot be. */
export async function findTools(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'building an image without Docker needs root'
  const missing: string[] = []
  for (const [command, name] of Object.entries(packages)) {
    await run('sh', ['-c', `command -v ${command}`]).catch(() => missing.push(name))
  }
  if (missing.length === 0) return undefined
  try {
    await run('apt-get', ['update', '-qq'])
    await run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...missing], { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } })
    return undefined
  } catch {
    return `${missing.join(', ')} could not be installed with apt-get`
  }
}

/** A builder whose stand-in base image is kept for the next time. */
export async function openBuilder(): Promise<Builder> {
  const key = createHash('sha256').update(readFileSync(baseScript)).update(process.version).digest('hex').slice(0, 16)
  const store = join(process.env.WARMFORK_VLLM_HOME ?? join(homedir(), '.cache/warmfork'), `images-${key}`)
  const global = ['--storage-driver', 'vfs', '--root', join(store, 'storage'), '--runroot', join(store, 'run')]
  const buildah = async (...args: string[]) => (await run('buildah', [...global, ...args], { cwd: root, maxBuffer: 1 << 26 })).stdout.trim()
  await run(baseScript, [store, baseTag])
  // What an interrupted run left.
  await buildah('rm', '--all')
  await buildah('rmi', '--prune')

  return {
    async build(tag) {
      await buildah('bud', '--isolation', 'chroot', '--pull-never', '--format', 'docker', '--tag', tag, '.')
      return JSON.parse(await buildah('inspect', '--type', 'image', tag)).Docker.config
    },
    create: tag => buildah('from', '--pull-never', tag),
    run(container, image, env, command) {
      const variables = Object.entries(env).flatMap(([name, value]) => ['--env', `${name}=${value}`])
      const args = ['run', '--isolation', 'chroot', '--user', image.User, ...variables, container, '--', ...command]
      return spawn('buildah', [...global, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    },
    async remove(container) { await buildah('rm', container) },
    async removeImage(tag) { await buildah('rmi', tag) },
  }
}

/** What `docker-compose config` makes of the compose file, as YAML. */
export async function readCompose(...options: string[]): Promise<string> {
  return (await run('docker-compose', [...options, 'config'], { cwd: root })).stdout
}
