// Websockets (vLLM's /v1/realtime): the handshake passes by the header rules of any request, then bytes go both ways.
// Never lets a second request through: what is no switch of protocols ends with its reply.

import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { ErrorCode } from '../errors.ts'
import { headersForClient, headersForEngine, headerValue } from './headers.ts'
import { errorReplyBytes } from './respond.ts'
import type { Upgraded } from './upgraded.ts'
import { connectTimedOut, outOfDescriptors, type Connect } from './upstream.ts'

/** Bytes of the engine's reply head, and of what a client may send before it. */
const handshakeBytes = 256 * 1024
/** How long the engine may take for its reply's head, in ms: nothing is prefilled before it (nginx: proxy_read_timeout). */
const handshakeMs = 60_000
/**
 * How long the engine may leave unread what a client sent, in ms (nginx: proxy_send_timeout). Meanwhile nothing more is read from
 * the client, and its close stands behind its bytes: to see it, all of them would have to be held.
 */
const stallMs = 60_000
/** How long the engine may be silent inside a reply that is no switch of protocols, in ms. */
const refusalMs = 5_000

const headEnd = '\r\n\r\n'

/** Whether a request asks for a websocket. Other upgrades are not made; the request passes without. */
export function asksForWebsocket(request: IncomingMessage): boolean {
  return request.method === 'GET' && /^websocket$/i.test(request.headers.upgrade ?? '') &&
    request.headers['content-length'] === undefined && request.headers['transfer-encoding'] === undefined
}

/**
 * Connects a client that asked for a websocket with the engine. Whichever side goes, the other one is closed.
 * @param early what the client sent behind its request
 * @param replyHeaders added to the reply: name, value, …
 */
export function tunnel(connect: Connect, request: IncomingMessage, client: Upgraded, early: Buffer, replyHeaders: readonly string[]): void {
  const { socket } = client
  const waiting: Buffer[] = early.length > 0 ? [early] : []
  let waitingBytes = early.length
  const keep = (chunk: Buffer) => {
    waiting.push(chunk)
    waitingBytes += chunk.length
    if (waitingBytes > handshakeBytes) socket.pause()
  }
  socket.on('data', keep)
  const fail = (code: ErrorCode) => client.endWith(errorReplyBytes(code, replyHeaders))

  connect.open().then((engine) => {
    engine.on('error', () => {})
    if (socket.destroyed) return void engine.destroy()
    socket.once('close', () => engine.destroy())
    engine.setNoDelay(true)
    engine.write(requestHead(request, connect.host), 'latin1')
    readHead(engine, (reading) => {
      socket.off('data', keep)
      if (reading.kind === 'none') {
        engine.destroy()
        return fail(reading.code)
      }
      const { status, start, headers, rest } = reading
      socket.write(`${start}\r\n${lines([...headersToClient(status, headers), ...replyHeaders])}\r\n`, 'latin1')
      if (status === 101) join(client, engine, waiting, rest)
      else passRefusal(client, engine, endOfBody(status, headers), rest)
    })
  }, (error: Error) => fail(unreachable(error)))
}

type HeadReading =
  | { readonly kind: 'head'; readonly status: number; readonly start: string; readonly headers: readonly string[]; readonly rest: Buffer }
  | { readonly kind: 'none'; readonly code: ErrorCode }

/** Calls `done` once, in the event that brought the head's last byte. */
function readHead(engine: Socket, done: (reading: HeadReading) => void): void {
  let received = Buffer.alloc(0)
  const settle = (reading: HeadReading) => {
    clearTimeout(timer)
    engine.off('data', onData).off('end', onEnd).off('close', onEnd)
    done(reading)
  }
  const onEnd = () => settle({ kind: 'none', code: 'upstream_reset' })
  const onData = (chunk: Buffer) => {
    received = Buffer.concat([received, chunk])
    for (let end = received.indexOf(headEnd); end >= 0; end = received.indexOf(headEnd)) {
      const [start = '', ...fields] = received.toString('latin1', 0, end).split('\r\n')
      received = received.subarray(end + headEnd.length)
      const status = Number(/^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(start)?.[1])
      if (!(status >= 100)) return onEnd()
      if (status < 200 && status !== 101) continue
      const headers = fields.flatMap((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()])
      return settle({ kind: 'head', status, start, headers, rest: received })
    }
    if (received.length > handshakeBytes) onEnd()
  }
  const timer = setTimeout(() => settle({ kind: 'none', code: 'upstream_timeout' }), handshakeMs)
  engine.on('data', onData).once('end', onEnd).once('close', onEnd)
}

