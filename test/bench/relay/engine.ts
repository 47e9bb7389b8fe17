// The engine of the relay's benchmark, in a process of its own: whole replies at once, streams of events at a pace.
// Every event says when it was written. Prints its URL.

import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

const [events = 200, paceMs = 5] = process.argv.slice(2).map(Number)

const whole = Buffer.from(JSON.stringify({
  id: 'chatcmpl-bench', object: 'chat.completion', created: 1, model: 'bench',
  choices: [{ index: 0, message: { role: 'assistant', content: 'I read the file, and the lock is the reason. '.repeat(20), tool_calls: [] }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1000, total_tokens: 1200, completion_tokens: 200 },
}))

// Nothing is forked here: what is measured is relaying and recording.
const metrics = 'vllm:cache_config_info{enable_prefix_caching="False",block_size="16"} 1\n'

const server = createServer((request, response) => {
  request.resume()
  request.once('end', () => {
    if (request.url === '/metrics') response.writeHead(200, ['content-length', String(metrics.length)]).end(metrics)
    else if (request.method !== 'POST') response.writeHead(404, ['content-length', '0']).end()
    else if (request.headers['x-bench'] === 'stream') stream(response)
    else response.writeHead(200, ['content-type', 'application/json', 'content-length', String(whole.length)]).end(whole)
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))

function stream(response: ServerResponse): void {
  response.writeHead(200, ['content-type', 'text/event-stream; charset=utf-8'])
  response.flushHeaders()
  let sent = 0
  const pace = setInterval(() => {
    sent += 1
    const isLast = sent === events
    const choice = { index: 0, delta: { content: ' word' }, logprobs: null, finish_reason: isLast ? 'stop' : null, token_ids: null }
    const event = { id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1, model: 'bench', choices: [choice], sent_ns: String(process.hrtime.bigint()) }
    response.write(`data: ${JSON.stringify(event)}\n\n`)
    if (!isLast) return
    clearInterval(pace)
    response.write(`data: ${JSON.stringify({ ...event, choices: [], usage: { prompt_tokens: 1000, total_tokens: 1200, completion_tokens: events } })}\n\n`)
    response.end('data: [DONE]\n\n')
  }, paceMs)
  response.once('close', () => clearInterval(pace))
}
