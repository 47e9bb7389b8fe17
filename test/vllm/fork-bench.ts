// warmfork before a real engine, with a recorder between them: sends sessions through, and holds every receipt against
// what the engine got and what it says itself.

import { isDeepStrictEqual } from 'node:util'
import type { Test } from 'tap'
import type { Outcome, Receipt } from '../../src/receipt/receipt.ts'
import { realReply, type RealEngine } from '../helpers/real-engine.ts'
import { sendChat, type ChatReply } from './chat-client.ts'
import { opencodeSession, type ChatBody, type Session } from './opencode.ts'
import { commonIds, fullBlocks, startWarmforkBefore } from './warmfork-before.ts'

/** Options of a request whose client streams and asks for usage. */
export const streamWithUsage = { stream: true, stream_options: { include_usage: true } }

export interface Forked {
  readonly reply: ChatReply
  readonly receipt: Receipt
  readonly outcome: Outcome
  /** Tokens of the main request. */
  readonly parentTokens: number
}

export interface ForkBench {
  /** A session whose main request has just ended well. */
  warmSession(t: Test, options: { readonly tokens: number, readonly reasoning?: boolean }): Promise<Session>
  /** Sends a session's summary request, which must be forked, and checks all that is claimed of it. */
  fork(t: Test, session: Session, placement: 'user' | 'tokens', options: object): Promise<Forked>
  /** Sends a session's summary request, whatever may come of it. */
  ask(session: Session, options: object): Promise<Omit<Forked, 'parentTokens'>>
  /** Sends the same summary request straight to the engine, which must be cold for it. */
  standalone(t: Test, session: Session, options: object): Promise<ChatReply>
}

export async function openForkBench(t: Test, engine: RealEngine): Promise<ForkBench> {
  const warmfork = await startWarmforkBefore(t, engine)
  const { recorder } = warmfork

  /** The ids that the engine itself prefills for a chat. */
  async function promptIds({ stream_options, ...chat }: ChatBody): Promise<number[]> {
    const { parts: [body] } = await sendChat(engine.url, toBytes({ ...chat, stream: false, max_tokens: 1, return_token_ids: true }))
    return body.prompt_token_ids
  }

  return {
    async warmSession(t, options) {
      const session = opencodeSession({ model: engine.model, reply: realReply, ...options })
      const main = toBytes(session.main)
      const reply = await sendChat(warmfork.url, main)
      t.equal(reply.finishReason, 'stop', 'the main request ends well')
      t.ok(recorder.sent.some(({ body }) => body.equals(main)), 'and reached the engine byte for byte')
      t.strictSame(claims(reply), {}, 'and has no receipt')
      return session
    },

    async fork(t, { main, summary }, placement, options) {
      const before = recorder.sent.length
      const reply = await sendChat(warmfork.url, toBytes({ ...summary, ...options }))
      const asked = warmfork.generationsSince(before)
      t.strictSame(claims(reply), { decision: 'forked', eligible: 'true', 'fork-sent': 'true', 'cache-hit-verified': 'false' })
      t.match(reply, { status: 200, whole: true, finishReason: 'stop' })
      t.equal(reply.text.trim(), realReply)

      t.equal(asked.length, 1, 'the engine was asked for one summary')
      const sent = JSON.parse(String(asked[0]!.body))
      if (placement === 'user') {
        t.ok(isDeepStrictEqual(sent.tools, main.tools), 'the fork has the tools that the summary request dropped')
        t.ok(isDeepStrictEqual(sent.messages.slice(0, main.messages.length), main.messages), 'and begins with the messages of the main request')
      }
      const parentIds = await promptIds(main)
      const forkIds: number[] = placement === 'user' ? await promptIds(sent) : sent.prompt
      const common = commonIds(parentIds, forkIds)
      t.equal(Number(reply.headers.get('x-warmfork-common-prefix-tokens')), common, 'the common prefix is the one of the ids that the engine prefilled')

      const { receipt, outcome } = await warmfork.logged(reply.headers.get('x-warmfork-receipt'))
      t.match(receipt, { decision: 'forked', eligible: true, fork_sent: true, cache_hit_verified: false, fallback_reason: null, placement }, 'the receipt says the same')
      t.match(receipt, { common_prefix_tokens: common, fork_tokens: forkIds.length, block_size: engine.blockSize }, 'and counts as the engine does')
      t.equal(receipt.reusable_tokens, fullBlocks(Math.min(common, forkIds.length - 1), engine), 'reusable are whole blocks')
      t.match(outcome, { valid: true, invalid_reason: null, finish_reason: 'stop', prompt_tokens: forkIds.length })
      t.equal(outcome.prompt_ids_confirmed, placement === 'user' ? true : null)
      t.comment(`parent ${parentIds.length} tokens, fork ${forkIds.length}, common ${common}, cached ${outcome.engine_cached_tokens}, planned in ${receipt.plan_ms} ms`)
      return { reply, receipt, outcome, parentTokens: parentIds.length }
    },

    async ask({ summary }, options) {
      const reply = await sendChat(warmfork.url, toBytes({ ...summary, ...options }))
      return { reply, ...await warmfork.logged(reply.headers.get('x-warmfork-receipt')) }
    },

    async standalone(t, { summary }, options) {
      const reply = await sendChat(engine.url, toBytes({ ...summary, ...options }))
      const { prompt_tokens, prompt_tokens_details: { cached_tokens } } = reply.usage!
      t.ok(cached_tokens < prompt_tokens * 0.05, `standalone is cold: ${cached_tokens} of ${prompt_tokens} tokens cached`)
      return reply
    },
  }
}

/** Whether any token ids are in a reply; vLLM leaves the members null where nobody asked. */
export function carriesIds({ parts }: ChatReply): boolean {
  return parts.some(part => part.prompt_token_ids || part.choices.some((choice: { token_ids?: number[] }) => choice.token_ids))
}

/** What the x-warmfork- headers say, without the receipt's id and the measured prefix. */
function claims({ headers }: ChatReply): Record<string, string> {
  const own = [...headers].filter(([name]) => name.startsWith('x-warmfork-')).map(([name, value]) => [name.slice('x-warmfork-'.length), value] as const)
  return Object.fromEntries(own.filter(([name]) => name !== 'receipt' && name !== 'common-prefix-tokens'))
}

function toBytes(body: object): Buffer {
  return Buffer.from(JSON.stringify(body))
}
