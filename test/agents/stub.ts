// An engine of another API that says one sentence, for agents whose requests are relayed and nothing else.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { RecordedRequest } from '../../src/simulator/simulator.ts'

export interface Stub {
  readonly url: string
  readonly requests: RecordedRequest[]
  close(): Promise<void>
}

const sentence = 'The depots are listed in the notes.'

export async function startStub(_api: 'messages'): Promise<Stub> {
  const requests: RecordedRequest[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const target = request.url!
      requests.push({ method: request.method!, target, rawHeaders: request.rawHeaders, body: Buffer.concat(chunks) })
      const events = /^\/v1\/messages(\?|$)/.test(target) ? messagesEvents() : null
      if (!events) return void response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"message":"not served","type":"NotFoundError","param":null,"code":404}}')
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async close() {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

function messagesEvents(): { type: string }[] {
  const events: ({ type: string } & Record<string, unknown>)[] = [
    { type: 'message_start', message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'local-model', content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: 1000, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: sentence } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 9 } },
    { type: 'message_stop' },
  ]
  return events
}
