// A pass-through between warmfork and the engine: what the engine really got, seen by nobody's word but the wire's.

import { createServer, request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream'
import { buffer } from 'node:stream/consumers'

export interface Sent {
  readonly path: string
  readonly body: Buffer
}

export interface Recorder {
  readonly url: string
  /** All requests so far, in order. */
  readonly sent: readonly Sent[]
  close(): Promise<void>
}

export async function startRecorder(origin: string): Promise<Recorder> {
  const sent: Sent[] = []
  const server = createServer(async (incoming, outgoing) => {
    const path = incoming.url!
    const body = await buffer(incoming)
    sent.push({ path, body })
    const passed = request(new URL(path, origin), { method: incoming.method, headers: incoming.headers, agent: false })
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
    sent,
    close: () => new Promise(resolve => {
      server.close(() => resolve())
      server.closeAllConnections()
    }),
  }
}
