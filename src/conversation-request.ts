// The life of a request of a conversation, top to bottom: what is it, and then relay and record, or plan, send and write down.
// A fault of ours never costs the client its answer: the request goes out as it came (R13).

import type { Logger } from 'pino'
import { nearest } from './config/nearest.ts'
import { conversationInBody, conversationInHeaders, type ConversationIdSources } from './conversation/conversation-id.ts'
import { chooseEvidence } from './conversation/choose.ts'
import type { Evidence } from './conversation/evidence.ts'
import type { Place, Records } from './conversation/records.ts'
import type { EvidenceStore } from './conversation/store.ts'
import type { Tenants } from './conversation/tenant.ts'
import type { Endpoint, ReadRequest } from './endpoint/endpoint.ts'
import { decide, searchFor, type Decided } from './fork/decide.ts'
import type { Fork, Planner } from './fork/plan.ts'
import { forkHeaders } from './fork/routing-headers.ts'
import { sendFork, type SentFork } from './fork/send.ts'
import type { Ledger } from './receipt/ledger.ts'
import { outcomeOf, SummaryObserver } from './receipt/outcome.ts'
import { newReceiptId, noFacts, receiptHeaders, type Decision, type Outcome, type PlanFacts, type Receipt } from './receipt/receipt.ts'
import { reasons, type Reason } from './receipt/reasons.ts'
import { faultFields } from './relay/fault.ts'
import { headersForEngine } from './relay/headers.ts'
import { sendErrorAnswer } from './relay/respond.ts'
import type { ClientRequest, ConversationHandler, Relay, Upstream } from './relay/types.ts'
import type { Agent } from './summary/agents.ts'
import { isSummaryOf } from './summary/generic.ts'
import { isMisspelt, requestWords, saidBy, type Plain, type Recogniser, type RequestKind } from './summary/recognise.ts'
import { judge } from './summary/verdict.ts'
import { stringMember, type ChatRequest } from './wire/chat-request.ts'
import { memberNamed, membersOf } from './wire/json-slices.ts'
import { emptyReply } from './wire/reply.ts'
import { commonPrefix } from './wire/token-ids.ts'

export interface ConversationOptions {
  readonly upstream: Upstream
  readonly recogniser: Recogniser
  readonly tenants: Tenants
  readonly sources: ConversationIdSources
  readonly store: EvidenceStore
  readonly records: Records
  readonly planner: Planner
  readonly ledger: Ledger
  readonly log: Logger
  readonly mode: 'on' | 'observe' | 'off'
  /** Summaries by conversation id are allowed. */
  readonly byId: boolean
  readonly holdHeadersMs: number
  /** Longest time that a plan's questions to the engine may take together, in ms. */
  readonly proofTimeoutMs: number
  /** Headers on every reply. Name, value, … */
  readonly replyHeaders: readonly string[]
}

/** Where a request would be recorded; a fault is told only of a request that would have been. */
interface FoundPlace {
  readonly place: Place | null
  readonly fault: unknown
}

const noPlace: FoundPlace = { place: null, fault: null }

