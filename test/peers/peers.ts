// The proxies that the rows are run with: warmfork, and others as far as this machine has them.

import { fork, type ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { nginxVersion, startNginx } from './nginx.ts'
import type { StartProxy } from './row.ts'

export interface Peer {
  readonly name: string
  readonly version: string
  readonly start: StartProxy
  end(): Promise<void>
}

export async function peers(): Promise<{ found: Peer[], missing: { name: string, missing: string }[] }> {
  const found = [hosted('warmfork', 'warmfork', versionIn('../../package.json')), hosted('@fastify/http-proxy', 'http-proxy', versionIn('../../node_modules/@fastify/http-proxy/package.json'))]
  const version = nginxVersion()
  if (version === null) return { found, missing: [{ name: 'nginx', missing: 'not on the path, nor named by WARMFORK_NGINX' }] }
  const none = async () => {}
  found.push({ name: 'nginx', version, start: (origin) => startNginx(origin), end: none })
  found.push({ name: 'nginx that retries', version, start: (origin) => startNginx(origin, 'proxy_next_upstream error timeout non_idempotent;'), end: none })
  return { found, missing: [] }
}

/** A proxy on Node, in a process of its own, which is started anew where it has died. */
function hosted(name: string, which: string, version: string): Peer {
  let child: ChildProcess | undefined
  const host = () => {
    if (child === undefined || !child.connected) child = fork(fileURLToPath(new URL('host.ts', import.meta.url)), [which], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    return child
  }
  return {
    name,
    version,
    async start(origin) {
      const at = host()
      const { port } = await told<{ port: number }>(at, { origin }, (answer) => answer['origin'] === origin)
      return { port, close: async () => void (at.connected && await told(at, { close: port }, (answer) => answer['closed'] === port)) }
    },
    async end() {
      if (child?.connected) child.disconnect()
    },
  }
}

/** Sends a message and waits for its answer, or for the end of the process. */
function told<Answer>(child: ChildProcess, message: object, isAnswer: (answer: Record<string, unknown>) => boolean): Promise<Answer> {
  return new Promise((resolve) => {
    const settle = (answer: object) => {
      child.off('message', onMessage).off('exit', onExit)
      resolve(answer as Answer)
    }
    const onMessage = (answer: Record<string, unknown>) => void (isAnswer(answer) && settle(answer))
    const onExit = () => settle({ port: 0 })
    child.on('message', onMessage).on('exit', onExit)
    child.send(message)
  })
}

function versionIn(file: string): string {
  return JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8')).version
}
