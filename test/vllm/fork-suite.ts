// Forks on a real engine: what warmfork claims about a fork, held against what the engine itself says.

import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { pino } from 'pino'
import type { Test } from 'tap'
import { startApp } from '../../src/app.ts'
import { configSchema } from '../../src/config.ts'
import { realReply, type RealEngine } from '../helpers/real-engine.ts'
import { sendChat, type ChatReply } from './chat-client.ts'
import { opencodeSession, summaryInstruction, type ChatBody, type Session } from './opencode.ts'
import { startRecorder } from './recorder.ts'

interface LogLine {
  readonly msg: string
  readonly [field: string]: any
}

interface Forked {
  readonly reply: ChatReply
  readonly receipt: LogLine
  readonly outcome: LogLine
}

/** @param engine of model `large`: its prefill is slow enough to be seen */
export async function forkSuite(t: Test, engine: RealEngine): Promise<void> {
  const recorder = await startRecorder(engine.url)
  const logged: LogLine[] = []
  const config = configSchema.parse({ upstream: { url: recorder.url }, server: { port: 0 }, admin: { port: 0 } })
  const app = await startApp(config, pino({}, { write: line => void logged.push(JSON.parse(line)) }))
  t.teardown(async () => {
    await app.close(0)
    await recorder.close()
  })

  /** A session of so many tokens whose main request has just ended well. */
  async function warmSession(t: Test, tokens: number): Promise<Session> {
    const session = opencodeSession(engine.model, tokens, realReply)
    const main = toBytes(session.main)
    const reply = await sendChat(app.url, main)
    t.equal(reply.finishReason, 'stop')
    t.ok(recorder.chats.some(chat => chat.equals(main)), 'the main request reached the engine byte for byte')
    t.notOk([...reply.headers.keys()].some(name => name.startsWith('x-warmfork-')), 'a main request has no receipt')
    t.comment(`parent: ${reply.usage?.prompt_tokens} tokens`)
    return session
  }

  /** Sends a summary request that must be forked, and checks the receipt against the wire and the engine. */
  async function fork(t: Test, { main, summary }: Session, options: object): Promise<Forked> {
    const before = recorder.chats.length
    const reply = await sendChat(app.url, toBytes({ ...summary, ...options }))
    const asked = recorder.chats.slice(before).filter(chat => chat.includes(JSON.stringify(summaryInstruction).slice(1, -1)))
    t.equal(asked.length, 1, 'the engine was asked for one summary')
    const sent: ChatBody = JSON.parse(String(asked[0]))

    t.equal(reply.status, 200)
    t.ok(reply.whole)
    t.equal(reply.text, realReply)
    t.equal(reply.finishReason, 'stop')
    t.strictSame(warmforkHeaders(reply), { decision: 'forked', eligible: 'true', 'fork-sent': 'true', 'cache-hit-verified': 'false' })

    t.strictSame(sent.tools, main.tools, 'the fork has the tools that the summary request dropped')
    t.ok(isDeepStrictEqual(sent.messages.slice(0, main.messages.length), main.messages), 'the fork begins with the messages of the main request')

    const [parentIds, forkIds] = [await promptIds(main), await promptIds(sent)]
    const common = commonPrefix(parentIds, forkIds)
    t.equal(Number(reply.headers.get('x-warmfork-common-prefix-tokens')), common, 'the common prefix is the one of the ids that the engine prefilled')

    const id = reply.headers.get('x-warmfork-receipt')
    const receipt = await line('receipt', id)
    const outcome = await line('outcome', id)
    t.match(receipt, { decision: 'forked', eligible: true, fork_sent: true, cache_hit_verified: false, fallback_reason: null, placement: 'user' })
    t.match(receipt, { common_prefix_tokens: common, fork_tokens: forkIds.length, block_size: engine.blockSize })
    t.equal(receipt.reusable_tokens, Math.floor(Math.min(common, forkIds.length - 1) / engine.blockSize) * engine.blockSize)
    t.match(outcome, { valid: true, invalid_reason: null, finish_reason: 'stop', prompt_ids_confirmed: true, prompt_tokens: forkIds.length })
    t.comment(`fork: ${forkIds.length} tokens, ${common} common, ${receipt.reusable_tokens} reusable, ${outcome.engine_cached_tokens} cached, planned in ${receipt.plan_ms} ms`)
    return { reply, receipt, outcome }
  }

  /** The same summary as the agent sent it, straight to the engine. */
  async function standalone(t: Test, { summary }: Session, options: object): Promise<ChatReply> {
    const reply = await sendChat(engine.url, toBytes({ ...summary, ...options }))
    const { prompt_tokens, prompt_tokens_details: { cached_tokens } } = reply.usage!
    t.ok(cached_tokens < prompt_tokens * 0.05, `standalone is cold: ${cached_tokens} of ${prompt_tokens} tokens cached`)
    return reply
  }

  /** The ids that the engine itself prefills for a chat. */
  async function promptIds(chat: ChatBody): Promise<number[]> {
    const { stream_options, ...kept } = chat
    const { parts: [body] } = await sendChat(engine.url, toBytes({ ...kept, stream: false, max_tokens: 1, return_token_ids: true }))
    return body.prompt_token_ids
  }

  async function line(msg: string, receipt: string | null): Promise<LogLine> {
    for (const deadline = Date.now() + 5_000; Date.now() < deadline; await sleep(20)) {
      const found = logged.find(entry => entry.msg === msg && entry.receipt === receipt)
      if (found) return found
    }
    throw new Error(`no ${msg} was logged for ${receipt}`)
  }

  await t.test('a summary of 2 000 tokens is forked', async t => {
    const session = await warmSession(t, 2_000)
    const { reply, receipt, outcome } = await fork(t, session, {})
    t.ok(outcome.engine_cached_tokens >= receipt.reusable_tokens, 'the engine had cached what the receipt said was reusable')
    t.equal(reply.usage?.prompt_tokens_details.cached_tokens, outcome.engine_cached_tokens)
    t.notOk(carriesIds(reply), 'the client, who did not ask for ids, sees none')
    await standalone(t, session, {})
  })

  let parent: Session
  await t.test('a streamed summary of 4 000 tokens is forked, and the client sees only what it asked for', async t => {
    parent = await warmSession(t, 4_000)
    const { reply, receipt, outcome } = await fork(t, parent, { stream: true })
    t.ok(outcome.engine_cached_tokens >= receipt.reusable_tokens, 'the engine had cached what the receipt said was reusable')
    t.equal(reply.usage, null, 'no usage in the stream')
    t.notOk(reply.parts.some(part => part.choices.length === 0), 'nor an event that held nothing else')
    t.notOk(carriesIds(reply), 'nor ids')
    await standalone(t, parent, { stream: true, stream_options: { include_usage: true } })
  })

  await t.test('a summary of 14 000 tokens begins ten times sooner as a fork', async t => {
    const session = await warmSession(t, 14_000)
    const asked = { stream: true, stream_options: { include_usage: true } }
    const { reply, receipt, outcome } = await fork(t, session, asked)
    t.ok(outcome.engine_cached_tokens >= receipt.reusable_tokens, 'the engine had cached what the receipt said was reusable')
    t.equal(reply.usage?.prompt_tokens_details.cached_tokens, outcome.engine_cached_tokens, 'the client, who asked for usage, sees it')
    t.notOk(carriesIds(reply))
    const cold = await standalone(t, session, asked)
    const times = cold.firstTokenMs! / reply.firstTokenMs!
    t.ok(times >= 10, `first token after ${ms(reply)} ms as a fork, after ${ms(cold)} ms standalone: ${times.toFixed(1)} times sooner`)
  })

  await t.test('behind a restarted engine a fork is no hit, and nobody says so', async t => {
    await engine.restart()
    const { reply, outcome } = await fork(t, parent, {})
    t.equal(reply.headers.get('x-warmfork-cache-hit-verified'), 'false')
    t.equal(outcome.engine_cached_tokens, 0, "the engine's 0 is reported as 0")
  })
}

function toBytes(body: object): Buffer {
  return Buffer.from(JSON.stringify(body))
}

function commonPrefix(a: readonly number[], b: readonly number[]): number {
  const end = a.findIndex((id, i) => id !== b[i])
  return end < 0 ? a.length : end
}

/** What the x-warmfork- headers say, without the receipt's id and the measured prefix. */
function warmforkHeaders({ headers }: ChatReply): Record<string, string> {
  const own = [...headers].filter(([name]) => name.startsWith('x-warmfork-')).map(([name, value]) => [name.slice('x-warmfork-'.length), value] as const)
  return Object.fromEntries(own.filter(([name]) => name !== 'receipt' && name !== 'common-prefix-tokens'))
}

/** Whether any token ids are in the reply; vLLM leaves the members null where nobody asked. */
function carriesIds({ parts }: ChatReply): boolean {
  return parts.some(part => part.prompt_token_ids || part.choices.some((choice: { token_ids?: number[] }) => choice.token_ids))
}

function ms({ firstTokenMs }: ChatReply): string {
  return firstTokenMs!.toFixed(0)
}
