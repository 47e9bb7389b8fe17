// /v1/responses: what it prefills, caches and sends, key by key in vLLM 0.32's order.

import type { Test } from 'tap'
import { cachedTokens, chat, type ContractEngine, freshText, get, type HttpAnswer, post, reusable, tokenize } from './http.ts'

const path = '/v1/responses'
const input = 'Say something.'
const tool = { type: 'function', name: 'look', description: 'Looks.', parameters: { type: 'object', properties: { at: { type: 'string' } } } }

const responseKeys = [
  'id', 'created_at', 'incomplete_details', 'instructions', 'metadata', 'model', 'object', 'output', 'parallel_tool_calls', 'temperature', 'tool_choice',
  'tools', 'top_p', 'background', 'max_output_tokens', 'max_tool_calls', 'previous_response_id', 'prompt', 'reasoning', 'service_tier', 'status', 'text',
  'top_logprobs', 'truncation', 'usage', 'user', 'presence_penalty', 'frequency_penalty', 'kv_transfer_params', 'ec_transfer_params', 'input_messages', 'output_messages',
]
const usageKeys = ['input_tokens', 'input_tokens_details', 'output_tokens', 'output_tokens_details', 'total_tokens']
const messageKeys = ['id', 'content', 'role', 'status', 'type', 'phase']
const thinkingKeys = ['id', 'summary', 'type', 'content', 'encrypted_content', 'status']

/** Items, and the chat that they are. */
const conversation = {
  input: [
    { role: 'developer', content: [{ type: 'input_text', text: 'Work in this folder.' }] },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Look at a.' }, { type: 'input_text', text: 'And b.' }] },
    { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'I look.' }] },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Looking.' }] },
    { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{"at": "a", "n": 1.0}' },
    { type: 'custom_tool_call', call_id: 'c2', name: 'patch', input: 'a "b"\n' },
    { type: 'function_call_output', call_id: 'c1', output: 'A' },
    { type: 'custom_tool_call_output', call_id: 'c2', output: 'B' },
  ],
  tools: [{ ...tool, strict: false }, { type: 'custom', name: 'patch', description: 'Patches.' }, { type: 'namespace', name: 'far', description: 'Far.', tools: [{ ...tool, name: 'fly' }] }, { type: 'web_search' }],
}
const asChat = {
  messages: [
    { role: 'developer', content: 'Work in this folder.' },
    { role: 'user', content: [{ type: 'text', text: 'Look at a.' }, { type: 'text', text: 'And b.' }] },
    { role: 'assistant', content: 'Looking.', reasoning: 'I look.', tool_calls: [
      { id: 'c1', type: 'function', function: { name: 'look', arguments: '{"at": "a", "n": 1.0}' } },
      { id: 'c2', type: 'function', function: { name: 'patch', arguments: '{"input": "a \\"b\\"\\n"}' } },
    ] },
    { role: 'tool', tool_call_id: 'c1', content: 'A' },
    { role: 'tool', tool_call_id: 'c2', content: 'B' },
  ],
  tools: [
    { type: 'function', function: { name: 'look', description: 'Looks.', parameters: tool.parameters, strict: false } },
    { type: 'function', function: { name: 'patch', description: 'Patches.', parameters: { type: 'object', properties: { input: { type: 'string', description: 'The freeform text payload for this tool.' } }, required: ['input'], additionalProperties: false } } },
    { type: 'function', function: { name: 'far__fly', description: 'Looks.', parameters: tool.parameters } },
  ],
}

async function prefilled(engine: ContractEngine, body: object): Promise<{ ids: number[], response: any }> {
  const answer = await post(engine, path, { max_output_tokens: 1, enable_response_messages: true, ...body })
  if (answer.status !== 200) throw new Error(`responses: ${answer.status} ${answer.text}`)
  return { ids: answer.json.input_messages[0].tokens, response: answer.json }
}

interface NamedEvent { readonly name: string, readonly data: any }

