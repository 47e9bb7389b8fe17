// A pass-through between warmfork and the engine: what the engine really got, seen by nobody's word but the wire's.

import { createServer, request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream'
import { buffer } from 'node:stream/consumers'

export interface Recorder {
  readonly url: string
  /** The bodies of all chats so far, in order. */
  readonly chats: readonly Buffer[]
  close(): Promise<void>
}

export async function startRecorder(origin: string): Promise<Recorder> {
  const chats: Buffer[] = []
  const server = createServer(async (incoming, outgoing) => {
    const body = await buffer(incoming)
    if (incoming.url === '/v1/chat/completions') chats.push(body)
    const passed = request(new URL(incoming.url!, origin), { method: incoming.method, headers: incoming.headers, agent: false })
    passed.on('error', () => outgoing.destroy())
    outgoing.on('close', () => passed.destroy())
    passed.on('response', (answer: IncomingMessage) => {
      outgoing.writeHead(answer.statusCode!, answer.rawHeaders)
      pipeline(answer, outgoing, () => {})
    })
    passed.end(body)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    chats,
    close: () => new Promise(resolve => {
      server.close(() => resolve())
      server.closeAllConnections()
    }),
  }
}
