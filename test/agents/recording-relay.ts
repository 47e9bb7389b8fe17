// Stands between an agent and warmfork and writes down what the agent sent and what became of it. Changes nothing.

import { createServer, request as sendRequest } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Exchange {
  readonly method: string
  readonly target: string
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
  /** When it came, ms since the epoch. */
  readonly at: number
  status: number
  /** The x-warmfork- headers of the reply, without the prefix. */
  warmfork: Record<string, string>
  reply: Buffer
}

export interface RecordingRelay {
  readonly url: string
  readonly exchanges: readonly Exchange[]
  close(): Promise<void>
}

export async function startRecordingRelay(to: string): Promise<RecordingRelay> {
  const { hostname, port } = new URL(to)
  const exchanges: Exchange[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const exchange: Exchange = {
        method: request.method!, target: request.url!, rawHeaders: request.rawHeaders, body: Buffer.concat(chunks),
        at: Date.now(), status: 0, warmfork: {}, reply: Buffer.alloc(0),
      }
      exchanges.push(exchange)
      const forwarded = sendRequest({ hostname, port, method: request.method, path: request.url, headers: request.rawHeaders as any, agent: false }, (answer) => {
        exchange.status = answer.statusCode!
        exchange.warmfork = Object.fromEntries(Object.entries(answer.headers)
          .filter(([name]) => name.startsWith('x-warmfork-')).map(([name, value]) => [name.slice(11), String(value)]))
        response.writeHead(answer.statusCode!, answer.rawHeaders)
        const parts: Buffer[] = []
        answer.on('data', (chunk: Buffer) => {
          parts.push(chunk)
          response.write(chunk)
        })
        answer.on('end', () => {
          exchange.reply = Buffer.concat(parts)
          response.end()
        })
        answer.on('error', () => response.destroy())
      })
      forwarded.on('error', () => response.destroy())
      response.on('close', () => forwarded.destroy())
      forwarded.end(exchange.body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    exchanges,
    async close() {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
