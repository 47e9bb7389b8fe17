// The contract between warmfork and an engine: everything that warmfork relies on, asked over plain HTTP. It runs
// against the simulator with the other tests and against a real vLLM, so that neither drifts from the other.

import type { Test } from 'tap'
import { headEnd } from './head-end.ts'
import type { ContractEngine } from './http.ts'
import { messagesEndpoint } from './messages.ts'
import { metricsPage } from './metrics.ts'
import { prefixCache } from './prefix-cache.ts'
import { promptIds } from './prompt-ids.ts'
import { refusals } from './refusals.ts'
import { replies } from './replies.ts'
import { responses } from './responses.ts'

export type { ContractEngine } from './http.ts'

/**
 * Asks an engine all of it; about 20 s on the test checkpoint of a real vLLM, which must be idle.
 * @param t the test to add to
 * @param engine vLLM 0.32 or its simulator with Qwen3's tokenizer and template, --enable-prompt-tokens-details,
 *   --enable-auto-tool-choice --tool-call-parser hermes, and without an API key
 */
export async function engineContract(t: Test, engine: ContractEngine): Promise<void> {
  await t.test('prompt ids', (t) => promptIds(t, engine))
  await t.test('where a head ends', (t) => headEnd(t, engine))
  await t.test('prefix cache', (t) => prefixCache(t, engine))
  await t.test('replies', (t) => replies(t, engine))
  await t.test('refusals', (t) => refusals(t, engine))
  await t.test('responses', (t) => responses(t, engine))
  await t.test('messages', (t) => messagesEndpoint(t, engine))
  await t.test('metrics and discovery', (t) => metricsPage(t, engine))
}
