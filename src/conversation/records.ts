// Puts main requests that ended well into the store, each on the line that it grows (R1, R14).

import { randomUUID } from 'node:crypto'
import type { Endpoint } from '../endpoint/endpoint.ts'
import type { ClientRequest, ReplyObserver } from '../relay/types.ts'
import { givenSessionToken, routingHeaders } from '../fork/routing-headers.ts'
import { conversationInHeaders, type ConversationIdSources } from './conversation-id.ts'
import { endedWell, type Evidence } from './evidence.ts'
import { type Grown, lineOf, maxCompared } from './lineage.ts'
import { ReplyRecorder, type RecordedReply } from './recorder.ts'
import type { Plain } from '../summary/recognise.ts'
import type { EvidenceStore, LineOwner } from './store.ts'
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

/** Where a request would be recorded. */
export interface Place extends LineOwner {
  /** The line that it grows, if it grows one. */
  readonly grown: Grown | undefined
}

export class Records {
  readonly #options: RecordsOptions

  constructor(options: RecordsOptions) {
    this.#options = options
  }

  /** Finds the place of a request, whatever it turns out to be; null where its body is encoded and so never evidence. */
  place(request: ClientRequest, endpoint: Endpoint): Place | null {
    if ((request.headers['content-encoding'] ?? 'identity') !== 'identity') return null
    const { store, tenants, sources } = this.#options
    const owner = { tenant: tenants.of(request.rawHeaders, request.target), endpoint, conversation: conversationInHeaders(request.headers, sources) }
    return { ...owner, grown: lineOf(store.lines(owner, maxCompared), request.body) }
  }

  /** The observer for a main request's reply. @param plain what a search for markers found of the request */
  observe(request: ClientRequest, place: Place, plain: Plain | null): ReplyObserver {
    const { keepReplies, onFault } = this.#options
    return new ReplyRecorder(place.endpoint.reply, { keepWhole: keepReplies }, (reply) => {
      try {
        this.#record(request, place, plain, reply)
      } catch (error) {
        onFault(error)
      }
    })
  }

  #record(request: ClientRequest, place: Place, plain: Plain | null, { status, rawHeaders, reply, cleanEnd }: RecordedReply): void {
    if (!endedWell(status, reply, cleanEnd)) return
    const { store, keepReplies } = this.#options
    const { tenant, endpoint, conversation } = place
    const grown = this.#stillGrown(place, request.body)
    const evidence: Evidence = {
      id: randomUUID(),
      tenant,
      endpoint,
      conversation,
      body: owned(request.body),
      plain,
      routing: routingHeaders(request.rawHeaders),
      sessionToken: givenSessionToken(rawHeaders),
      completedAt: Date.now(),
      promptTokens: reply.usage?.promptTokens ?? null,
      finish: reply.finish,
      replyText: keepReplies && reply.finish === 'stop' ? reply.content : null,
      ids: null,
      forkFailed: false,
    }
    store.put(evidence, grown?.id)
    if (!grown) this.#options.onNewLine(evidence, request)
  }

  /** The line may have grown while the reply ran: by the same request, sent twice. */
  #stillGrown(place: Place, body: Buffer): Evidence | undefined {
    const { store } = this.#options
    const { grown } = place
    return grown && store.has(grown.evidence.id) ? grown.evidence : lineOf(store.lines(place, maxCompared), body)?.evidence
  }
}

/** A small body is a part of the buffer that it was read into, which would stay in memory with it, and uncounted. */
function owned(body: Buffer): Buffer {
  if (body.buffer.byteLength <= body.length + 1024) return body
  const copy = Buffer.allocUnsafeSlow(body.length)
  body.copy(copy)
  return copy
}
