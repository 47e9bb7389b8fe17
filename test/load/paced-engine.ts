// The engine of the load runs, in a process of its own: every chat is a stream of numbered events at a pace, each with the
// canary of its request and the time when it was written. Sends its URL; answers every message with what still runs.

import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { canaryPattern, endMark, event } from './paced-events.ts'

const [perSecond = 20] = process.argv.slice(2).map(Number)
const paceMs = 1000 / perSecond

// Nothing is forked here.
const metrics = 'vllm:cache_config_info{enable_prefix_caching="False",block_size="16"} 1\n'

let running = 0
const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.once('end', () => {
    if (request.method !== 'POST') return void response.writeHead(200, ['content-length', String(metrics.length)]).end(metrics)
    const body = Buffer.concat(chunks).toString('latin1')
    stream(response, canaryPattern.exec(body)![0], Number(request.headers['x-events']))
  })
})
server.listen(0, '127.0.0.1', () => process.send!({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }))
process.on('message', () => process.send!({ running }))
process.on('disconnect', () => process.exit())

function stream(response: ServerResponse, canary: string, events: number): void {
  running += 1
  response.writeHead(200, ['content-type', 'text/event-stream; charset=utf-8'])
  response.flushHeaders()
  let n = 0
  let pace: NodeJS.Timeout | undefined
  // Agents do not ask in step.
  const start = setTimeout(() => { pace = setInterval(next, paceMs) }, Math.random() * paceMs)
  const next = () => {
    const isLast = n === events - 1
    response.write(event(canary, n, String(process.hrtime.bigint()), isLast))
    n += 1
    if (!isLast) return
    clearInterval(pace)
    response.end(endMark)
  }
  response.once('close', () => {
    clearTimeout(start)
    clearInterval(pace)
    running -= 1
  })
}
