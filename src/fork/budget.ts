// Token budgets of a fork (R7). Compaction fires near a full window, so the room for the reply is computed here:
// vLLM 0.32 cuts max_tokens silently where it does not fit.

import { numberOption, type ChatRequest } from '../wire/chat-request.ts'
import type { Reason } from '../receipt/reasons.ts'

/** From the configuration; null bounds nothing. */
export interface Budgets {
  readonly inputCapTokens: number | null
  readonly outputAllowanceTokens: number | null
  readonly minOutputTokens: number
}

export type Budget =
  | { readonly fits: true, /** The fork's token limit, or null for none of our making. */ readonly maxTokens: number | null }
  | { readonly fits: false, readonly reason: Reason }

/**
 * @param forkTokens length of the fork's prompt
 * @param window the model's window, or null where unknown
 */
export function budgetOf(summary: ChatRequest, forkTokens: number, window: number | null, budgets: Budgets): Budget {
  if (budgets.inputCapTokens !== null && forkTokens > budgets.inputCapTokens) return { fits: false, reason: 'head_over_cap' }
  const asked = smallest(numberOption(summary, 'max_completion_tokens') ?? numberOption(summary, 'max_tokens'), budgets.outputAllowanceTokens)
  if (window === null) return { fits: true, maxTokens: asked }
  const left = window - forkTokens
  if (left < (smallest(budgets.minOutputTokens, asked) ?? 1)) return { fits: false, reason: 'window_exceeded' }
  return { fits: true, maxTokens: asked === null ? null : Math.min(asked, left) }
}

function smallest(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b)
}

/**
 * Tokens of a prompt that the cache may hold: full blocks, and never the last token.
 * Source: vllm/v1/core/kv_cache_manager.py, get_computed_blocks.
 */
export function reusableTokens(commonPrefixTokens: number, forkTokens: number, blockSize: number): number {
  return Math.floor(Math.min(commonPrefixTokens, forkTokens - 1) / blockSize) * blockSize
}
