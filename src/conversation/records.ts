// Puts main requests that ended well into the store, each on the line that it grows (R1, R14).

import { randomBytes } from 'node:crypto'
import type { ClientRequest, ReplyObserver } from '../relay/types.ts'
import { givenSessionToken, routingHeaders } from '../fork/routing-headers.ts'
import { conversationInHeaders, type ConversationIdSources } from './conversation-id.ts'
import { endedWell, type Evidence } from './evidence.ts'
import { grownFrom } from './lineage.ts'
import { ReplyRecorder, type RecordedReply } from './recorder.ts'
import type { EvidenceStore } from './store.ts'
import type { Tenants } from './tenant.ts'

export interface RecordsOptions {
  readonly store: EvidenceStore
  readonly tenants: Tenants
  readonly sources: ConversationIdSources
  /** The reply's text is kept too: for summaries by id. */
  readonly keepReplies: boolean
  /** Told of evidence that started a line of its own. */
  readonly onNewLine: (evidence: Evidence, request: ClientRequest) => void
  /** Told when recording failed; the client notices nothing. */
  readonly onFault: (error: unknown) => void
}

export class Records {
  readonly #options: RecordsOptions

  constructor(options: RecordsOptions) {
    this.#options = options
  }

  /** The observer for a main request's reply; undefined where its body is encoded and so never evidence. */
  observe(request: ClientRequest): ReplyObserver | undefined {
    if ((request.headers['content-encoding'] ?? 'identity') !== 'identity') return undefined
    const { keepReplies, onFault } = this.#options
    return new ReplyRecorder({ keepWhole: keepReplies }, (reply) => {
      this.#record(request, reply).catch(onFault)
    })
  }

  async #record(request: ClientRequest, { status, rawHeaders, reply, cleanEnd }: RecordedReply): Promise<void> {
    if (!endedWell(status, reply, cleanEnd)) return
    const { store, tenants, sources, keepReplies } = this.#options
    const tenant = tenants.of(request.rawHeaders)
    const conversation = conversationInHeaders(request.headers, sources)
    const { live } = await store.candidates(tenant)
    const grown = grownFrom(live, conversation, request.body)
    const evidence: Evidence = {
      id: randomBytes(9).toString('base64url'),
      tenant,
      conversation,
      body: owned(request.body),
      routing: routingHeaders(request.rawHeaders),
      sessionToken: givenSessionToken(rawHeaders),
      completedAt: Date.now(),
      promptTokens: reply.usage?.promptTokens ?? null,
      finish: reply.finish,
      replyText: keepReplies && reply.finish === 'stop' ? reply.content : null,
      ids: null,
      forkFailed: false,
    }
    await store.put(evidence, grown?.id)
    if (!grown) this.#options.onNewLine(evidence, request)
  }
}

/** A small body is a part of the buffer that it was read into, which would stay in memory with it, and uncounted. */
function owned(body: Buffer): Buffer {
  if (body.buffer.byteLength <= body.length + 1024) return body
  const copy = Buffer.allocUnsafeSlow(body.length)
  body.copy(copy)
  return copy
}
