// What warmfork remembers: the last main request of a line that ended well (R1), and what was learned of it later.

import type { Endpoint, ReadRequest } from '../endpoint/endpoint.ts'
import type { Plain } from '../summary/recognise.ts'
import type { ReplyState } from '../wire/reply.ts'

/** Token ids of the recorded prompt, as one start of the engine rendered them. */
export interface EvidenceIds {
  /** Which engine start, model state and proof they come from; others make them void. */
  readonly engine: string
  /** With the generation prompt: what was prefilled. */
  readonly prompt: Uint32Array
  /** Length in tokens without the generation prompt; null where that is no prefix of the prompt. */
  readonly withoutGenerationPrompt: number | null
}

export interface Evidence {
  /** Of our own making: what receipts call the parent. */
  readonly id: string
  readonly tenant: string
  /** Where it was sent: a fork goes nowhere else. */
  readonly endpoint: Endpoint
  /** Hash of the id in its headers, or null; an id in its body is read when it is needed. */
  readonly conversation: string | null
  readonly body: Buffer
  /** What a search for markers found of the body; null where it may be more than a main request. */
  readonly plain: Plain | null
  /** Header pairs that decide which engine a router picks, as sent. */
  readonly routing: readonly string[]
  /** A header pair that the reply gave for staying on the same engine, or empty. */
  readonly sessionToken: readonly string[]
  /** ms since the epoch. */
  readonly completedAt: number
  readonly promptTokens: number | null
  readonly finish: 'stop' | 'tool_calls'
  /** The reply's text, kept only where summaries by id are allowed and the reply ended with `stop`. */
  readonly replyText: string | null
  readonly ids: EvidenceIds | null
  /** A fork of it generated and failed its verdict (R10). */
  readonly forkFailed: boolean
}

/** Bytes of memory that an entry is counted as. */
export function evidenceBytes(evidence: Evidence): number {
  const overhead = 1024
  return evidence.body.byteLength + (evidence.ids?.prompt.byteLength ?? 0) + 2 * (evidence.replyText?.length ?? 0) +
    [...evidence.routing, ...evidence.sessionToken].reduce((sum, text) => sum + 2 * text.length, 0) + overhead
}

/** Whether a reply makes its request evidence (R1). @param cleanEnd the body ended cleanly, or the client left after the end mark */
export function endedWell(status: number, reply: ReplyState, cleanEnd: boolean): reply is ReplyState & { finish: 'stop' | 'tool_calls' } {
  return status >= 200 && status < 300 && cleanEnd && !reply.error && !reply.severalChoices &&
    (reply.finish === 'stop' || reply.finish === 'tool_calls')
}

/** Reads an evidence's body, and remembers the last few: read, a body of many small messages takes ten times its bytes. */
export function evidenceRequest(evidence: Evidence): ReadRequest | null {
  let request = readRequests.get(evidence.body)
  if (request === undefined) {
    request = evidence.endpoint.read(evidence.body)
    readRequests.set(evidence.body, request)
    remembered.push(new WeakRef(evidence.body))
    const oldest = remembered.length > maxRemembered ? remembered.shift()?.deref() : undefined
    if (oldest) readRequests.delete(oldest)
  }
  return request
}

const maxRemembered = 16
const readRequests = new WeakMap<Buffer, ReadRequest | null>()
const remembered: WeakRef<Buffer>[] = []
