// /v1/messages: what it prefills, caches and sends, key by key in vLLM 0.32's order.

import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import { cachedTokens, chat, complete, type ContractEngine, freshText, type HttpAnswer, post, reusable, tokenize } from './http.ts'

const path = '/v1/messages'
const messages = [{ role: 'user', content: 'Say something.' }]
const tool = { name: 'look', description: 'Looks.', input_schema: { type: 'object', properties: { at: { type: 'string' } } } }

/** Blocks, and the chat that they are. */
const conversation = {
  system: [{ type: 'text', text: 'x-anthropic-billing-header: cc_version=1.a2;' }, { type: 'text', text: 'Work in this folder.', cache_control: { type: 'ephemeral' } }, { type: 'text', text: ' Be brief.' }],
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'Look at a.' }, { type: 'text', text: 'And b.', cache_control: { type: 'ephemeral' } }] },
    { role: 'system', content: 'It is late.' },
    { role: 'assistant', content: [
      { type: 'thinking', thinking: 'I look.', signature: 'c2ln' }, { type: 'redacted_thinking', data: 'eA==' }, { type: 'text', text: 'Looking.' },
      { type: 'tool_use', id: 'c1', name: 'look', input: { at: 'a', n: 1.5 } }, { type: 'tool_use', id: 'c2', name: 'look', input: {} },
    ] },
    { role: 'user', content: [
      { type: 'tool_result', tool_use_id: 'c1', content: 'A' }, { type: 'tool_result', tool_use_id: 'c2', content: [{ type: 'text', text: 'B' }, { type: 'text', text: 'C' }], is_error: true },
      { type: 'text', text: 'Go on.' },
    ] },
  ],
  tools: [tool, { name: 'list', input_schema: { properties: {} }, cache_control: { type: 'ephemeral' }, defer_loading: true, strict: false }],
}
const asChat = {
  messages: [
    { role: 'system', content: 'Work in this folder. Be brief.' },
    { role: 'user', content: [{ type: 'text', text: 'Look at a.' }, { type: 'text', text: 'And b.' }] },
    { role: 'system', content: 'It is late.' },
    { role: 'assistant', content: 'Looking.', reasoning: 'I look.', tool_calls: [
      { id: 'c1', type: 'function', function: { name: 'look', arguments: '{"at": "a", "n": 1.5}' } }, { id: 'c2', type: 'function', function: { name: 'look', arguments: '{}' } },
    ] },
    { role: 'tool', tool_call_id: 'c1', content: 'A' },
    { role: 'tool', tool_call_id: 'c2', content: 'B\nC' },
    { role: 'user', content: 'Go on.' },
  ],
  tools: [
    { type: 'function', function: { name: 'look', description: 'Looks.', parameters: tool.input_schema } },
    { type: 'function', function: { name: 'list', defer_loading: true, parameters: { properties: {}, type: 'object' }, strict: false } },
  ],
}

async function message(engine: ContractEngine, body: object): Promise<any> {
  const answer = await post(engine, path, { max_tokens: 1, ...body })
  if (answer.status !== 200) throw new Error(`messages: ${answer.status} ${answer.text}`)
  return answer.json
}

/** All tokens of the prompt that a usage counts. */
const promptTokens = ({ usage }: any): number => usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0)

/** The events of a stream that ended well. */
function eventsOf(t: Test, { status, headers, text }: HttpAnswer): any[] {
  t.equal(status, 200)
  t.equal(headers['content-type'], 'text/event-stream; charset=utf-8')
  const events = text.split('\n\n').slice(0, -1).map((event) => {
    const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(event)!
    const json = JSON.parse(data!)
    if (json.type !== name) t.equal(json.type, name)
    return json
  })
  t.equal(events[0]?.type, 'message_start')
  t.strictSame(events.at(-1), { type: 'message_stop' }, 'the last event, and no [DONE]')
  return events
}

const sizeIn = (engine: ContractEngine): number => engine.blockSize * 3 + Math.floor(engine.blockSize / 2)