/** Bytes go both ways from now on. */
function join(client: Upgraded, engine: Socket, waiting: readonly Buffer[], rest: Buffer): void {
  const { socket } = client
  let stalled: NodeJS.Timeout | undefined
  const goOn = () => {
    clearTimeout(stalled)
    stalled = undefined
    socket.resume()
  }
  const pass = (chunk: Buffer) => {
    if (engine.write(chunk)) return
    socket.pause()
    stalled ??= setTimeout(() => client.destroy(), stallMs)
  }
  engine.on('drain', goOn)
  socket.once('close', () => clearTimeout(stalled))
  for (const chunk of waiting) pass(chunk)
  socket.on('data', pass)
  if (!stalled) socket.resume()

  if (rest.length > 0) socket.write(rest)
  engine.pipe(socket, { end: false })
  engine.once('end', () => {
    engine.destroy()
    client.endWith()
  })
  engine.once('close', (hadError) => {
    if (hadError) client.destroy()
    else client.endWith()
  })
}

/** What ends the body of a refusal: so many bytes, its chunks, or the connection's end alone. */
type EndOfBody = number | 'chunks' | 'connection'

/** Passes the body of a reply that is no switch of protocols, and ends both sides with it. */
function passRefusal(client: Upgraded, engine: Socket, bodyEnd: EndOfBody, rest: Buffer): void {
  const { socket } = client
  client.onlyResetTells = bodyEnd === 'connection'
  // Whatever the client sends now would be another request.
  socket.resume()
  let missing = typeof bodyEnd === 'number' ? bodyEnd : Infinity
  const over = (complete: boolean) => {
    clearTimeout(silence)
    engine.off('data', pass).destroy()
    if (complete || !client.onlyResetTells) client.endWith()
    else client.destroy()
  }
  const silence = setTimeout(() => over(false), refusalMs)
  const pass = (chunk: Buffer) => {
    silence.refresh()
    const part = chunk.subarray(0, missing)
    missing -= part.length
    if (!socket.write(part)) engine.pause()
    if (missing === 0) over(true)
  }
  socket.on('drain', () => engine.resume())
  engine.once('end', () => over(true)).once('close', () => over(false))
  engine.on('data', pass)
  pass(rest)
}

function endOfBody(status: number, headers: readonly string[]): EndOfBody {
  if (status === 204 || status === 304) return 0
  const coding = headerValue(headers, 'transfer-encoding')
  if (coding !== undefined) return /(?:^|,)\s*chunked$/i.test(coding) ? 'chunks' : 'connection'
  const length = headerValue(headers, 'content-length')
  return length !== undefined && /^\d+$/.test(length) ? Number(length) : 'connection'
}

function requestHead(request: IncomingMessage, host: string): string {
  const headers = ['host', host, ...headersForEngine(request.rawHeaders), 'connection', 'Upgrade', 'upgrade', 'websocket']
  return `GET ${request.url} HTTP/1.1\r\n${lines(headers)}\r\n`
}

function headersToClient(status: number, headers: readonly string[]): string[] {
  const kept = headersForClient(headers)
  if (status === 101) return [...kept, 'connection', 'Upgrade', 'upgrade', 'websocket']
  // The body of a refusal goes on in the framing that it came in.
  const coding = headerValue(headers, 'transfer-encoding')
  return [...kept, 'connection', 'close', ...(coding === undefined ? [] : ['transfer-encoding', coding])]
}

function unreachable(error: Error): ErrorCode {
  if (outOfDescriptors(error)) return 'out_of_descriptors'
  return connectTimedOut(error) ? 'upstream_timeout' : 'upstream_unreachable'
}

function lines(raw: readonly string[]): string {
  let text = ''
  for (let i = 0; i + 1 < raw.length; i += 2) text += `${raw[i]}: ${raw[i + 1]}\r\n`
  return text
}
