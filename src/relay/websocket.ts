// Websockets (vLLM's /v1/realtime): the handshake passes by the header rules of any request, then bytes go both ways.
// Never lets a second request through: what is no switch of protocols ends with its reply.

import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { headersForClient, headersForEngine, headerValue } from './headers.ts'
import { errorReplyBytes } from './respond.ts'
import type { ErrorCode } from '../errors.ts'
import { connectTimedOut, type Connect } from './upstream.ts'

/** Bytes of the engine's reply head, and of what a client may send before it. */
const handshakeBytes = 256 * 1024
/** How long the engine may be silent inside a reply that is no switch of protocols, in ms. */
const refusalMs = 5_000

const headEnd = '\r\n\r\n'

/** Whether a request asks for a websocket. Other upgrades are not made; the request passes without. */
export function asksForWebsocket(request: IncomingMessage): boolean {
  return request.method === 'GET' && /^websocket$/i.test(request.headers.upgrade ?? '') &&
    request.headers['content-length'] === undefined && request.headers['transfer-encoding'] === undefined
}

export interface Tunnel {
  /** Closes both sides at once. */
  destroy(): void
}

/**
 * Connects a client that asked for a websocket with the engine.
 * @param client its socket, which the HTTP server has let go
 * @param early what it sent behind its request
 * @param replyHeaders added to the reply: name, value, …
 * @param over called once, when both sides are closed
 */
export function tunnel(connect: Connect, request: IncomingMessage, client: Socket, early: Buffer, replyHeaders: readonly string[], over: () => void): Tunnel {
  let engine: Socket | undefined
  const waiting: Buffer[] = early.length > 0 ? [early] : []
  let waitingBytes = early.length
  const keep = (chunk: Buffer) => {
    waiting.push(chunk)
    waitingBytes += chunk.length
    if (waitingBytes > handshakeBytes) client.pause()
  }
  const destroy = () => {
    client.destroy()
    engine?.destroy()
  }
  client.setTimeout(0)
  client.setNoDelay(true)
  client.on('error', () => {})
  // A half close counts as gone, as it does for vLLM.
  client.once('end', () => engine?.destroy())
  client.once('close', () => {
    engine?.destroy()
    over()
  })
  client.on('data', keep)

  let answered = false
  const refuse = (code: ErrorCode) => {
    answered = true
    client.end(errorReplyBytes(code, replyHeaders))
    engine?.destroy()
  }

  connect.open().then((socket) => {
    engine = socket
    if (client.destroyed || client.readableEnded) return void engine.destroy()
    engine.setNoDelay(true)
    engine.write(requestHead(request, connect.host), 'latin1')
    let received = Buffer.alloc(0)
    const onData = (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      for (let end = received.indexOf(headEnd); end >= 0; end = received.indexOf(headEnd)) {
        const head = received.toString('latin1', 0, end)
        received = received.subarray(end + headEnd.length)
        const status = Number(/^HTTP\/1\.[01] (\d{3})(?: |$)/m.exec(head)?.[1])
        if (!(status >= 100)) return refuse('upstream_reset')
        if (status < 200 && status !== 101) continue
        socket.off('data', onData)
        answer(head, status === 101)
        return
      }
      if (received.length > handshakeBytes) refuse('upstream_reset')
    }
    const answer = (head: string, switched: boolean) => {
      answered = true
      client.write(replyHead(head, switched, replyHeaders), 'latin1')
      if (received.length > 0) client.write(received)
      socket.pipe(client)
      client.off('data', keep)
      if (!switched) {
        // Whatever the client sends now would be another request.
        client.resume()
        socket.setTimeout(refusalMs, () => client.end())
        return
      }
      for (const chunk of waiting) socket.write(chunk)
      client.pipe(socket)
    }
    socket.on('data', onData)
    socket.on('error', () => {})
    socket.once('close', (hadError) => {
      if (!answered) refuse('upstream_reset')
      else if (hadError) client.destroy()
      else client.destroySoon()
    })
  }, (error: Error) => refuse(connectTimedOut(error) ? 'upstream_timeout' : 'upstream_unreachable'))

  return { destroy }
}

function requestHead(request: IncomingMessage, host: string): string {
  const headers = ['host', host, ...headersForEngine(request.rawHeaders), 'connection', 'Upgrade', 'upgrade', 'websocket']
  return `GET ${request.url} HTTP/1.1\r\n${lines(headers)}\r\n`
}

function replyHead(head: string, switched: boolean, replyHeaders: readonly string[]): string {
  const [start, ...fields] = head.split('\r\n')
  const raw = fields.flatMap((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()])
  // The body of a refusal goes on in the framing that it came in.
  const coding = switched ? undefined : headerValue(raw, 'transfer-encoding')
  const own = switched ? ['connection', 'Upgrade', 'upgrade', 'websocket'] : ['connection', 'close', ...(coding === undefined ? [] : ['transfer-encoding', coding])]
  return `${start}\r\n${lines([...headersForClient(raw), ...own, ...replyHeaders])}\r\n`
}

function lines(raw: readonly string[]): string {
  let text = ''
  for (let i = 0; i + 1 < raw.length; i += 2) text += `${raw[i]}: ${raw[i + 1]}\r\n`
  return text
}
