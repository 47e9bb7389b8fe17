// An engine in a process of its own that answers every question for the second time from memory: its work must not be
// taken for the proxy's. The first answers are the simulator's. Prints its URL.

import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { startSimulator } from '../../src/simulator/simulator.ts'

interface Canned {
  readonly status: number
  readonly type: string
  readonly body: Buffer
}

const simulator = await startSimulator({ maxModelLen: 262_144 })
const canned = new Map<string, Promise<Canned>>()

const server = createServer(async (request, response) => {
  const body = await buffer(request)
  const key = createHash('sha256').update(`${request.method} ${request.url} `).update(body).digest('base64')
  const answer = canned.get(key) ?? ask(request.method!, request.url!, body)
  canned.set(key, answer)
  const { status, type, body: bytes } = await answer
  response.writeHead(status, { 'content-type': type })
  response.end(bytes)
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))

async function ask(method: string, target: string, body: Buffer): Promise<Canned> {
  const answer = await fetch(`${simulator.url}${target}`, { method, ...(body.length > 0 && { body, headers: { 'content-type': 'application/json' } }) })
  return { status: answer.status, type: answer.headers.get('content-type') ?? 'text/plain', body: Buffer.from(await answer.arrayBuffer()) }
}
