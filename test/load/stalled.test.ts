// Back-pressure, at warmfork in a process of its own: who does not read stops whoever sends, and costs no memory.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import t, { type Test } from 'tap'
import { chat } from '../../src/endpoint/chat.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { begin, collect, open, sleep } from '../helpers/http.ts'
import { startReplyTap } from '../helpers/reply-tap.ts'
import { isFork, opencodeSession, streamed } from '../helpers/warmfork.ts'
import { startWarmforkProcess, type RunningWarmfork } from './process.ts'

// Each has a warmfork of its own.
t.jobs = 3

const MB = 2 ** 20

interface Offering {
  readonly url: string
  /** Bytes that left the engine's process for each request so far. */
  readonly taken: number[]
}

/** An engine that offers each request as much as its header x-offer says, as a stream of events or as one body. */
async function startOfferingEngine(t: Test): Promise<Offering> {
  const taken: number[] = []
  const server = createServer((request, response) => {
    // What warmfork asks by itself takes nothing.
    request.resume().once('end', () => void (request.headers['x-offer'] === undefined ? response.end() : offer(request, response, taken)))
  })
  return { url: await listening(t, server), taken }
}

const event = Buffer.from(`data: {"choices":[{"index":0,"delta":{"content":"${'x'.repeat(1000)}"}}]}\n\n`)

async function offer({ headers }: IncomingMessage, response: ServerResponse, taken: number[]): Promise<void> {
  const nth = taken.push(0) - 1
  const wanted = Number(headers['x-offer'])
  const isStream = headers['x-form'] === 'stream'
  response.writeHead(200, isStream ? { 'content-type': 'text/event-stream' } : { 'content-type': 'application/json', 'content-length': wanted })
  const piece = isStream ? Buffer.concat(Array<Buffer>(64).fill(event)) : Buffer.alloc(64 * 1024, 'x')
  for (let sent = 0; sent < wanted && !response.destroyed; sent += piece.length) {
    const part = isStream ? piece : piece.subarray(0, Math.min(piece.length, wanted - sent))
    if (!response.write(part)) await room(response)
    taken[nth]! += part.length
  }
  response.end()
}

/** Waits until the client reads on, or has gone. */
function room(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      response.off('drain', go).off('close', go)
      resolve()
    }
    response.on('drain', go).on('close', go)
  })
}