/** The handler of every POST to an endpoint of conversations; it answers each, and fails open (server.ts). */
export function createConversationHandler(options: ConversationOptions): ConversationHandler {
  const { recogniser, records, mode, log } = options
  const warned = new Set<string | null>()

  return async (request, relay, endpoint) => {
    const found = mode === 'off' ? noPlace : placeOf(request, endpoint)
    const grown = found.place?.grown && { plain: found.place.grown.evidence.plain, growth: found.place.grown.growth }
    const plain = recogniser.plainOf(request.headers, request.body, grown)
    if (plain) return passMain(request, relay, found, plain)
    const read = readUnlessEncoded(request, endpoint)
    warnIfMisspelt(saidBy(request.headers, read))
    const kind = recogniser.recognise(request.headers, read)
    switch (kind.kind) {
      case 'main':
        return passMain(request, relay, found, null)
      case 'possible':
        if (read && isSummary(request, read, kind.agent)) return new SummaryRequest(options, request, endpoint, read, { kind: 'summary', agent: kind.agent }, kind.agent === null).answer(relay)
        return request.gone.aborted ? undefined : passMain(request, relay, found, null)
      case 'side':
        return void await relay.pass(request)
      case 'summary':
      case 'conversation-summary':
        return new SummaryRequest(options, request, endpoint, read, kind).answer(relay)
    }
  }

  function placeOf(request: ClientRequest, endpoint: Endpoint): FoundPlace {
    try {
      return { place: records.place(request, endpoint), fault: null }
    } catch (fault) {
      return { place: null, fault }
    }
  }

  /** Once for each word that may have been meant: what a client got wrong, it gets wrong in every request. */
  function warnIfMisspelt(said: string | null): void {
    if (!isMisspelt(said)) return
    const meant = nearest(said.slice(0, 40), requestWords)
    if (warned.has(meant)) return
    warned.add(meant)
    log.warn({ meant, words: requestWords }, 'x-warmfork-request has a value that is none of its words; it counts as none')
  }

  async function passMain(request: ClientRequest, relay: Relay, { place, fault }: FoundPlace, plain: Plain | null): Promise<void> {
    if (fault !== null) log.warn(faultFields(fault), 'a main request could not be compared with what is recorded; it is not recorded')
    await relay.pass(request, place ? { observer: records.observe(request, place, plain) } : undefined)
  }

  /** Whether a recorded conversation makes a summary of a request; of an agent's it is one unless that speaks against it. */
  function isSummary(request: ClientRequest, read: ReadRequest, agent: Agent | null): boolean {
    if (mode === 'off') return agent !== null
    try {
      const { tenants, sources, store } = options
      const conversation = conversationInHeaders(request.headers, sources) ?? conversationInBody(read, sources)
      const choice = chooseEvidence(store.candidates(tenants.of(request.rawHeaders, request.target)), searchFor(read, { conversation, agent }, sources))
      if (agent) return !('fits' in choice) || choice.fits.every(({ coverage }) => coverage.foreignFront.length > 0)
      return 'fits' in choice && choice.fits.some((fit) => isSummaryOf(read.chat, fit))
    } catch (error) {
      log.warn(faultFields(error), 'a request could not be compared with what is recorded; it is passed as it came')
      return false
    }
  }

  function readUnlessEncoded(request: ClientRequest, endpoint: Endpoint): ReadRequest | null {
    try {
      return (request.headers['content-encoding'] ?? 'identity') === 'identity' ? endpoint.read(request.body) : null
    } catch (error) {
      log.warn(faultFields(error), 'a request could not be looked at; it is passed as it came')
      return null
    }
  }
}

/** The query of a target, with its mark, or ''. */
function queryOf(target: string): string {
  const at = target.indexOf('?')
  return at < 0 ? '' : target.slice(at)
}

/** One summary request, from its plan to its outcome. */
class SummaryRequest {
  readonly #options: ConversationOptions
  readonly #request: ClientRequest
  readonly #endpoint: Endpoint
  readonly #read: ReadRequest | null
  readonly #agent: Agent | null
  readonly #generic: boolean
  readonly #byId: boolean
  readonly #id = newReceiptId()
  readonly #facts: PlanFacts = noFacts()
  #planMs = 0

  constructor(options: ConversationOptions, request: ClientRequest, endpoint: Endpoint, read: ReadRequest | null, kind: RequestKind & { kind: 'summary' | 'conversation-summary' }, generic = false) {
    this.#options = options
    this.#request = request
    this.#endpoint = endpoint
    this.#read = read
    this.#agent = kind.kind === 'summary' ? kind.agent : null
    this.#generic = generic
    this.#byId = kind.kind === 'conversation-summary'
  }

