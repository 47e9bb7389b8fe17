// The receipt: what was decided and proven before generation. Modest: an eligible fork is an opportunity, not a hit (R11).

import { randomBytes } from 'node:crypto'
import type { Reason } from './reasons.ts'

export type Decision = 'forked' | 'already_warm' | 'passed' | 'refused'

/** What a plan found out; null where it did not come so far. Tokens, messages, ms since the epoch. */
export interface PlanFacts {
  agent: string | null
  conversation: string | null
  placement: 'user' | 'tokens' | null
  /**
   * How the placement was made (`assistant_between`: a short assistant message before the directive), or why the next
   * one was not to be had (`turn_unknown`, `options`, `thinking_unknown`, `window_unknown`).
   */
  placement_detail: string | null
  /** Rungs of the ladder that lost, with the tokens that they would have shared. */
  lost_placements: { readonly user: number } | null
  proof: 'tokenize' | 'render' | null
  common_prefix_tokens: number | null
  head_messages: number | null
  head_tokens: number | null
  fork_tokens: number | null
  reusable_tokens: number | null
  block_size: number | null
  parent_receipt: string | null
  parent_completed_at: string | null
  model: string | null
  engine_version: string | null
  max_tokens: number | null
}

/** Facts of a plan that has found out nothing yet. */
export function noFacts(): PlanFacts {
  return {
    agent: null, conversation: null, placement: null, placement_detail: null, lost_placements: null, proof: null, common_prefix_tokens: null, head_messages: null,
    head_tokens: null, fork_tokens: null, reusable_tokens: null, block_size: null, parent_receipt: null,
    parent_completed_at: null, model: null, engine_version: null, max_tokens: null,
  }
}

export interface Receipt extends Readonly<PlanFacts> {
  readonly receipt: string
  readonly decision: Decision
  readonly eligible: boolean
  readonly fork_sent: boolean
  readonly cache_hit_verified: false
  readonly fallback_reason: Reason | null
  /** The route's pattern. */
  readonly endpoint: string
  readonly observed_at: string
  readonly plan_ms: number
}

/** What was observed after the decision; null where the engine did not say. Tokens and ms. */
export interface Outcome {
  readonly receipt: string
  readonly decision: Decision
  readonly prompt_ids_confirmed: boolean | null
  readonly finish_reason: string | null
  /** Null where the client went away: that proves nothing about the reply. */
  readonly valid: boolean | null
  readonly invalid_reason: string | null
  readonly prompt_tokens: number | null
  readonly completion_tokens: number | null
  readonly engine_cached_tokens: number | null
  readonly first_token_ms: number | null
  readonly total_ms: number
}

/** A receipt's id: short, unguessable, and nobody's request id. */
export function newReceiptId(): string {
  return randomBytes(9).toString('base64url')
}

/** The response headers of a summary request: name, value, … */
export function receiptHeaders(receipt: Receipt): string[] {
  return [
    'x-warmfork-receipt', receipt.receipt,
    'x-warmfork-decision', receipt.decision,
    'x-warmfork-eligible', String(receipt.eligible),
    'x-warmfork-fork-sent', String(receipt.fork_sent),
    ...(receipt.common_prefix_tokens === null ? [] : ['x-warmfork-common-prefix-tokens', String(receipt.common_prefix_tokens)]),
    'x-warmfork-cache-hit-verified', String(receipt.cache_hit_verified),
    ...(receipt.fallback_reason === null ? [] : ['x-warmfork-fallback-reason', receipt.fallback_reason]),
  ]
}
