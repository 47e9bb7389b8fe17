// The openai package for Python closes a streamed reply as soon as it has read [DONE], whether or not the body has ended.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { begin } from '../helpers/http.ts'
import { opencodeSession, startWarmfork, streamed } from '../helpers/warmfork.ts'

t.test('a main request whose client closed after [DONE] is evidence', async (t) => {
  const warmfork = await startWarmfork(t, { between: (engine) => lateEnd(t, engine) })
  const session = opencodeSession()
  const { request, response } = await begin(warmfork.port, {
    target: '/v1/chat/completions', headers: ['content-type', 'application/json'], body: JSON.stringify({ ...session.main, ...streamed }),
  })
  let text = ''
  for await (const chunk of response) {
    text += chunk
    if (text.includes('data: [DONE]\n\n')) break
  }
  request.destroy()
  await sleep(100)
  const reply = await warmfork.chat(session.summary)
  t.equal(reply.warmfork['decision'], 'forked')
})

/** Passes everything on, and ends every stream only a minute after its last byte. @returns its URL */
async function lateEnd(t: Test, engine: string): Promise<string> {
  const server = createServer(async (incoming, outgoing) => {
    const body = await buffer(incoming)
    const answer = await fetch(`${engine}${incoming.url}`, { method: incoming.method!, ...(body.length > 0 && { body, headers: { 'content-type': 'application/json' } }) })
    const bytes = Buffer.from(await answer.arrayBuffer())
    const type = answer.headers.get('content-type') ?? 'text/plain'
    outgoing.writeHead(answer.status, { 'content-type': type }).write(bytes)
    if (!type.startsWith('text/event-stream')) return outgoing.end()
    const timer = setTimeout(() => outgoing.end(), 60_000)
    outgoing.once('close', () => clearTimeout(timer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
