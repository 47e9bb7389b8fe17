// One proxy of the relay's benchmark, in a process of its own. Arguments: which one, the engine's URL.
// Sends its URL, and answers every message with the CPU time that the process has taken, in µs.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import httpProxy from '@fastify/http-proxy'
import Fastify from 'fastify'
import { destination, pino } from 'pino'
import { Pool } from 'undici'
import { startApp } from '../../../src/app.ts'
import { configSchema } from '../../../src/config.ts'

const [which = '', engine = ''] = process.argv.slice(2)
const starts: Record<string, () => Promise<string>> = { undici: startUndici, 'http-proxy': startHttpProxy, warmfork: () => startWarmfork('on'), 'warmfork-off': () => startWarmfork('off') }

process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send!({ us: user + system, rss: process.memoryUsage.rss() })
})
process.on('disconnect', () => process.exit())
process.send!({ url: await starts[which]!() })

/** The least that holds a body whole, sends it and streams the reply: what any proxy on Node must spend. */
async function startUndici(): Promise<string> {
  const pool = new Pool(engine, { connections: null, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 })
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const headers: string[] = []
      for (let i = 0; i < request.rawHeaders.length; i += 2) {
        const name = request.rawHeaders[i]!.toLowerCase()
        if (name !== 'host' && name !== 'connection' && name !== 'content-length') headers.push(request.rawHeaders[i]!, request.rawHeaders[i + 1]!)
      }
      let abort: (() => void) | undefined
      response.once('close', () => response.writableFinished || abort?.())
      pool.dispatch({ method: 'POST', path: request.url!, headers, body: Buffer.concat(chunks) }, {
        onRequestStart(controller) { abort = () => controller.abort(new Error('gone')) },
        onResponseStart(controller, status) {
          const raw = (controller.rawHeaders as Buffer[]).map(String)
          const kept: string[] = []
          for (let i = 0; i < raw.length; i += 2) {
            const name = raw[i]!.toLowerCase()
            if (name !== 'connection' && name !== 'keep-alive' && name !== 'transfer-encoding') kept.push(raw[i]!, raw[i + 1]!)
          }
          response.writeHead(status, kept)
          response.flushHeaders()
        },
        onResponseData(controller, chunk) {
          if (response.write(chunk)) return
          controller.pause()
          response.once('drain', () => controller.resume())
        },
        onResponseEnd() { response.end() },
        onResponseError() { response.destroy() },
      })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function startHttpProxy(): Promise<string> {
  const app = Fastify({ bodyLimit: 256 * 1024 * 1024 })
  app.register(httpProxy, { upstream: engine, undici: { connections: null, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 } as never })
  return app.listen({ host: '127.0.0.1', port: 0 })
}

async function startWarmfork(mode: 'on' | 'off'): Promise<string> {
  const config = configSchema.parse({ upstream: { url: engine }, server: { port: 0 }, admin: { port: 0 }, fork: { mode } })
  return (await startApp(config, pino({ level: 'info' }, destination('/dev/null')))).url
}
