// Puts the handler of conversations together from the configuration: store, recogniser, planner and what they need of each other.

import type { Logger } from 'pino'
import { Gauge, type Registry } from 'prom-client'
import type { Config } from './config.ts'
import { createConversationHandler } from './conversation-request.ts'
import { conversationOf } from './conversation/choose.ts'
import { evidenceRequest, type Evidence } from './conversation/evidence.ts'
import { MemoryStore } from './conversation/memory-store.ts'
import { Records } from './conversation/records.ts'
import { Tenants } from './conversation/tenant.ts'
import { Engine, type Asker } from './engine/engine.ts'
import type { CacheConfig } from './engine/metrics.ts'
import { ForkSwitches } from './fork/switches.ts'
import type { Ledger } from './receipt/ledger.ts'
import { faultFields } from './relay/fault.ts'
import type { ClientRequest, ConversationHandler, Upstream } from './relay/types.ts'
import type { Agent } from './summary/agents.ts'
import { Recogniser } from './summary/recognise.ts'

export interface Parts {
  /** Agents whose summary requests are known. */
  readonly agents: readonly Agent[]
  readonly upstream: Upstream
  readonly ledger: Ledger
  readonly registry: Registry
  readonly log: Logger
  readonly replyHeaders: readonly string[]
  /** Ends the questions to the engine that no client waits for. */
  readonly closing?: AbortSignal
}

/** Puts together what remembers, plans, sends and writes down, by the configuration; owns none of what it is given. */
export function composeHandler(config: Config, { agents, upstream, ledger, registry, log, replyHeaders, closing }: Parts): ConversationHandler {
  const tenants = new Tenants(config.tenant.headers)
  const sources = { headers: config.conversation.headers, bodyFields: config.conversation.body_fields }
  const store = new MemoryStore({
    maxBytes: config.evidence.max_bytes,
    ttlMs: config.evidence.ttl_s * 1000,
    conversationOf: (evidence) => conversationOf(evidence, sources),
  })
  showSize(store, registry)
  // A calibration is a few small renderings and a chat of one token; it may wait for a busy engine longer than one plan may.
  const engine = new Engine(upstream, { calibrationTimeoutMs: 6 * config.proof.timeout_ms, log: (line) => log.info(line, 'calibration'), closing })
  const byId = config.summary.by_id === 'on'

  /** A thousand conversations may begin at once, and an engine's metrics are long: one look in the background serves all who come meanwhile. */
  let looking: Promise<CacheConfig | null> | undefined
  const lookAt = (asker: Asker) => (looking ??= engine.cacheConfig(asker).finally(() => { looking = undefined }))

  /** Calibrates in the background, so that the first summary does not wait for it. */
  const calibrateFor = async (evidence: Evidence, request: ClientRequest): Promise<void> => {
    const asker = { credentials: tenants.credentials(request.rawHeaders), signal: engine.background() }
    if (!(await lookAt(asker))?.prefixCaching) return
    const read = evidenceRequest(evidence)
    if (read) await engine.calibration(read, asker)
  }
  const onFault = (message: string) => (error: unknown) => log.warn(faultFields(error), message)

  return createConversationHandler({
    upstream,
    recogniser: new Recogniser(agents, { generic: config.agents.generic }),
    tenants,
    sources,
    store,
    records: new Records({
      store,
      tenants,
      sources,
      keepReplies: byId,
      onNewLine: (evidence, request) => void calibrateFor(evidence, request).catch(onFault('the engine could not be calibrated; the next summary request asks again')),
      onFault: onFault('a main request could not be recorded; its reply went to the client'),
    }),
    planner: {
      engine,
      switches: new ForkSwitches({ backoffAfter: config.fork.backoff_after, backoffMs: config.fork.backoff_s * 1000 }),
      budgets: {
        inputCapTokens: config.summary.input_cap_tokens,
        outputAllowanceTokens: config.summary.output_allowance_tokens,
        minOutputTokens: config.summary.min_output_tokens,
      },
      minSavedTokens: config.fork.min_saved_tokens,
    },
    ledger,
    log,
    mode: config.fork.mode,
    byId,
    holdHeadersMs: config.fork.hold_headers_ms,
    proofTimeoutMs: config.proof.timeout_ms,
    replyHeaders,
  })
}

function showSize(store: MemoryStore, registry: Registry): void {
  new Gauge({ name: 'warmfork_evidence_bytes', help: 'Memory that recorded evidence takes.', registers: [registry], collect() { this.set(store.size().bytes) } })
  new Gauge({ name: 'warmfork_evidence_entries', help: 'Recorded lines of conversation.', registers: [registry], collect() { this.set(store.size().entries) } })
}
