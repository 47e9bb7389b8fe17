// A receipt and an outcome with every field that there is.

import { noFacts, type Outcome, type Receipt } from '../../src/receipt/receipt.ts'

export const emptyReceipt: Receipt = {
  receipt: '',
  decision: 'passed',
  eligible: false,
  fork_sent: false,
  cache_hit_verified: false,
  fallback_reason: 'internal_error',
  ...noFacts(),
  common_prefix_tokens: 0,
  endpoint: '',
  observed_at: '',
  plan_ms: 0,
}

export const emptyOutcome: Outcome = {
  receipt: '',
  decision: 'passed',
  prompt_ids_confirmed: null,
  finish_reason: null,
  valid: null,
  invalid_reason: null,
  prompt_tokens: null,
  completion_tokens: null,
  engine_cached_tokens: null,
  first_token_ms: null,
  total_ms: 0,
}
