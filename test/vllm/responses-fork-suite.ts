// Forks on /v1/responses: a session in Codex's shape, streamed. Its compaction has every item and `tools: []`; what the
// receipt says is held against the ids that the engine says it prefilled.

import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import { conversation } from '../helpers/conversation.ts'
import { spokenResponses } from '../helpers/endpoints/responses.ts'
import { realReply, salted, type RealEngine } from '../helpers/real-engine.ts'
import { eventData } from '../helpers/warmfork.ts'
import { commonIds, fullBlocks, startWarmforkBefore } from './warmfork-before.ts'

const path = '/v1/responses'

interface Answer {
  readonly headers: Headers
  readonly events: readonly any[]
  readonly response: any
  readonly text: string
  readonly firstTokenMs: number
}

/** @param options.placement how a fork of this model's thinking conversations is placed */
export async function responsesForkSuite(t: Test, engine: RealEngine, { reasoning = false, placement = 'user', tokens = 6_000 } = {}): Promise<void> {
  const warmfork = await startWarmforkBefore(t, engine)
  const { recorder } = warmfork

  async function send(origin: string, body: Buffer, kind: string): Promise<Answer> {
    const sentAt = performance.now()
    const reply = await fetch(origin + path, { method: 'POST', body, headers: {
      'content-type': 'application/json', 'x-codex-turn-metadata': JSON.stringify({ request_kind: kind }),
    } })
    let text = ''
    let firstTokenMs = 0
    for await (const piece of reply.body!.pipeThrough(new TextDecoderStream())) {
      text += piece
      if (firstTokenMs === 0 && text.includes('response.output_item.added')) firstTokenMs = performance.now() - sentAt
    }
    const events = eventData(text).map(data => JSON.parse(data))
    return { headers: reply.headers, events, response: events.at(-1)?.response, text: spokenResponses.read(eventData(text)).content, firstTokenMs }
  }

  /** The ids that the engine says it prefills for a body. */
  async function prefilled(body: Buffer): Promise<number[]> {
    const reply = await fetch(engine.url + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({
      ...JSON.parse(String(body)), stream: false, max_output_tokens: 1, enable_response_messages: true,
    }) })
    return (await reply.json() as any).input_messages[0].tokens
  }

  await t.test(`a compaction of a session of ${tokens} tokens`, async t => {
    const { main, summary } = codexSession(engine.model, { tokens, reasoning })
    const first = await send(warmfork.url, main, 'turn')
    t.equal(first.response?.status, 'completed', 'the main request ends well')
    t.equal(first.headers.get('x-warmfork-receipt'), null, 'and has no receipt')
    t.ok(recorder.sent.some(({ body }) => body.equals(main)), 'and reached the engine byte for byte')

    const before = recorder.sent.length
    const fork = await send(warmfork.url, summary, 'compaction')
    t.equal(fork.headers.get('x-warmfork-decision'), 'forked')
    t.match(fork.response, { status: 'completed', input_messages: null, output_messages: null, incomplete_details: null }, 'the client sees a response, and no ids that it did not ask for')
    t.equal(fork.text.trim(), realReply)
    t.equal(fork.events.at(-1).type, 'response.completed')
    t.ok(fork.events.every(({ sequence_number: number }, i) => number === i))

    const id = fork.headers.get('x-warmfork-receipt')
    const { receipt, outcome } = await warmfork.logged(id)
    t.match(receipt, { agent: 'codex', endpoint: path, decision: 'forked', eligible: true, fork_sent: true, fallback_reason: null, placement, proof: 'tokenize', block_size: engine.blockSize })
    const [sent, ...more] = warmfork.generationsSince(before).map(({ body }) => body)
    t.equal(more.length, 0, 'the engine was asked once')
    const [mainIds, summaryIds] = [await prefilled(main), await prefilled(summary)]
    const forkIds: number[] = placement === 'user' ? await prefilled(sent!) : JSON.parse(String(sent)).prompt
    const common = commonIds(mainIds, forkIds)
    t.equal(Number(fork.headers.get('x-warmfork-common-prefix-tokens')), common, 'the common prefix is that of the ids which the engine prefills')
    t.match(receipt, { common_prefix_tokens: common, fork_tokens: forkIds.length, reusable_tokens: fullBlocks(Math.min(common, forkIds.length - 1), engine) })
    t.ok(common > mainIds.length - 10, 'all of the main request but its generation prompt')
    t.ok(outcome.engine_cached_tokens! >= receipt.reusable_tokens!, 'all its full blocks were cached')
    t.match(outcome, { valid: true, finish_reason: 'stop', prompt_tokens: forkIds.length, prompt_ids_confirmed: placement === 'user' ? true : null })

    await send(engine.url, salted(main, id!), 'turn')
    const alone = await send(engine.url, salted(summary, id!), 'compaction')
    const usage = alone.response.usage
    const shared = commonIds(mainIds, summaryIds)
    t.equal(usage.input_tokens, summaryIds.length)
    t.ok(usage.input_tokens_details.cached_tokens <= shared, 'the same request as it came shares what stands in front of the tools')
    t.ok(usage.input_tokens_details.cached_tokens < usage.input_tokens * 0.05)
    t.comment(`main ${mainIds.length} tokens, fork ${forkIds.length}, common ${common}, cached ${outcome.engine_cached_tokens}, first item after ${Math.round(fork.firstTokenMs)} ms; ` +
      `as it came ${summaryIds.length}, common ${shared}, cached ${usage.input_tokens_details.cached_tokens}, first item after ${Math.round(alone.firstTokenMs)} ms`)
  })
}

/** A session that no engine has seen before, and its compaction: `tools: []`, one trailing user message. */
function codexSession(model: string, { tokens, reasoning }: { tokens: number, reasoning: boolean }): { main: Buffer, summary: Buffer } {
  const { messages: [front, ...turns], tools } = conversation({ seed: randomUUID(), tokens, groups: Math.round(tokens / 350), ...(reasoning ? { reasoning: 'reasoning' as const } : {}) })
  const messages = [{ ...front!, role: 'developer' as const }, ...turns]
  const options = { tool_choice: 'auto', parallel_tool_calls: true, reasoning: { summary: 'auto' }, store: false, stream: true, include: ['reasoning.encrypted_content'], prompt_cache_key: randomUUID() }
  const main = spokenResponses.write({ model, messages, tools }) as { input: object[], tools: object[] }
  const shaped = { ...options, ...main, tools: [...main.tools.map(tool => ({ ...tool, strict: false })), { type: 'web_search' }, { type: 'namespace', name: 'agents', description: 'Other agents.', tools: [main.tools[0]] }] }
  const said = { type: 'message', role: 'assistant', status: 'completed', id: 'msg_1', content: [{ type: 'output_text', text: realReply, annotations: [] }] }
  const asked = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'You are performing a CONTEXT CHECKPOINT COMPACTION. Say what was done, what is open, and which files matter.' }] }
  return {
    main: Buffer.from(JSON.stringify(shaped)),
    summary: Buffer.from(JSON.stringify({ ...shaped, input: [...main.input, said, asked], tools: [], parallel_tool_calls: false })),
  }
}
