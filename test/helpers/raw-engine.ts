// An engine made of a bare TCP server: every byte it sends, and every moment it closes, is the test's own.

import { createServer, type Server, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'

export interface EngineRequest {
  readonly method: string
  readonly target: string
  /** The head as it arrived, without the blank line. */
  readonly head: string
  /** Name, value, … */
  readonly rawHeaders: string[]
  readonly body: Buffer
  readonly socket: Socket
  /** Which request of its connection this is, from 1. */
  readonly nthOnSocket: number
  /** When the engine saw the socket close, performance.now() in ms. */
  readonly closed: Promise<number>
  header(name: string): string | undefined
}

export interface RawEngine {
  readonly origin: string
  readonly port: number
  /** All requests that arrived whole. */
  readonly requests: EngineRequest[]
  /** Connections so far. */
  readonly connections: () => number
  /** Connections that are open now. */
  readonly open: () => number
  /** The next request that has not been handed out yet. */
  next(): Promise<EngineRequest>
  close(): Promise<void>
}

/** What the engine does with a request; by default nothing, until the test writes to `request.socket`. */
export type Script = (request: EngineRequest) => void

export interface RawEngineOptions {
  /** By default a free one. */
  readonly port?: number
  /** Told of each head as soon as it is there, before its body. */
  readonly onHead?: (socket: Socket, head: string) => void
  /** Requests that are no part of the test: answered with a 404, and not told of. */
  readonly apart?: (method: string, target: string) => boolean
}

interface Teardown {
  teardown(handler: () => Promise<void>): unknown
}

/** Starts an engine; the test's teardown stops it. */
export async function startRawEngine(t: Teardown, script: Script = () => {}, options: RawEngineOptions = {}): Promise<RawEngine> {
  const requests: EngineRequest[] = []
  const waiting: ((request: EngineRequest) => void)[] = []
  const unread: EngineRequest[] = []
  const sockets = new Set<Socket>()
  let connections = 0

  const server: Server = createServer((socket) => {
    connections += 1
    sockets.add(socket)
    socket.setNoDelay(true)
    const closed = new Promise<number>((resolve) => {
      // A half close counts as gone, as it does for vLLM.
      socket.once('end', () => resolve(performance.now()))
      socket.once('close', () => {
        sockets.delete(socket)
        resolve(performance.now())
      })
    })
    socket.on('error', () => {})

    let received = Buffer.alloc(0)
    // Large bodies are joined once.
    let parts: Buffer[] = []
    let missing = 0
    let nthOnSocket = 0
    let toldHead = false
    socket.on('data', (chunk) => {
      parts.push(chunk)
      missing -= chunk.length
      if (missing > 0) return
      received = Buffer.concat([received, ...parts])
      parts = []
      for (;;) {
        const headEnd = received.indexOf('\r\n\r\n')
        if (headEnd < 0) return
        const head = received.toString('latin1', 0, headEnd)
        if (!toldHead) options.onHead?.(socket, head)
        toldHead = true
        const rawHeaders = head
          .split('\r\n')
          .slice(1)
          .flatMap((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()])
        const header = (name: string) =>
          rawHeaders.find((_, i) => i % 2 === 1 && rawHeaders[i - 1]!.toLowerCase() === name.toLowerCase())
        const read = header('transfer-encoding') === undefined ? withLength(received, headEnd + 4, Number(header('content-length') ?? 0)) : inChunks(received, headEnd + 4)
        if (read === undefined) {
          missing = headEnd + 4 + Number(header('content-length') ?? 0) - received.length
          return
        }
        const [method = '', target = ''] = head.split(' ', 2)
        const { body } = read
        received = received.subarray(read.end)
        toldHead = false
        if (options.apart?.(method, target)) {
          socket.write(reply('404 Not Found', []))
          continue
        }
        const request = { method, target, head, rawHeaders, body, socket, nthOnSocket: ++nthOnSocket, closed, header }
        requests.push(request)
        const waiter = waiting.shift()
        if (waiter) waiter(request)
        else unread.push(request)
        script(request)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const close = async () => {
    const done = new Promise<void>((resolve) => server.close(() => resolve()))
    for (const socket of sockets) socket.destroy()
    await done
  }
  t.teardown(close)
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    requests,
    connections: () => connections,
    open: () => sockets.size,
    next() {
      const request = unread.shift()
      return request ? Promise.resolve(request) : new Promise((resolve) => waiting.push(resolve))
    },
    close,
  }
}

/** A body of so many bytes; undefined as long as some are missing. */
function withLength(received: Buffer, start: number, length: number): { body: Buffer, end: number } | undefined {
  const end = start + length
  return received.length < end ? undefined : { body: Buffer.from(received.subarray(start, end)), end }
}

/** A body in chunks, without its trailers; undefined as long as its end is missing. */
function inChunks(received: Buffer, start: number): { body: Buffer, end: number } | undefined {
  const parts: Buffer[] = []
  for (let at = start;;) {
    const lineEnd = received.indexOf('\r\n', at)
    if (lineEnd < 0) return undefined
    const size = Number.parseInt(received.toString('latin1', at, lineEnd), 16)
    if (size === 0) {
      const end = received.indexOf('\r\n\r\n', lineEnd)
      return end < 0 ? undefined : { body: Buffer.concat(parts), end: end + 4 }
    }
    at = lineEnd + 2 + size + 2
    if (!(received.length >= at)) return undefined
    parts.push(received.subarray(lineEnd + 2, lineEnd + 2 + size))
  }
}

/** A whole reply with a length. */
export function reply(status: string, headers: string[], body: Buffer | string = ''): Buffer {
  const bytes = Buffer.from(body)
  return Buffer.concat([Buffer.from(head(status, [...headers, 'content-length', String(bytes.length)]), 'latin1'), bytes])
}

/** A reply's head; headers are name, value, … */
export function head(status: string, headers: readonly string[]): string {
  let text = `HTTP/1.1 ${status}\r\n`
  for (let i = 0; i < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`
  return `${text}\r\n`
}

/** One chunk of a chunked body. */
export function chunk(data: Buffer | string): Buffer {
  const bytes = Buffer.from(data)
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
}

export const lastChunk = '0\r\n\r\n'

export const streamHead = head('200 OK', ['content-type', 'text/event-stream; charset=utf-8', 'transfer-encoding', 'chunked'])
