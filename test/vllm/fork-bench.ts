// warmfork before a real engine, with a recorder between them: sends sessions through, and holds every receipt against
// what the engine got and what it says itself.

import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { pino } from 'pino'
import type { Test } from 'tap'
import { startApp } from '../../src/app.ts'
import { configSchema } from '../../src/config.ts'
import { realReply, type RealEngine } from '../helpers/real-engine.ts'
import { sendChat, type ChatReply } from './chat-client.ts'
import { opencodeSession, summaryInstruction, type ChatBody, type Session } from './opencode.ts'
import { startRecorder, type Sent } from './recorder.ts'

/** Options of a request whose client streams and asks for usage. */
export const streamWithUsage = { stream: true, stream_options: { include_usage: true } }

export interface LogLine {
  readonly msg: string
  readonly [field: string]: any
}

export interface Forked {
  readonly reply: ChatReply
  readonly receipt: LogLine
  readonly outcome: LogLine
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
  const recorder = await startRecorder(engine.url)
  const logged: LogLine[] = []
  const config = configSchema.parse({
    upstream: { url: recorder.url },
    server: { port: 0 },
    admin: { port: 0 },
    // The engine shares two cores with this test: its answers take their time, above all after its start.
    proof: { timeout_ms: 60_000 },
  })
  const app = await startApp(config, pino({}, { write: line => void logged.push(JSON.parse(line)) }))
  t.teardown(async () => {
    await app.close(0)
    await recorder.close()
  })

  /** The ids that the engine itself prefills for a chat. */
  async function promptIds({ stream_options, ...chat }: ChatBody): Promise<number[]> {
    const { parts: [body] } = await sendChat(engine.url, toBytes({ ...chat, stream: false, max_tokens: 1, return_token_ids: true }))
    return body.prompt_token_ids
  }

  async function line(msg: string, receipt: string | null): Promise<LogLine> {
    for (const deadline = Date.now() + 5_000; Date.now() < deadline; await sleep(20)) {
      const found = logged.find(entry => entry.msg === msg && entry.receipt === receipt)
      if (found) return found
    }
    throw new Error(`no ${msg} was logged for ${receipt}`)
  }

  return {
    async warmSession(t, options) {
      const session = opencodeSession({ model: engine.model, reply: realReply, ...options })
      const main = toBytes(session.main)
      const reply = await sendChat(app.url, main)
      t.equal(reply.finishReason, 'stop', 'the main request ends well')
      t.ok(recorder.sent.some(({ body }) => body.equals(main)), 'and reached the engine byte for byte')
      t.strictSame(claims(reply), {}, 'and has no receipt')
      return session
    },

    async fork(t, { main, summary }, placement, options) {
      const before = recorder.sent.length
      const reply = await sendChat(app.url, toBytes({ ...summary, ...options }))
      const asked = recorder.sent.slice(before).filter(asksForSummary)
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
      const common = commonPrefix(parentIds, forkIds)
      t.equal(Number(reply.headers.get('x-warmfork-common-prefix-tokens')), common, 'the common prefix is the one of the ids that the engine prefilled')

      const id = reply.headers.get('x-warmfork-receipt')
      const receipt = await line('receipt', id)
      const outcome = await line('outcome', id)
      t.match(receipt, { decision: 'forked', eligible: true, fork_sent: true, cache_hit_verified: false, fallback_reason: null, placement }, 'the receipt says the same')
      t.match(receipt, { common_prefix_tokens: common, fork_tokens: forkIds.length, block_size: engine.blockSize }, 'and counts as the engine does')
      t.equal(receipt.reusable_tokens, Math.floor(Math.min(common, forkIds.length - 1) / engine.blockSize) * engine.blockSize, 'reusable are whole blocks')
      t.match(outcome, { valid: true, invalid_reason: null, finish_reason: 'stop', prompt_tokens: forkIds.length })
      t.equal(outcome.prompt_ids_confirmed, placement === 'user' ? true : null)
      t.comment(`parent ${parentIds.length} tokens, fork ${forkIds.length}, common ${common}, cached ${outcome.engine_cached_tokens}, planned in ${receipt.plan_ms} ms`)
      return { reply, receipt, outcome, parentTokens: parentIds.length }
    },

    async ask({ summary }, options) {
      const reply = await sendChat(app.url, toBytes({ ...summary, ...options }))
      const id = reply.headers.get('x-warmfork-receipt')
      return { reply, receipt: await line('receipt', id), outcome: await line('outcome', id) }
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

function asksForSummary({ path, body }: Sent): boolean {
  return path === '/v1/completions' || (path === '/v1/chat/completions' && body.includes(JSON.stringify(summaryInstruction).slice(1, -1)))
}

/** What the x-warmfork- headers say, without the receipt's id and the measured prefix. */
function claims({ headers }: ChatReply): Record<string, string> {
  const own = [...headers].filter(([name]) => name.startsWith('x-warmfork-')).map(([name, value]) => [name.slice('x-warmfork-'.length), value] as const)
  return Object.fromEntries(own.filter(([name]) => name !== 'receipt' && name !== 'common-prefix-tokens'))
}

function toBytes(body: object): Buffer {
  return Buffer.from(JSON.stringify(body))
}

function commonPrefix(a: readonly number[], b: readonly number[]): number {
  const end = a.findIndex((id, i) => id !== b[i])
  return end < 0 ? a.length : end
}
