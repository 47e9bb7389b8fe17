// Mutated requests over raw sockets at the real application. Every request carries a canary that the engine sends back:
// a reply with the canary of another is a mix-up. Sound requests in between must be answered as if nothing was.

import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { startApp } from '../../src/app.ts'
import { configSchema } from '../../src/config.ts'

export interface Findings {
  readonly requests: number
  /** Replies by status; 0 where none came before the client went. */
  readonly statuses: Record<string, number>
  /** What must not be: one line each. */
  readonly faults: readonly string[]
}

/** How long a client waits for a sound reply, in ms, and for one that may never come. */
const soundMs = 20_000
const patienceMs = 40

/** A number generator that gives the same numbers for the same seed (mulberry32). */
function numbers(seed: number): (below: number) => number {
  return (below) => {
    seed = (seed + 0x6d2b79f5) | 0
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) % below
  }
}

export async function fuzz(requests: number, seed: number, agents = 24): Promise<Findings> {
  const faults: string[] = []
  const onRejection = (error: unknown) => void faults.push(`unhandled: ${error instanceof Error ? error.stack : String(error)}`)
  process.on('unhandledRejection', onRejection).on('uncaughtException', onRejection)
  const engine = await startEchoEngine()
  const config = configSchema.parse({ upstream: { url: engine.url }, server: { port: 0 }, admin: { port: 0 }, limits: { body_bytes: 1 << 20 } })
  const errors: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void (JSON.parse(line).level >= 50 && errors.push(line)) })
  const app = await startApp(config, log)
  const port = Number(new URL(app.url).port)

  const issued = new Set<string>()
  const statuses: Record<string, number> = {}
  const count = (status: string) => { statuses[status] = (statuses[status] ?? 0) + 1 }
  let left = requests

  async function agent(number: number): Promise<void> {
    const draw = numbers(seed * 1_000 + number)
    while (left-- > 0) {
      const canary = `canary-${randomBytes(8).toString('hex')}`
      issued.add(canary)
      const sound = draw(8) === 0
      const bytes = sound ? soundRequest(draw, canary) : mutated(soundRequest(draw, canary), draw)
      const answer = await exchange(port, bytes, draw, sound)
      issued.delete(canary)
      for (const [found] of answer.matchAll(/canary-[0-9a-f]{16}/g)) {
        if (found !== canary && issued.has(found)) faults.push(`mix-up: ${found} in the reply to ${canary}`)
      }
      const status = /^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1] ?? '0'
      count(status)
      if (sound && (status !== '200' || !answer.includes(`"${canary}"`))) faults.push(`a sound request was answered ${answer.slice(0, 80) || 'not at all'}`)
      if (status === '500') faults.push(`a 500: ${answer.slice(0, 200)}`)
    }
  }

  await Promise.all(Array.from({ length: agents }, (_, number) => agent(number)))
  faults.push(...errors.map((line) => `logged: ${line.trim()}`))
  await sleep(200)
  const running = await engine.running()
  if (running > 0) faults.push(`${running} requests still run at the engine though all clients have gone`)
  const closing = app.close(2_000).then(() => 'closed')
  if (await Promise.race([closing, sleep(10_000, 'hangs')]) !== 'closed') faults.push('warmfork does not close')
  await engine.close()
  process.off('unhandledRejection', onRejection).off('uncaughtException', onRejection)
  return { requests, statuses, faults }
}

/** Answers every request with the canaries in it: by length, in chunks, or as a stream with an end mark. */
async function startEchoEngine(): Promise<{ url: string, running(): Promise<number>, close(): Promise<void> }> {
  const running = new Set<ServerResponse>()
  const server: Server = createServer((request: IncomingMessage, response) => {
    running.add(response)
    response.once('close', () => running.delete(response))
    const chunks: Buffer[] = []
    request.on('error', () => {})
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const seen = [...new Set(`${request.url} ${request.rawHeaders.join(' ')} ${Buffer.concat(chunks).toString('latin1')}`.match(/canary-[0-9a-f]{16}/g))]
      const choice = { index: 0, finish_reason: 'stop' }
      if (seen.length % 2 === 0) return void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ seen, choices: [{ ...choice, message: { content: 'x' } }] }))
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`data: ${JSON.stringify({ seen, choices: [{ ...choice, delta: { content: 'x' } }] })}\n\n`)
      setImmediate(() => response.end('data: [DONE]\n\n'))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async running() {
      for (let tries = 0; tries < 20 && running.size > 0; tries++) await sleep(100)
      return running.size
    },
    close: () => new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    }),
  }
}

