// Where receipts and outcomes go: one log line each, counters, and a short list for the admin page.
// Nothing here ever holds a prompt, a reply, a credential or an address.

import type { Logger } from 'pino'
import { Counter, Histogram, type Registry } from 'prom-client'
import type { Outcome, Receipt } from './receipt.ts'

/** Receipts that the admin page shows. */
const keptReceipts = 100

export interface RecentReceipt extends Receipt {
  outcome: Outcome | null
}

export class Ledger {
  readonly #log: Logger
  readonly #recent: RecentReceipt[] = []
  #hinted = false
  readonly #summaries: Counter<'decision' | 'reason'>
  readonly #planSeconds: Histogram
  readonly #firstTokenSeconds: Histogram<'decision'>
  readonly #cachedTokens: Counter<'decision'>
  readonly #verdicts: Counter<'decision' | 'verdict'>

  constructor(log: Logger, registry: Registry) {
    this.#log = log
    const registers = [registry]
    this.#summaries = new Counter({ name: 'warmfork_summaries_total', help: 'Summary requests by decision and fallback reason.', labelNames: ['decision', 'reason'], registers })
    this.#planSeconds = new Histogram({ name: 'warmfork_plan_seconds', help: 'Time from a summary request to its decision.', buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10], registers })
    this.#firstTokenSeconds = new Histogram({ name: 'warmfork_summary_first_token_seconds', help: 'Time from a summary request to the first event that says something.', labelNames: ['decision'], buckets: [0.1, 0.3, 1, 3, 10, 30, 100, 300], registers })
    this.#cachedTokens = new Counter({ name: 'warmfork_engine_cached_tokens_total', help: 'Cached tokens that the engine reported for summary requests.', labelNames: ['decision'], registers })
    this.#verdicts = new Counter({ name: 'warmfork_summary_verdicts_total', help: 'Replies to summary requests by verdict.', labelNames: ['decision', 'verdict'], registers })
  }

  /** Writes a receipt down: once per summary request, when the decision is final. */
  receipt(receipt: Receipt): void {
    this.#log.info(receipt, 'receipt')
    this.#recent.push({ ...receipt, outcome: null })
    if (this.#recent.length > keptReceipts) this.#recent.shift()
    this.#summaries.inc({ decision: receipt.decision, reason: receipt.fallback_reason ?? '' })
    this.#planSeconds.observe(receipt.plan_ms / 1000)
  }

  /** Writes down what came of it: once per receipt, at the end. */
  outcome(outcome: Outcome): void {
    this.#log.info(outcome, 'outcome')
    const { decision } = outcome
    const entry = this.#recent.findLast(({ receipt }) => receipt === outcome.receipt)
    if (entry) entry.outcome = outcome
    if (outcome.first_token_ms !== null) this.#firstTokenSeconds.observe({ decision }, outcome.first_token_ms / 1000)
    if (decision === 'forked' && outcome.prompt_tokens !== null && outcome.engine_cached_tokens === null) this.#hint()
    if (outcome.engine_cached_tokens !== null) this.#cachedTokens.inc({ decision }, outcome.engine_cached_tokens)
    this.#verdicts.inc({ decision, verdict: outcome.valid === null ? 'unknown' : outcome.valid ? 'valid' : outcome.invalid_reason ?? 'invalid' })
  }

  /** Said once: without the flag nobody sees what forks save. */
  #hint(): void {
    if (this.#hinted) return
    this.#hinted = true
    this.#log.info('the engine does not say how many prompt tokens were cached; vLLM does with --enable-prompt-tokens-details')
  }

  /** The last receipts, the newest first. */
  recent(): RecentReceipt[] {
    return this.#recent.toReversed()
  }
}
