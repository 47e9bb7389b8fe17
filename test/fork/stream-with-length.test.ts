import t from 'tap'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { openAiErrors } from '../../src/errors.ts'
import { createUpstream } from '../../src/relay/upstream.ts'
import { sendFork } from '../../src/fork/send.ts'
import { readRequest } from '../helpers/chat-requests.ts'

const events = [
  { choices: [{ index: 0, delta: { content: 'All done.' } }], prompt_token_ids: [1, 2, 3] },
  { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  { choices: [], usage: { prompt_tokens: 3 } },
].map((event) => `data: ${JSON.stringify(event)}\n\n`).join('') + 'data: [DONE]\n\n'

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test('a length that a gateway gave an event stream does not cut the edited reply', async (t) => {
  const engine = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-length': Buffer.byteLength(events) })
      response.end(events)
    })
  })
  const upstream = createUpstream({ origin: await listen(engine), connectTimeoutMs: 1000 })
  const proxy = createServer((request, response) => {
    const { method = 'POST', rawHeaders, headers } = request
    const client = { method, target: '/', path: '/', rawHeaders, headers, body: Buffer.alloc(0), response, errors: openAiErrors, gone: new AbortController().signal, receivedAt: performance.now() }
    void sendFork({
      upstream, request: client, fork: { method: 'POST', target: '/', headers: [], body: Buffer.from('{}') }, shape: null,
      summary: readRequest({ messages: [] }), holdHeadersMs: 1000, judge: () => ({ valid: true }), decided: () => [],
    })
  })
  const url = await listen(proxy)
  t.teardown(async () => {
    proxy.close()
    await upstream.close()
    engine.close()
  })
  const reply = await fetch(url, { method: 'POST' })
  t.equal(reply.headers.get('content-length'), null)
  const text = await reply.text()
  t.match(text, /"prompt_token_ids":null/)
  t.ok(text.endsWith('data: [DONE]\n\n'))
  t.notMatch(text, /usage/)
})
