// A client that hides nothing: raw headers, raw body, and whether the body ended or was cut.

import { type Agent, request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'

export interface Reply {
  readonly status: number
  readonly statusMessage: string
  readonly rawHeaders: string[]
  readonly rawTrailers: string[]
  readonly body: Buffer
  /** False when the connection ended before the body did. */
  readonly whole: boolean
  header(name: string): string | undefined
}

export interface Sending {
  readonly method?: string
  readonly target?: string
  /** Name, value, … */
  readonly headers?: readonly string[]
  readonly body?: Buffer | string
  readonly agent?: Agent
}

/** Sends a request and waits for its whole reply, or for its end. */
export async function send(port: number, sending: Sending = {}): Promise<Reply> {
  const { response } = await begin(port, sending)
  return collect(response)
}

/** Sends a request and waits for the reply's head only. */
export async function begin(port: number, sending: Sending = {}): Promise<{ request: ClientRequest; response: IncomingMessage }> {
  const { method = 'POST', target = '/v1/completions', headers = [], agent } = sending
  const body = sending.body === undefined ? undefined : Buffer.from(sending.body)
  const request = httpRequest({
    host: '127.0.0.1',
    port,
    method,
    path: target,
    agent: agent ?? false,
    headers: ['host', 'proxy.test', ...headers, ...(body ? ['content-length', String(body.length)] : [])],
  })
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve).once('error', reject)
    request.end(body)
  })
  request.on('error', () => {})
  return { request, response }
}

/** Reads a reply to its end. */
export function collect(response: IncomingMessage): Promise<Reply> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    response.on('data', (part: Buffer) => chunks.push(part))
    response.on('error', () => {})
    response.once('close', () =>
      resolve({
        status: response.statusCode ?? 0,
        statusMessage: response.statusMessage ?? '',
        rawHeaders: response.rawHeaders,
        rawTrailers: response.rawTrailers,
        body: Buffer.concat(chunks),
        whole: response.complete,
        header: (name) => valueOf(response.rawHeaders, name),
      }),
    )
  })
}

/** The first value of a header; name, value, … */
export function valueOf(raw: readonly string[], name: string): string | undefined {
  return raw.find((_, i) => i % 2 === 1 && raw[i - 1]!.toLowerCase() === name.toLowerCase())
}

/** The pairs of a raw header list whose names are not among `names`, as `name: value`. */
export function without(raw: readonly string[], names: readonly string[]): string[] {
  const lines: string[] = []
  for (let i = 0; i + 1 < raw.length; i += 2) {
    if (!names.includes(raw[i]!.toLowerCase())) lines.push(`${raw[i]}: ${raw[i + 1]}`)
  }
  return lines
}

/** Writes bytes to a port and collects whatever comes back until the connection ends. */
export async function sendBytes(port: number, bytes: Buffer | string): Promise<string> {
  const socket = await open(port)
  const answer = readAll(socket)
  socket.write(bytes)
  return answer
}

/** A bare connection to a port. */
export async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  socket.on('error', () => {})
  return socket
}

/** All that a connection still brings, as latin1. */
export function readAll(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    socket.on('data', (part) => (text += part.toString('latin1')))
    socket.once('close', () => resolve(text))
  })
}

export const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
