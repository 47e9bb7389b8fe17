// /v1/messages before a real vLLM: a session in Claude Code's shape, streamed, whose compaction is warm as it came, and
// one of another shape that is forked. What receipts say is held against what the engine says that it had cached.

import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import { conversation } from '../helpers/conversation.ts'
import { spokenMessages } from '../helpers/endpoints/messages.ts'
import { realReply, salted, type RealEngine } from '../helpers/real-engine.ts'
import { eventData } from '../helpers/warmfork.ts'
import { fullBlocks, startWarmforkBefore } from './warmfork-before.ts'

const path = '/v1/messages'

interface Answer {
  readonly headers: Headers
  readonly events: readonly any[]
  readonly text: string
  /** Of the last usage. */
  readonly promptTokens: number
  readonly cachedTokens: number
}

/** @param options.placement how a fork of this model's thinking conversations is placed */
export async function messagesForkSuite(t: Test, engine: RealEngine, { reasoning = false, placement = 'user', tokens = 6_000 } = {}): Promise<void> {
  const warmfork = await startWarmforkBefore(t, engine)
  const { recorder } = warmfork

  async function send(origin: string, body: Buffer, headers: Record<string, string> = {}): Promise<Answer> {
    const reply = await fetch(`${origin}${path}?beta=true`, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } })
    const data = eventData(await reply.text())
    const events = data.map((json) => JSON.parse(json))
    const usage = events.find(({ type }) => type === 'message_delta')?.usage ?? {}
    const cachedTokens = usage.cache_read_input_tokens ?? 0
    return { headers: reply.headers, events, text: spokenMessages.read(data).content, cachedTokens, promptTokens: usage.input_tokens + cachedTokens + (usage.cache_creation_input_tokens ?? 0) }
  }

  await t.test(`a compaction of a session of ${tokens} tokens in Claude Code's shape`, async (t) => {
    const { main, summary } = claudeSession(engine.model, { tokens, reasoning })
    const first = await send(warmfork.url, main)
    t.equal(first.events.at(-1)?.type, 'message_stop', 'the main request ends well')
    t.equal(first.headers.get('x-warmfork-receipt'), null, 'and has no receipt')

    const since = recorder.sent.length
    const warm = await send(warmfork.url, summary)
    const id = warm.headers.get('x-warmfork-receipt')
    const { receipt, outcome } = await warmfork.logged(id)
    t.match(receipt, { agent: 'claude-code', endpoint: path, decision: reasoning ? 'forked' : 'already_warm', proof: 'tokenize', block_size: engine.blockSize })
    t.equal(warm.text.trim(), realReply)
    const generations = warmfork.generationsSince(since)
    t.equal(generations.length, 1, 'the engine was asked once')
    t.match(outcome, { valid: true, finish_reason: 'stop', prompt_tokens: warm.promptTokens, engine_cached_tokens: warm.cachedTokens })
    t.comment(`main ${first.promptTokens} tokens, summary ${warm.promptTokens}, ${receipt.decision}, common ${receipt.common_prefix_tokens}, reusable ${receipt.reusable_tokens}, cached ${warm.cachedTokens}`)
    t.ok(receipt.reusable_tokens! > first.promptTokens * 0.9, 'nearly all of the main request')
    t.ok(warm.cachedTokens >= receipt.reusable_tokens!, 'all its full blocks were cached')
    if (!reasoning) {
      t.ok(generations[0]!.body.equals(summary), 'byte for byte')
      t.equal(receipt.reusable_tokens, fullBlocks(Math.min(receipt.common_prefix_tokens!, warm.promptTokens - 1), engine))
      t.ok(warm.cachedTokens <= fullBlocks(first.promptTokens + 60, engine), 'and little more')
    }

    const alone = await send(engine.url, salted(main, id!))
    t.equal(alone.cachedTokens, 0)
    const direct = await send(engine.url, salted(summary, id!))
    t.comment(`without warmfork ${direct.cachedTokens} of ${direct.promptTokens} cached`)
    // Behind a new question the template drops what was thought before: all behind the first thought is another prompt then.
    if (reasoning) t.ok(direct.cachedTokens < warm.cachedTokens / 2, 'as it came it shares little')
    else t.equal(direct.cachedTokens, warm.cachedTokens, 'without warmfork as many are cached')
  })

  await t.test('a compaction with another system text and no tools is forked', async (t) => {
    const { main, messages } = claudeSession(engine.model, { tokens, reasoning })
    const first = await send(warmfork.url, main)
    const { tools: _tools, system: _system, ...options } = JSON.parse(String(main))
    const asked = { role: 'user', content: 'Provide a detailed summary of our conversation above. Say what was done, what is open and which files matter.' }
    const summary = Buffer.from(JSON.stringify({ ...options, system: 'You summarise conversations.', messages: [...messages, { role: 'assistant', content: [{ type: 'text', text: realReply }] }, asked] }))
    const since = recorder.sent.length
    const fork = await send(warmfork.url, summary, { 'x-warmfork-request': 'summary' })
    const id = fork.headers.get('x-warmfork-receipt')
    const { receipt, outcome } = await warmfork.logged(id)
    t.match(receipt, { endpoint: path, decision: 'forked', fork_sent: true, placement, proof: 'tokenize' })
    t.equal(fork.text.trim(), realReply)
    t.equal(fork.events.at(-1)?.type, 'message_stop')
    t.ok(receipt.reusable_tokens! > first.promptTokens * 0.9, 'nearly all of the main request')
    t.ok(outcome.engine_cached_tokens! >= receipt.reusable_tokens!, 'all its full blocks were cached')
    t.match(outcome, { valid: true, finish_reason: 'stop', prompt_tokens: receipt.fork_tokens })
    t.equal(receipt.fork_tokens, fork.promptTokens, 'as many tokens as the engine tells the client')
    t.equal(warmfork.generationsSince(since).length, 1, 'the engine was asked once')
    t.comment(`fork ${receipt.fork_tokens} tokens, common ${receipt.common_prefix_tokens}, cached ${outcome.engine_cached_tokens}`)
  })
}