export async function messagesEndpoint(t: Test, engine: ContractEngine): Promise<void> {
  await t.test('the chat that a request is made into is what it prefills', async (t) => {
    const ids = await tokenize(engine, asChat)
    t.equal(promptTokens(await message(engine, conversation)), ids.length)
    t.equal(promptTokens(await message(engine, { ...conversation, tool_choice: { type: 'none' } })), ids.length, 'tool_choice none leaves the tools')
    const counted = await post(engine, `${path}/count_tokens`, { ...conversation, thinking: { type: 'enabled', budget_tokens: 2_000 } })
    t.strictSame(counted.json, { input_tokens: ids.length, context_management: { original_input_tokens: ids.length } })
    const plain = await tokenize(engine, { messages })
    t.equal(promptTokens(await message(engine, { messages, tools: [], thinking: { type: 'adaptive' }, context_management: { edits: [] } })), plain.length)
    const unthinking = await tokenize(engine, { messages, chat_template_kwargs: { enable_thinking: false, reasoning_effort: 'none' } })
    t.equal(promptTokens(await message(engine, { messages, thinking: { type: 'disabled' }, output_config: { effort: 'high' } })), unthinking.length)
  })

  await t.test('a salt of their own shows which ids a message prefills: what a completion of those ids finds cached', async (t) => {
    const salt = randomUUID()
    const long = { ...conversation, messages: [...conversation.messages, { role: 'assistant', content: 'Yes.' }, { role: 'user', content: freshText(sizeIn(engine)) }] }
    const ids = await tokenize(engine, { ...asChat, messages: [...asChat.messages, { role: 'assistant', content: 'Yes.' }, long.messages.at(-1)] })
    t.equal(cachedTokens(await complete(engine, ids, { cache_salt: salt })), 0)
    const other = randomUUID()
    await message(engine, { ...long, cache_salt: other })
    t.equal(cachedTokens(await complete(engine, [...ids, 100], { cache_salt: other })), Math.floor(ids.length / engine.blockSize) * engine.blockSize)
  })

  await t.test('a message', async (t) => {
    const { headers, json } = await post(engine, path, { messages, max_tokens: 400, tools: [tool], metadata: { user_id: 'u' } })
    t.equal(headers['content-type'], 'application/json')
    t.strictSame(Object.keys(json), ['id', 'type', 'role', 'content', 'model', 'stop_reason', 'usage'], 'null is left out')
    t.match(json, { id: /^chatcmpl-/, type: 'message', role: 'assistant', stop_reason: 'end_turn' })
    t.strictSame(Object.keys(json.usage), ['input_tokens', 'output_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'])
    t.ok(promptTokens(json) > 0)
    const [thinking, said] = engine.thinks ? json.content : [null, ...json.content]
    t.strictSame(Object.keys(said), ['type', 'text'])
    if (!engine.thinks) return
    t.strictSame(Object.keys(thinking), ['type', 'thinking', 'signature'])
    t.match(thinking, { type: 'thinking', thinking: /\S/, signature: /^[0-9a-f]{32}$/ })
  })

  await t.test('a streamed message: blocks start, grow and stop', async (t) => {
    const whole = (await post(engine, path, { messages, max_tokens: 400 })).json
    const events = eventsOf(t, await post(engine, path, { messages, max_tokens: 400, stream: true }))
    const types = events.map(({ type }) => type).filter((type, i, all) => type !== all[i - 1])
    const block = ['content_block_start', 'content_block_delta', 'content_block_stop']
    t.strictSame(types, ['message_start', ...(engine.thinks ? block : []), ...block, 'message_delta', 'message_stop'])
    t.strictSame(Object.keys(events[0].message), ['id', 'type', 'role', 'content', 'model', 'stop_reason', 'stop_sequence', 'usage'])
    t.match(events[0].message, { content: [], stop_reason: null, stop_sequence: null, usage: { output_tokens: 0, input_tokens: promptTokens(whole) } }, 'the first event counts the whole prompt')
    const starts = events.filter(({ type }) => type === 'content_block_start')
    t.strictSame(starts, [...(engine.thinks ? [{ type: 'thinking', thinking: '' }] : []), { type: 'text', text: '' }].map((content_block, index) => ({ type: 'content_block_start', content_block, index })))
    const deltas = (kind: string, key: string): string => events.filter(({ delta }) => delta?.type === kind).map(({ delta }) => delta[key]).join('')
    t.equal(deltas('text_delta', 'text'), whole.content.at(-1).text, 'the same text as not streamed')
    if (engine.thinks) {
      t.equal(deltas('thinking_delta', 'thinking'), whole.content[0].thinking)
      t.match(deltas('signature_delta', 'signature'), /^[0-9a-f]{32}$/, 'one signature, before the block stops')
    }
    const delta = events.find(({ type }) => type === 'message_delta')
    t.strictSame(delta.delta, { stop_reason: 'end_turn', stop_sequence: null })
    t.equal(promptTokens(delta), promptTokens(whole))
    t.equal(delta.usage.output_tokens, whole.usage.output_tokens)
  })

  await t.test('a limit stops it with max_tokens', async (t) => {
    t.match(await message(engine, { messages, max_tokens: 2 }), { stop_reason: 'max_tokens', usage: { output_tokens: 2 } })
    const events = eventsOf(t, await post(engine, path, { messages, max_tokens: 2, stream: true }))
    t.strictSame(events.at(-2).delta, { stop_reason: 'max_tokens', stop_sequence: null })
  })

  await t.test('one prefix cache with chat; its usage counts cached tokens apart', async (t) => {
    const fresh = [{ role: 'user', content: freshText(sizeIn(engine)) }]
    const ids = (await chat(engine, { messages: fresh })).prompt_token_ids
    const warm = reusable(ids.length, ids.length, engine.blockSize)
    const again = await message(engine, { messages: fresh })
    t.equal(again.usage.cache_read_input_tokens, warm)
    t.equal(promptTokens(again), ids.length)
    const events = eventsOf(t, await post(engine, path, { messages: fresh, max_tokens: 1, stream: true }))
    t.equal(events.at(-2).usage.cache_read_input_tokens, warm)
    t.equal(promptTokens(events.at(-2)), ids.length)
    const other = [{ role: 'user', content: freshText(sizeIn(engine)) }]
    const length = promptTokens(await message(engine, { messages: other }))
    t.equal(cachedTokens(await chat(engine, { messages: other })), reusable(length, length, engine.blockSize))
    t.equal((await message(engine, { messages: fresh, cache_salt: 'salt' })).usage.cache_read_input_tokens, 0, 'a salt separates')
  })

  await t.test('what is refused', async (t) => {
    const rows: Readonly<Record<string, readonly [body: object, form: 'anthropic' | 'fastapi']>> = {
      'no limit': [{ messages }, 'fastapi'],
      'no messages': [{ max_tokens: 1 }, 'fastapi'],
      'a role that is not there': [{ messages: [{ role: 'tool', content: 'a' }], max_tokens: 1 }, 'fastapi'],
      'a tool of a server': [{ messages, max_tokens: 1, tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, 'fastapi'],
      'a limit of nothing': [{ messages, max_tokens: 0 }, 'fastapi'],
      'a budget of thinking over the limit': [{ messages, max_tokens: 1_024, thinking: { type: 'enabled', budget_tokens: 1_024 } }, 'fastapi'],
      'an empty conversation': [{ messages: [], max_tokens: 1 }, 'anthropic'],
      'a limit over the window': [{ messages, max_tokens: 100_000_000 }, 'anthropic'],
    }
    for (const [name, [body, form]] of Object.entries(rows)) {
      for (const stream of [false, true]) {
        const answer = await post(engine, path, { ...body, stream })
        t.equal(answer.status, 400, name)
        t.strictSame(Object.keys(answer.json), form === 'anthropic' ? ['type', 'error'] : ['error'], name)
        t.strictSame(Object.keys(answer.json.error), form === 'anthropic' ? ['type', 'message'] : ['message', 'type', 'param', 'code'], name)
      }
    }
    t.match((await post(engine, path, { model: 'none', messages, max_tokens: 1 })), { status: 404 })
  })

  await t.test('the render endpoint is authoritative, or says that it is off', async (t) => {
    const answer = await post(engine, `${path}/render`, { max_tokens: 1, ...conversation })
    t.equal(answer.status, engine.scaleOut === true ? 200 : 403)
    if (engine.scaleOut === true) t.strictSame(answer.json.token_ids, await tokenize(engine, asChat))
  })
}