async function listening(t: Test, server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function startProcess(t: Test, config: object): Promise<RunningWarmfork & { readonly port: number, grown(): Promise<{ held: number, rss: number }> }> {
  const warmfork = await startWarmforkProcess(config)
  t.teardown(() => warmfork.stop())
  const before = await warmfork.settledUsage()
  const grown = async () => {
    const { heldMb, rssMb } = await warmfork.settledUsage()
    return { held: heldMb - before.heldMb, rss: rssMb - before.rssMb }
  }
  return { ...warmfork, port: Number(new URL(warmfork.url).port), grown }
}

/** What JavaScript holds is exact; what the process has depends on how the allocator gives pieces back. In MB. */
function below(t: Test, grown: { held: number, rss: number }, held: number, rss: number): void {
  t.ok(grown.held < held && grown.rss < rss, `${grown.held.toFixed(0)} MB more held (below ${held}), ${grown.rss.toFixed(0)} MB larger (below ${rss})`)
}

/** Asks, and reads nothing of the answer. */
async function stalled(port: number, form: string, bytes: number, body = '{}'): Promise<Socket> {
  const client = await open(port)
  client.pause()
  client.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-form: ${form}\r\nx-offer: ${bytes}\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
  return client
}

/** When nothing more is taken. */
async function still(taken: readonly number[]): Promise<number> {
  const sum = () => taken.reduce((all, bytes) => all + bytes, 0)
  for (let before = -1; before !== sum();) {
    before = sum()
    await sleep(500)
  }
  return sum()
}

for (const form of ['stream', 'whole']) {
  t.test(`200 MB offered to a client that does not read stay with the engine, and arrive when it does: ${form}`, { timeout: 60_000 }, async (t) => {
    const { url, taken } = await startOfferingEngine(t)
    const warmfork = await startProcess(t, { upstream: { url } })
    const { response } = await begin(warmfork.port, { target: '/v1/chat/completions', headers: ['x-form', form, 'x-offer', String(200 * MB)], body: '{}' })
    response.pause()
    const held = await still(taken)
    t.ok(held < 100 * MB, `${(held / MB).toFixed(0)} MB left the engine: what sockets hold`)
    below(t, await warmfork.grown(), 8, 32)
    let bytes = 0
    response.on('data', (part: Buffer) => { bytes += part.length })
    response.resume()
    await new Promise((resolve) => response.once('end', resolve))
    t.equal(bytes, taken[0])
    t.ok(bytes >= 200 * MB)
    below(t, await warmfork.grown(), 8, 64)
  })
}

t.test('a hundred clients that do not read, 2 GB offered to them, leave warmfork small and at work', { timeout: 90_000 }, async (t) => {
  const { url, taken } = await startOfferingEngine(t)
  const warmfork = await startProcess(t, { upstream: { url } })
  const clients = await Promise.all(Array.from({ length: 100 }, (_, i) => stalled(warmfork.port, i % 2 === 0 ? 'stream' : 'whole', 20 * MB)))
  await still(taken)
  below(t, await warmfork.grown(), 50, 200)
  const { response } = await begin(warmfork.port, { target: '/v1/chat/completions', headers: ['x-form', 'whole', 'x-offer', '100'], body: '{}' })
  t.equal((await collect(response)).body.length, 100, 'others are served')
  for (const client of clients) client.destroy()
  await sleep(500)
  const { clients: connected, upstreams } = await warmfork.usage()
  t.ok(connected <= 1 && upstreams <= 1, `${connected} and ${upstreams} connections are left`)
})

t.test('a client that does not read its summary stops the fork', { timeout: 60_000 }, async (t) => {
  const simulator = await startSimulator()
  t.teardown(() => simulator.close())
  const tap = await startReplyTap(t, simulator.url)
  const warmfork = await startProcess(t, { upstream: { url: tap.url } })
  const session = opencodeSession()
  const ask = (body: object) => begin(warmfork.port, { target: chat.path, headers: ['content-type', 'application/json'], body: JSON.stringify(body) })
  await collect((await ask(session.main)).response)
  const taken: number[] = []
  tap.answer = (request, sent, response) => {
    if (request.url !== chat.path || !isFork(sent)) return false
    request.headers['x-offer'] = String(100 * MB)
    request.headers['x-form'] = 'stream'
    void offer(request, response, taken)
    return true
  }
  const { response } = await ask({ ...session.summary, ...streamed })
  t.equal(response.headers['x-warmfork-decision'], 'forked', JSON.stringify(response.headers))
  response.pause()
  t.ok(await still(taken) < 60 * MB)
  below(t, await warmfork.grown(), 16, 100)
  response.destroy()
})

t.test('uploads that the engine does not read are held once each, and let go with their clients [case 21]', { timeout: 60_000 }, async (t) => {
  const sockets: Socket[] = []
  const server = createServer()
  server.on('connection', (socket) => void sockets.push(socket.pause().on('error', () => {})))
  // Not even a head is read.
  server.removeAllListeners('request')
  const warmfork = await startProcess(t, { upstream: { url: await listening(t, server) } })
  const body = Buffer.alloc(60 * MB, 'x')
  const clients = await Promise.all(['/v1/chat/completions', '/v1/completions', '/v1/audio/transcriptions', '/tokenize'].map(async (target) => {
    const client = await open(warmfork.port)
    await new Promise<void>((resolve) => client.write(Buffer.concat([Buffer.from(`POST ${target} HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n`), body]), () => resolve()))
    return client
  }))
  while (sockets.length < clients.length) await sleep(20)
  below(t, await warmfork.grown(), 4 * 60 + 8, 8 * 60 + 64)
  for (const client of clients) client.destroy()
  await sleep(200)
  below(t, await warmfork.grown(), 8, 4 * 60 + 64)
})
