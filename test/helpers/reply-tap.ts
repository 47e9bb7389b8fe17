// A plain HTTP hop before an engine that keeps what passes, and answers in its place where a test wants to.

import { createServer, type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface TappedReply {
  readonly target: string
  readonly requestHeaders: readonly string[]
  readonly requestBody: Buffer
  /** The engine's body so far, as it came. */
  body: Buffer
}

export interface ReplyTap {
  readonly url: string
  readonly replies: TappedReply[]
  /** Answers a request in the engine's place where it returns true. */
  answer: ((request: IncomingMessage, body: Buffer, response: ServerResponse) => boolean) | undefined
  close(): Promise<void>
}

/** Starts it on a free port; the test's teardown ends it. */
export async function startReplyTap(t: { teardown(handler: () => Promise<void>): unknown }, engineUrl: string): Promise<ReplyTap> {
  const { hostname, port } = new URL(engineUrl)
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const requestBody = Buffer.concat(chunks)
    if (tap.answer?.(request, requestBody, response)) return
    const reply: TappedReply = { target: request.url ?? '', requestHeaders: request.rawHeaders, requestBody, body: Buffer.alloc(0) }
    tap.replies.push(reply)
    const onward = httpRequest({ hostname, port, method: request.method, path: request.url, headers: request.rawHeaders, agent: false })
    onward.on('error', () => response.destroy())
    response.on('close', () => onward.destroy())
    onward.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.rawHeaders)
      response.flushHeaders()
      answer.on('error', () => response.destroy())
      answer.on('data', (chunk: Buffer) => {
        reply.body = Buffer.concat([reply.body, chunk])
        response.write(chunk)
      })
      answer.on('end', () => response.end())
    })
    onward.end(requestBody)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const tap: ReplyTap = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    replies: [],
    answer: undefined,
    close: () => new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    }),
  }
  t.teardown(() => tap.close())
  return tap
}
