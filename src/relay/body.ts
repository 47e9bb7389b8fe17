// Reads a client's body whole, up to a limit, and refuses what it will not read in a way that the client can see.
// Never looks into the bytes: compressed or broken bodies are whole bodies too.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { errorDefinitions, type ErrorCode, type ErrorForm } from '../errors.ts'
import { sendError, writeErrorAnswer } from './respond.ts'

export type BodyReading =
  | { readonly kind: 'whole'; readonly body: Buffer }
  /** The limit is passed, or will be; the rest is unread. */
  | { readonly kind: 'too_large' }
  /** The client went before its last byte. */
  | { readonly kind: 'gone' }

/** How long a refused upload is read on and thrown away, in ms. */
const lingerMs = 10_000

/** Memory around a chunk that is not worth a copy. */
const slackBytes = 1024

const noBody: BodyReading = { kind: 'whole', body: Buffer.alloc(0) }

/**
 * @param limitBytes a body of exactly this many bytes is still accepted
 */
export async function readBody(request: IncomingMessage, limitBytes: number): Promise<BodyReading> {
  if (!hasBody(request)) return noBody
  if (Number(request.headers['content-length'] ?? 0) > limitBytes) return { kind: 'too_large' }

  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let length = 0
    const onData = (chunk: Buffer) => {
      length += chunk.length
      if (length <= limitBytes) return void chunks.push(chunk)
      request.off('data', onData)
      chunks.length = 0
      resolve({ kind: 'too_large' })
    }
    // Only the first of them counts; to take the others back costs more than to let them come.
    request.on('data', onData)
    request.once('end', () => length <= limitBytes && resolve({ kind: 'whole', body: joined(chunks, length) }))
    request.once('close', () => resolve({ kind: 'gone' }))
  })
}

/**
 * Answers with an error before the body is read, then reads on for a while without keeping anything:
 * a socket that is closed with unread bytes is reset, and many clients would lose the answer with it.
 * @param extraHeaders name, value, …
 */
export function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  form: ErrorForm,
  code: ErrorCode,
  extraHeaders: readonly string[] = [],
): void {
  if (!hasBody(request) || request.readableEnded) {
    sendError(response, form, code, extraHeaders)
    return
  }
  writeErrorAnswer(response, form, { code, ...errorDefinitions[code] }, ['connection', 'close', ...extraHeaders])
  const stop = () => response.end()
  const timer = setTimeout(stop, lingerMs)
  response.once('close', () => clearTimeout(timer))
  request.once('end', stop)
  request.resume()
}

/** The chunks as one buffer of its own: evidence keeps it, and must not keep what else was read with it. */
function joined(chunks: readonly Buffer[], length: number): Buffer {
  const [first] = chunks
  if (chunks.length === 1 && first!.buffer.byteLength <= first!.length + slackBytes) return first!
  const body = Buffer.allocUnsafeSlow(length)
  let at = 0
  for (const chunk of chunks) {
    at += chunk.copy(body, at)
    // Freed now: left to the collector, chunks make it run twice as often, and each run takes as long as 100 requests.
    if (chunk.length === chunk.buffer.byteLength) (chunk.buffer as ArrayBuffer).transfer(0)
  }
  return body
}

function hasBody(request: IncomingMessage): boolean {
  return request.headers['content-length'] !== undefined || request.headers['transfer-encoding'] !== undefined
}