/** A session that no engine has seen before, and its compaction: one more text in its last message, the marks moved. */
function claudeSession(model: string, { tokens, reasoning }: { tokens: number, reasoning: boolean }): { main: Buffer, summary: Buffer, messages: any[] } {
  const { messages: said, tools } = conversation({ seed: randomUUID(), tokens, groups: Math.round(tokens / 350), ...(reasoning ? { reasoning: 'reasoning' as const } : {}) })
  const written = spokenMessages.write({ model, messages: said, tools }) as { system: string, messages: any[], tools: any[] }
  const shaped = (version: string): object => ({
    model, max_tokens: 4_000, stream: true, metadata: { user_id: '{"session_id":"a"}' }, context_management: { edits: [] }, thinking: { type: 'adaptive', display: 'omitted' }, output_config: { effort: 'high' },
    system: [{ type: 'text', text: `x-anthropic-billing-header: cc_version=${version};` }, { type: 'text', text: written.system, cache_control: { type: 'ephemeral' } }],
    tools: written.tools.map((tool, i) => (i === 0 ? { ...tool, defer_loading: true } : tool)),
  })
  const withMark = (messages: readonly any[], at: number): any[] => messages.map((message, i) => (i === at && Array.isArray(message.content)
    ? { ...message, content: message.content.map((block: object, j: number) => (j === message.content.length - 1 ? { ...block, cache_control: { type: 'ephemeral' } } : block)) }
    : message))
  // It says inline what it is about.
  const messages = [written.messages[0], { role: 'system', content: 'The folder is /work. It is late.' }, ...written.messages.slice(1)]
  const last = messages.at(-1)
  const asked = { ...last, content: [...last.content, { type: 'text', text: 'CRITICAL: Respond with TEXT ONLY. Say what was done, what is open, and which files matter.' }] }
  return {
    main: Buffer.from(JSON.stringify({ ...shaped('1.a'), messages: withMark(messages, messages.length - 1) })),
    summary: Buffer.from(JSON.stringify({ ...shaped('1.b'), messages: [...withMark(messages.slice(0, -1), messages.length - 2), asked] })),
    messages,
  }
}