const targets = ['/v1/chat/completions', '/v1/chat/completions', '/v1/completions', '/tokenize', '/v1/models?a=%zz', '/v1//x/../y', '/sleep']

function soundRequest(draw: (below: number) => number, canary: string): Buffer {
  // The sound ones go to the chat endpoint: it does the most.
  const messages = [{ role: 'system', content: `You are ${canary}.` }, { role: 'user', content: 'a'.repeat(draw(3_000)) }]
  const body = Buffer.from(JSON.stringify({ model: 'm', messages, stream: draw(2) === 0 }))
  const framing = draw(3) > 0 ? [`content-length: ${body.length}`] : ['transfer-encoding: chunked']
  const headers = ['host: fuzz', ...framing, 'content-type: application/json', `x-session-id: ${canary}`, `authorization: Bearer ${draw(4)}`, 'accept: */*']
  const sent = framing[0]!.startsWith('t') ? Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')]) : body
  return Buffer.concat([Buffer.from(`POST ${targets[0]} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`), sent])
}

const pieces = [
  '\r\n', '\n', '\r', '\0', ' ', '\t', ':', ',', '\r\n\r\n', '0\r\n\r\n', '%2e%2e/', '/..', '{', '}', '[', ']', '"', '\\u0000', '\xff\xfe', '-', '9'.repeat(20),
  'transfer-encoding: chunked\r\n', 'content-length: 5\r\n', 'content-length: 0\r\n', 'expect: 100-continue\r\n', 'expect: x\r\n', 'connection: close, host\r\n',
  'connection: upgrade\r\nupgrade: websocket\r\n', 'connection: upgrade\r\nupgrade: h2c\r\n', 'content-encoding: gzip\r\n', 'x-warmfork-request: summary\r\n',
  'x-warmfork-request: conversation-summary\r\n', 'GET /v1/models HTTP/1.1\r\n\r\n', 'HTTP/1.0', 'CONNECT a:1 HTTP/1.1\r\n\r\n', `x-long: ${'y'.repeat(70_000)}\r\n`,
]

function mutated(request: Buffer, draw: (below: number) => number): Buffer {
  let bytes = request
  for (let times = 1 + draw(3); times > 0; times--) {
    // Most of what can go wrong does so in the head.
    const headLength = Math.max(1, bytes.indexOf('\r\n\r\n') + 4)
    const at = draw(draw(3) > 0 ? headLength : Math.max(1, bytes.length))
    const end = Math.min(bytes.length, at + 1 + draw(40))
    const piece = Buffer.from(pieces[draw(pieces.length)]!, 'latin1')
    const lineStart = bytes.lastIndexOf('\n', at) + 1
    switch (draw(8)) {
      case 0: bytes = Buffer.concat([bytes.subarray(0, at), Buffer.of(draw(256)), bytes.subarray(at + 1)]); break
      case 1: bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)]); break
      case 2: bytes = Buffer.concat([bytes.subarray(0, end), bytes.subarray(at)]); break
      case 3: bytes = Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at)]); break
      case 4: bytes = Buffer.concat([bytes.subarray(0, lineStart), piece, bytes.subarray(lineStart)]); break
      case 5: bytes = bytes.subarray(0, at); break
      case 6: bytes = Buffer.concat([bytes, bytes]); break
      default: bytes = Buffer.from(bytes.toString('latin1').replace(targets[0]!, targets[draw(targets.length)]!), 'latin1')
    }
  }
  return bytes
}

/** Writes a request in a few pieces and reads until the connection ends, or the reply seems to be over. */
async function exchange(port: number, bytes: Buffer, draw: (below: number) => number, sound: boolean): Promise<string> {
  const socket: Socket = connect({ port, host: '127.0.0.1', noDelay: true })
  let text = ''
  const over = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, sound ? soundMs : patienceMs)
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (sound ? isWhole(text) : draw(2) === 0 && text.includes('\r\n\r\n')) resolve()
    })
    socket.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
  })
  const cut = draw(3) === 0 ? draw(Math.max(1, bytes.length)) : 0
  if (cut > 0) {
    socket.write(bytes.subarray(0, cut))
    await new Promise(setImmediate)
  }
  socket.write(bytes.subarray(cut))
  await over
  if (draw(2) === 0) socket.destroy()
  else socket.resetAndDestroy()
  return text
}

function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return false
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, end + 2))?.[1]
  return length === undefined ? text.endsWith('0\r\n\r\n') : text.length >= end + 4 + Number(length)
}