  async answer(relay: Relay): Promise<void> {
    const decided = await this.#decide()
    this.#planMs = Math.round(performance.now() - this.#request.receivedAt)
    // Nobody is there to be answered, so there is nothing to send and no receipt.
    if (this.#request.gone.aborted) return
    const { plan, evidence, request } = decided
    if (plan.decision === 'forked') {
      if (this.#options.mode === 'on') return this.#fork(plan.fork, evidence!, request!, relay)
      await this.#pass(relay, 'passed', 'observed_only', { eligible: true, forkSent: false })
    } else if (plan.decision === 'already_warm') {
      await this.#pass(relay, 'already_warm', null, { eligible: false, forkSent: false })
    } else {
      await this.#pass(relay, 'passed', plan.reason, { eligible: false, forkSent: false })
    }
  }

  async #decide(): Promise<Decided> {
    const { mode, byId, tenants, sources, store, planner, proofTimeoutMs, log } = this.#options
    const none = (reason: Reason): Decided => ({ plan: { decision: 'passed', reason, learned: null }, evidence: null, request: null })
    if (mode === 'off' || (this.#byId && !byId)) return none('disabled')
    try {
      const { headers, rawHeaders, target, gone } = this.#request
      const conversation = conversationInHeaders(headers, sources) ?? (this.#read && conversationInBody(this.#read, sources))
      this.#facts.agent = this.#agent?.agent ?? (this.#generic ? 'generic' : null)
      this.#facts.conversation = conversation
      return await decide(planner, store, sources, {
        summary: this.#read,
        tenant: tenants.of(rawHeaders, target),
        conversation,
        agent: this.#agent,
        byId: this.#byId,
      }, this.#facts, {
        credentials: tenants.credentials(rawHeaders),
        signal: AbortSignal.any([gone, AbortSignal.timeout(proofTimeoutMs)]),
      })
    } catch (error) {
      log.warn(faultFields(error), 'a summary request could not be planned; it is passed as it came')
      return none('internal_error')
    }
  }

  /**
   * The standalone path; without a request of the agent's own to send there is only the reason to tell.
   * @returns whether the engine answered with a 2xx
   */
  async #pass(relay: Relay, decision: 'already_warm' | 'passed', reason: Reason | null, was: { eligible: boolean, forkSent: boolean }): Promise<boolean> {
    if (this.#byId) {
      const receipt = this.#receipt('refused', reason, was)
      sendErrorAnswer(this.#request.response, this.#request.errors, { status: 422, code: reason!, message: reasons[reason!], type: 'summary_error' },
        ['x-should-retry', 'false', ...receiptHeaders(receipt), ...this.#options.replyHeaders])
      this.#outcome(outcomeOf(receipt, emptyReply(), null, null, { receivedAt: this.#request.receivedAt, firstTokenAt: null }))
      return false
    }
    const receipt = this.#receipt(decision, reason, was)
    const observer = new SummaryObserver(this.#endpoint.reply, (how) => {
      const verdict = how === 'client_gone' || !observer.isReadable ? null : judge(observer.reply, toolNames(this.#read?.chat), this.#closingTag())
      this.#outcome(outcomeOf(receipt, observer.reply, verdict, null, { receivedAt: this.#request.receivedAt, firstTokenAt: observer.firstTokenAt }))
    })
    await relay.pass(this.#request, { observer, replyHeaders: receiptHeaders(receipt) })
    return observer.isReadable
  }

  async #fork(fork: Fork, evidence: Evidence, evidenceRequest: ReadRequest, relay: Relay): Promise<void> {
    const { upstream, holdHeadersMs, planner, replyHeaders } = this.#options
    const { method, target, rawHeaders } = this.#request
    let receipt: Receipt | undefined
    const sent = await sendFork({
      upstream,
      request: this.#request,
      fork: { method, target: fork.target === null ? target : `${fork.target}${queryOf(target)}`, headers: forkHeaders(headersForEngine(rawHeaders), evidence, this.#id), body: fork.body },
      summary: this.#read!,
      shape: fork.shape,
      holdHeadersMs,
      judge: (reply) => judge(reply, toolNames(evidenceRequest.chat), this.#closingTag(), fork.shape !== null),
      decided: (decision) => {
        receipt = this.#receipt(decision, null, { eligible: true, forkSent: true })
        return [...receiptHeaders(receipt), ...replyHeaders]
      },
    }).catch((error: unknown) => {
      if (receipt) {
        this.#outcome(outcomeOf(receipt, emptyReply(), null, null, { receivedAt: this.#request.receivedAt, firstTokenAt: null }))
        throw error
      }
      this.#options.log.warn(faultFields(error), "a fork's reply could not be read; the request is passed as it came")
      return null
    })
    if (sent === null) return void await this.#pass(relay, 'passed', 'internal_error', { eligible: true, forkSent: true })
    if (sent.end === 'rejected') {
      const answered = await this.#pass(relay, 'passed', 'fork_rejected', { eligible: true, forkSent: true })
      // An engine that refuses the agent's own request too, for its options or its load, says nothing about forks.
      if (answered && planner.switches.refused(evidence.tenant, fork.model, fork.epoch)) {
        this.#options.log.warn('the engine refused three forks in a row for a model; forking waits for a new calibration')
      }
      return
    }
    this.#learn(fork, evidence, sent, receipt ?? this.#receipt('forked', null, { eligible: true, forkSent: true }))
  }

  /** What a fork's reply teaches about the engine and about its evidence. */
  #learn(fork: Fork, evidence: Evidence, sent: SentFork, receipt: Receipt): void {
    const { planner, log } = this.#options
    const { promptIds, reply, verdict, firstTokenAt } = sent
    // By the `tokens` placement the engine would only echo what it was given.
    const confirmed = fork.shape === null && promptIds ? promptIds.length === fork.ids.length && commonPrefix(promptIds, fork.ids) === fork.ids.length : null
    this.#outcome(outcomeOf(receipt, reply, verdict, confirmed, { receivedAt: this.#request.receivedAt, firstTokenAt }))
    if (confirmed === false && planner.engine.forget(fork.epoch)) {
      log.warn({ receipt: receipt.receipt }, 'the engine prefilled other ids than proven; forking waits for a new calibration')
    }
    if (sent.end === 'answered') planner.switches.accepted(evidence.tenant, fork.model)
    if (planner.switches.observed(evidence.tenant, reply.usage?.cachedTokens ?? null, fork.reusableTokens)) {
      log.warn('the engine reported the last forks as not cached; forking pauses')
    }
    // A fork that was not what had been proven would not be what is proven the next time either.
    if (verdict?.valid === false || confirmed === false) this.#noteFailed(evidence)
  }

  #noteFailed(evidence: Evidence): void {
    const { store, log } = this.#options
    try {
      store.amend({ ...evidence, forkFailed: true })
    } catch (error) {
      log.warn(faultFields(error), 'a failed fork could not be noted')
    }
  }

  #receipt(decision: Decision, reason: Reason | null, { eligible, forkSent }: { eligible: boolean, forkSent: boolean }): Receipt {
    const receipt: Receipt = {
      receipt: this.#id,
      decision,
      eligible,
      fork_sent: forkSent,
      cache_hit_verified: false,
      fallback_reason: reason,
      ...this.#facts,
      endpoint: this.#endpoint.path,
      observed_at: new Date().toISOString(),
      plan_ms: this.#planMs,
    }
    this.#writeDown((ledger) => ledger.receipt(receipt))
    return receipt
  }

  #outcome(outcome: Outcome): void {
    this.#writeDown((ledger) => ledger.outcome(outcome))
  }

  #writeDown(write: (ledger: Ledger) => void): void {
    try {
      write(this.#options.ledger)
    } catch (error) {
      this.#options.log.warn(faultFields(error), 'a receipt or an outcome could not be written down')
    }
  }

  #closingTag(): string | undefined {
    return this.#agent?.reply.closing_tag
  }
}

/** Names of the tools that a request's model may call. */
function toolNames(request: ChatRequest | undefined): string[] {
  return (request?.tools ?? []).flatMap((tool) => {
    const definition = memberNamed(membersOf(request!.body, tool.start) ?? [], 'function')
    const name = definition && stringMember(request!.body, definition.value, 'name')
    return name ? [name] : []
  })
}
