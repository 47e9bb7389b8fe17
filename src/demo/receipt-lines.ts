// A receipt in a table, one sentence for each of its lines.

import type { RecentReceipt } from '../receipt/ledger.ts'
import { table } from './table.ts'

type Meanings = readonly (readonly [name: string, meaning: string])[]

const headers: Meanings = [
  ['x-warmfork-receipt', 'its name in the log and on the page /receipts'],
  ['x-warmfork-decision', "the fork was sent in place of the agent's request"],
  ['x-warmfork-eligible', 'token ids prove that it begins as the last main did'],
  ['x-warmfork-fork-sent', 'once, and never again'],
  ['x-warmfork-common-prefix-tokens', "tokens in common with the last main's prompt"],
  ['x-warmfork-cache-hit-verified', 'always: a proven prefix is an opportunity, no hit'],
  ['x-warmfork-fallback-reason', 'why the request went out as it came'],
]

const fields: Meanings = [
  ['head_messages', 'messages of the last main request that the fork keeps'],
  ['head_tokens', 'their length: this much had to be proven'],
  ['reusable_tokens', 'full cache blocks of the common prefix: reusable if still cached'],
  ['plan_ms', 'time to plan and prove, questions to the engine included'],
  ['engine_cached_tokens', 'what the engine says it reused: an observation'],
  ['prompt_ids_confirmed', 'the engine says it prefilled exactly the proven ids'],
  ['valid', 'the reply is a summary: complete, and no tool call'],
]

/** The receipt's headers, with those that this file does not know. */
export function headerLines(receipt: ReadonlyMap<string, string>): string[] {
  const known = headers.filter(([name]) => receipt.has(name))
  const others = [...receipt.keys()].filter((name) => !headers.some(([known]) => known === name)).map((name) => [name, ''] as const)
  return lines('header', [...known, ...others], (name) => receipt.get(name))
}

/** What the log says beyond the headers. */
export function fieldLines(receipt: RecentReceipt): string[] {
  const all: Record<string, unknown> = { ...receipt, ...receipt.outcome }
  return lines('log field', fields, (name) => String(all[name]))
}

function lines(what: string, meanings: Meanings, valueOf: (name: string) => string | undefined): string[] {
  return table([what, 'value', 'meaning'], meanings.map(([name, meaning]) => [name, valueOf(name) ?? '', meaning]))
}
