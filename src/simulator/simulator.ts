// A small vLLM 0.32 with Qwen3's tokenizer and template: real ids, a real prefix cache, scripted replies.
// It listens on the loopback interface alone and reads no file but the tokenizer's.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SimulatedEngine } from './simulated-engine.ts'
import { settings, type SimulatorOptions } from './options.ts'
import { handleRequest } from './routes.ts'

export type { SimulatorOptions } from './options.ts'
export type { Reply, ReplyRequest, ScriptedToolCall } from './reply.ts'
export type { Fault, FaultRequest } from './faults.ts'
export { defaultContent } from './reply.ts'
export { simulatorModel, simulatorVersion } from './options.ts'

/** A request as it was received; `body` is whole. */
export interface RecordedRequest {
  readonly method: string
  /** The request target, query included. */
  readonly target: string
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
}

export interface Simulator {
  /** http://127.0.0.1:port, without a trailing slash. */
  readonly url: string
  readonly port: number
  /** What was received, with the option `record`. */
  readonly requests: RecordedRequest[]
  /** Requests that the engine runs or keeps waiting. */
  readonly running: number
  /** Breaks running requests and starts anew with a cold cache; options given here change. The port stays. */
  restart(changes?: SimulatorOptions): void
  /** Ends all connections. */
  close(): Promise<void>
}

/** uvicorn closes idle connections after 5 s (VLLM_HTTP_TIMEOUT_KEEP_ALIVE). */
const keepAliveMs = 5_000

/** Starts a simulated engine; 0.7 s for the first of a process, which loads the tokenizer. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  let current = options
  let engine = new SimulatedEngine(settings(current), 0)
  const requests: RecordedRequest[] = []

  const server = createServer({ keepAliveTimeout: keepAliveMs, requestTimeout: 0, headersTimeout: 0 }, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks)
      if (engine.settings.record) {
        requests.push({ method: request.method ?? '', target: request.url ?? '', rawHeaders: request.rawHeaders, body })
      }
      void handleRequest(engine, request, response, body)
    })
  })
  // A client that ends its side counts as gone, as under uvicorn, also while it would still read.
  server.on('connection', (socket) => socket.once('end', () => socket.destroy()))
  await listen(server, options.port ?? 0)
  const { port } = server.address() as AddressInfo

  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    get running() {
      return engine.core.counters.running + engine.core.counters.waiting
    },
    restart(changes = {}) {
      current = { ...current, ...changes }
      engine.core.stop()
      server.closeAllConnections()
      engine = new SimulatedEngine(settings(current), engine.replies)
    },
    async close() {
      engine.core.stop()
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject)
      resolve()
    })
  })
}