/** The events of a stream that ended well. */
function eventsOf(t: Test, { status, headers, text }: HttpAnswer): NamedEvent[] {
  t.equal(status, 200)
  t.equal(headers['content-type'], 'text/event-stream; charset=utf-8')
  const events = text.split('\n\n').slice(0, -1).map((event) => {
    const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(event)!
    return { name: name!, data: JSON.parse(data!) }
  })
  for (const [i, { name, data }] of events.entries()) {
    t.strictSame([data.type, data.sequence_number], [name, i])
    if (name !== data.type || data.sequence_number !== i) break
  }
  t.equal(events.at(-1)?.name, 'response.completed', 'the last event, and no [DONE]')
  return events
}

const sizeIn = (engine: ContractEngine): number => engine.blockSize * 3 + Math.floor(engine.blockSize / 2)

export async function responses(t: Test, engine: ContractEngine): Promise<void> {
  await t.test('the ids of the chat that a request is made into are those that responses prefill', async (t) => {
    t.strictSame((await prefilled(engine, conversation)).ids, await tokenize(engine, asChat))
    t.strictSame((await prefilled(engine, { input, instructions: 'Be brief.' })).ids,
      await tokenize(engine, { messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: input }] }))
    const plain = await tokenize(engine, { messages: [{ role: 'user', content: input }] })
    t.strictSame((await prefilled(engine, { input, tools: [], tool_choice: 'auto', reasoning: { summary: 'auto' }, text: { verbosity: 'low' } })).ids, plain)
    t.strictSame((await prefilled(engine, { input, reasoning: { effort: 'none' } })).ids,
      await tokenize(engine, { messages: [{ role: 'user', content: input }], chat_template_kwargs: { reasoning_effort: 'none', enable_thinking: false } }))
    t.strictSame((await prefilled(engine, { ...conversation, tool_choice: 'none' })).ids, await tokenize(engine, asChat), 'tool_choice none leaves the tools')
  })

  await t.test('a response', async (t) => {
    const { headers, json } = await post(engine, path, { input, tools: [tool], reasoning: { summary: 'auto' }, text: { verbosity: 'low' }, client_metadata: { a: 'b' }, store: false })
    t.equal(headers['content-type'], 'application/json')
    t.strictSame(Object.keys(json), responseKeys)
    t.match(json, { id: /^resp_[0-9a-f]{16}$/, object: 'response', status: 'completed', incomplete_details: null, tool_choice: 'auto', background: false, input_messages: null, output_messages: null })
    t.strictSame(json.tools, [{ name: 'look', parameters: tool.parameters, strict: null, type: 'function', allowed_callers: null, async: null, defer_loading: null, description: 'Looks.', output_schema: null }])
    t.strictSame(json.reasoning, { context: null, effort: null, generate_summary: null, mode: null, summary: 'auto' })
    t.strictSame(json.text, { format: null, verbosity: 'low' })
    t.strictSame(Object.keys(json.usage), usageKeys)
    t.strictSame(Object.keys(json.usage.input_tokens_details), ['cached_tokens', 'cache_write_tokens', 'input_tokens_per_turn', 'cached_tokens_per_turn'])
    t.strictSame(Object.keys(json.usage.output_tokens_details), ['reasoning_tokens', 'tool_output_tokens', 'output_tokens_per_turn', 'tool_output_tokens_per_turn'])
    t.equal(json.usage.total_tokens, json.usage.input_tokens + json.usage.output_tokens)
    const [thinking, message] = engine.thinks ? json.output : [null, ...json.output]
    t.strictSame(Object.keys(message), messageKeys)
    t.match(message, { id: /^msg_/, role: 'assistant', status: 'completed', type: 'message', content: [{ annotations: [], type: 'output_text', logprobs: null }] })
    if (!engine.thinks) return
    t.strictSame(Object.keys(thinking), thinkingKeys)
    t.match(thinking, { id: /^rs_/, summary: [], type: 'reasoning', content: [{ type: 'reasoning_text' }], status: null })
    t.ok(json.usage.output_tokens_details.reasoning_tokens > 0)
  })

  await t.test('a streamed response: items are added, grow and are done, and the response comes whole in the end', async (t) => {
    const whole = (await post(engine, path, { input })).json
    const events = eventsOf(t, await post(engine, path, { input, stream: true }))
    const names = events.map(({ name }) => name).filter((name, i, all) => name !== all[i - 1])
    const item = (kind: string): string[] => ['response.output_item.added', 'response.content_part.added', `response.${kind}.delta`, `response.${kind}.done`, 'response.content_part.done', 'response.output_item.done']
    t.strictSame(names, ['response.created', 'response.in_progress', ...(engine.thinks ? item('reasoning_text') : []), ...item('output_text'), 'response.completed'])
    const [created] = events
    t.strictSame(Object.keys(created!.data), ['response', 'sequence_number', 'type'])
    t.strictSame(Object.keys(created!.data.response), responseKeys)
    t.match(created!.data.response, { status: 'in_progress', output: [], usage: null })
    const keys = (name: string): string[] => Object.keys(events.find((event) => event.name === name)!.data)
    t.strictSame(keys('response.output_item.added'), ['item', 'output_index', 'sequence_number', 'type'])
    t.strictSame(keys('response.content_part.added'), ['content_index', 'item_id', 'output_index', 'part', 'sequence_number', 'type'])
    t.strictSame(keys('response.output_text.delta'), ['content_index', 'delta', 'item_id', 'logprobs', 'output_index', 'sequence_number', 'type'])
    t.strictSame(keys('response.output_text.done'), ['content_index', 'item_id', 'logprobs', 'output_index', 'sequence_number', 'text', 'type'])
    const { response } = events.at(-1)!.data
    t.strictSame(Object.keys(response), responseKeys)
    t.strictSame(response.output, events.filter(({ name }) => name === 'response.output_item.done').map(({ data }) => data.item))
    t.equal(response.status, 'completed')
    const text = (output: any[]): string => output.find(({ type }) => type === 'message').content[0].text
    t.equal(events.filter(({ name }) => name === 'response.output_text.delta').map(({ data }) => data.delta).join(''), text(response.output))
    t.equal(text(response.output), text(whole.output), 'the same text as not streamed')
    t.strictSame(Object.keys(response.usage), usageKeys)
  })

  await t.test('a limit leaves it incomplete, which a stream says in response.completed', async (t) => {
    const { json } = await post(engine, path, { input, max_output_tokens: 2 })
    t.match(json, { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, max_output_tokens: 2, usage: { output_tokens: 2 } })
    const { data } = eventsOf(t, await post(engine, path, { input, max_output_tokens: 2, stream: true })).at(-1)!
    t.match(data, { type: 'response.completed', response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } } })
  })

  await t.test('enable_response_messages tells prompt and reply as ids, on a stream in the last event alone', async (t) => {
    const { response } = await prefilled(engine, { input })
    t.strictSame(Object.keys(response), responseKeys)
    t.strictSame(Object.keys(response.input_messages[0]), ['message', 'tokens', 'type'])
    t.equal(response.input_messages.length, 1)
    t.equal(response.input_messages[0].tokens.length, response.usage.input_tokens)
    t.equal(response.output_messages[0].tokens.length, 1)
    const events = eventsOf(t, await post(engine, path, { input, stream: true, max_output_tokens: 2, enable_response_messages: true }))
    t.strictSame(events.at(-1)!.data.response.input_messages, response.input_messages)
    t.equal(events[0]!.data.response.input_messages, null)
  })

  await t.test('one prefix cache with chat, told in every usage', async (t) => {
    const text = freshText(sizeIn(engine))
    const ids = (await chat(engine, { messages: [{ role: 'user', content: text }] })).prompt_token_ids
    const warmOf = (length: number): number => reusable(length, length, engine.blockSize)
    const warm = warmOf(ids.length)
    const { response } = await prefilled(engine, { input: text })
    t.equal(response.usage.input_tokens_details.cached_tokens, warm)
    const other = freshText(sizeIn(engine))
    const { ids: otherIds } = await prefilled(engine, { input: other })
    t.equal(cachedTokens(await chat(engine, { messages: [{ role: 'user', content: other }] })), warmOf(otherIds.length))
    const events = eventsOf(t, await post(engine, path, { input: text, stream: true, max_output_tokens: 1 }))
    t.equal(events.at(-1)!.data.response.usage.input_tokens_details.cached_tokens, warm)
    t.equal((await prefilled(engine, { input: text, cache_salt: 'salt' })).response.usage.input_tokens_details.cached_tokens, 0, 'a salt separates')
  })

  await t.test('what is refused', async (t) => {
    const rows: Readonly<Record<string, readonly [body: object, param: string | null | undefined, type?: string]>> = {
      'no input': [{}, 'body.input', 'Bad Request'],
      'no item': [{ input: [] }, null],
      'an item that refers to a stored one': [{ input: [{ type: 'item_reference', id: 'a' }] }, 'input', 'BadRequestError'],
      'encrypted thinking': [{ input: [{ type: 'reasoning', summary: [], encrypted_content: 'a' }] }, 'input'],
      'parts as chat names them': [{ input: [{ role: 'user', content: [{ type: 'text', text: 'a' }] }] }, undefined, 'Bad Request'],
      'an image on a text model': [{ input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'data:image/png;base64,AA' }] }] }, null],
      'tools null': [{ input, tools: null }, 'body.tools'],
      'a grammar': [{ input, tools: [{ type: 'custom', name: 'a', format: { type: 'grammar', syntax: 'lark', definition: 'a' } }] }, 'tools'],
      'a forced tool without tools': [{ input, tool_choice: 'required' }, 'tool_choice'],
      'a named tool that is not there': [{ input, tools: [tool], tool_choice: { type: 'function', name: 'x' } }, 'tool_choice'],
      'max_output_tokens of nothing': [{ input, max_output_tokens: 0 }, 'max_tokens'],
      'max_output_tokens over the window': [{ input, max_output_tokens: 100_000_000 }, 'max_output_tokens'],
      'an empty cache_salt': [{ input, cache_salt: '' }, 'cache_salt'],
      'a stored prompt': [{ input, prompt: { id: 'a' } }, 'prompt'],
      'a response in the background': [{ input, background: true }, 'background', 'invalid_request_error'],
    }
    for (const [name, [body, param, type]] of Object.entries(rows)) {
      const answer = await post(engine, path, body)
      t.equal(answer.status, 400, name)
      t.strictSame(Object.keys(answer.json.error), ['message', 'type', 'param', 'code'], name)
      if (param !== undefined) t.equal(answer.json.error.param, param, name)
      if (type !== undefined) t.equal(answer.json.error.type, type, name)
    }
    const stream = await post(engine, path, { input: [{ type: 'item_reference', id: 'a' }], stream: true })
    t.equal(stream.status, 400, 'a refused stream is no stream')
  })

  await t.test('nothing is stored', async (t) => {
    for (const answer of [await post(engine, path, { input, previous_response_id: 'resp_1' }), await get(engine, `${path}/resp_1`), await post(engine, `${path}/resp_1/cancel`, {})]) {
      t.equal(answer.status, 404)
      t.strictSame(answer.json.error, { message: "Response with id 'resp_1' not found.", type: 'invalid_request_error', param: 'response_id', code: 404 })
    }
    t.equal((await post(engine, path, { input, conversation: 'conv_1', max_output_tokens: 1 })).status, 200, 'a conversation is ignored')
  })

  await t.test('the render endpoint is authoritative, or says that it is off', async (t) => {
    const answer = await post(engine, `${path}/render`, conversation)
    t.equal(answer.status, engine.scaleOut === true ? 200 : 403)
    if (engine.scaleOut === true) t.strictSame(answer.json.token_ids, await tokenize(engine, asChat))
  })
}
