// nginx as it is set up before vLLM, and better: HTTP/1.1 and kept connections to the engine, no buffering of replies,
// websockets, long timeouts, large bodies, and whatever of its directives lets more of a request through unchanged.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Running } from './row.ts'

const command = process.env['WARMFORK_NGINX'] ?? 'nginx'

/** @returns null where there is none */
export function nginxVersion(): string | null {
  const { status, stderr } = spawnSync(command, ['-v'], { encoding: 'utf8' })
  return status === 0 ? (/nginx\/(\S+)/.exec(stderr)?.[1] ?? '') : null
}

/** @param more directives for the location */
export async function startNginx(origin: string, more = ''): Promise<Running & { readonly pid: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'peer-nginx-'))
  // Started by root, its worker is another user.
  chmodSync(folder, 0o755)
  const port = await freePort()
  writeFileSync(join(folder, 'nginx.conf'), wholeConfiguration(folder, port, new URL(origin).host, more))
  const child = spawn(command, ['-p', folder, '-e', join(folder, 'error.log'), '-c', join(folder, 'nginx.conf')], { stdio: 'ignore' })
  const exited = once(child, 'exit')
  for (let tries = 0; !(await accepts(port)); tries++) {
    if (tries === 200 || child.exitCode !== null) throw new Error(`nginx does not start: ${folder}/error.log says why`)
    await sleep(20)
  }
  return {
    port,
    pid: child.pid!,
    async close() {
      child.kill('SIGTERM')
      await exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function wholeConfiguration(folder: string, port: number, engine: string, more: string): string {
  return `
daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
events { worker_connections 4096; }
http {
  access_log off;
  client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/f; uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
${configurationOfNginx(`server ${engine};`, `listen 127.0.0.1:${port};`, more)}}
`
}

/** The part of the configuration that matters, as the table's page shows it. */
export function configurationOfNginx(server: string, listen: string, more = ''): string {
  return `  client_max_body_size 256m;
  large_client_header_buffers 4 64k;
  underscores_in_headers on;
  ignore_invalid_headers off;
  keepalive_timeout 75s;
  upstream engine { ${server} keepalive 256; keepalive_timeout 4s; }
  map $http_upgrade $connection_to_engine { default ''; websocket upgrade; }
  map $http_upgrade $upgrade_to_engine { default ''; websocket websocket; }
  server {
    ${listen}
    location / {
      proxy_pass http://engine;
      proxy_http_version 1.1;
      proxy_set_header Connection $connection_to_engine;
      proxy_set_header Upgrade $upgrade_to_engine;
      proxy_set_header TE "";
      proxy_set_header Proxy-Authorization "";
      proxy_set_header Proxy-Connection "";
      proxy_hide_header Proxy-Authenticate;
      proxy_hide_header Proxy-Connection;
      proxy_pass_header Server;
      proxy_pass_header Date;
      proxy_redirect off;
      proxy_buffering off;
      proxy_buffer_size 64k;
      proxy_buffers 8 64k;
      proxy_read_timeout 1h;
      proxy_send_timeout 1h;
${more === '' ? '' : `      ${more}\n`}    }
  }
`
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    }).on('error', () => resolve(false))
  })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}
