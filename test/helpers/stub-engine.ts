// An upstream that answers as a test says: nothing of vLLM in it but its health, which warmfork asks for at the start.

import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

/** Starts it on a free port; closed when the test is over. @returns its origin */
export async function stubEngine(t: Test, answer: RequestListener): Promise<string> {
  const server = createServer((request, response) => (request.url === '/health' ? response.end() : answer(request, response)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
