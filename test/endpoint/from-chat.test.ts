// What a reply made of a completion counts: what the completion says and what is known of the fork, and nothing else.

import t from 'tap'
import type { Endpoint, ReplyTranslator } from '../../src/endpoint/endpoint.ts'
import { messages } from '../../src/endpoint/messages.ts'
import { responses } from '../../src/endpoint/responses.ts'
import { SseSplitter } from '../../src/wire/sse.ts'

const asked = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }], input: [{ role: 'user', content: 'Hi' }] }
const tool = { type: 'function', name: 'f', parameters: { type: 'object' } }

function translator(endpoint: Endpoint, more: object = {}): ReplyTranslator {
  const { [endpoint.itemsKey]: items, model } = asked
  const body = { model, [endpoint.itemsKey]: items, ...(endpoint === messages ? { max_tokens: 9 } : {}), ...more }
  return endpoint.fromChat(endpoint.read(Buffer.from(JSON.stringify(body)))!, 70)!
}

const base = { id: 'chatcmpl-1', created: 5, model: 'm' }

function whole(endpoint: Endpoint, usage: object | null, more: object = {}): any {
  const chat = { ...base, choices: [{ index: 0, message: { role: 'assistant', content: 'Done.', reasoning: 'I look.' }, finish_reason: 'stop', stop_reason: null }], usage }
  return JSON.parse(translator(endpoint, more).reply(Buffer.from(JSON.stringify(chat))).toString())
}

function streamed(endpoint: Endpoint, usage: object | null): any[] {
  const choice = (delta: object, finish: string | null = null): object => ({ ...base, choices: [{ index: 0, delta, finish_reason: finish }] })
  const events = [choice({ role: 'assistant', content: '' }), choice({ reasoning: 'I look.' }), choice({ content: 'Done.' }, 'stop'), ...(usage ? [{ ...base, choices: [], usage }] : [])]
  const stream = Buffer.from([...events.map((event) => JSON.stringify(event)), '[DONE]'].map((data) => `data: ${data}\n\n`).join(''))
  const to = translator(endpoint)
  return new SseSplitter().push(stream).flatMap((event) => to.events(event)).map(({ data }) => JSON.parse(data!.toString()))
}

const bare = { prompt_tokens: 70, completion_tokens: 8, total_tokens: 78 }
const cached = { ...bare, prompt_tokens_details: { cached_tokens: 64 } }
const all = { ...bare, prompt_tokens_details: { cached_tokens: 48, created_cache_tokens: 16 }, completion_tokens_details: { reasoning_tokens: 3 } }

t.test('a message counts what the completion says', async (t) => {
  for (const [usage, wanted] of [
    [bare, { input_tokens: 70, output_tokens: 8 }],
    [{ ...bare, prompt_tokens_details: null, completion_tokens_details: null }, { input_tokens: 70, output_tokens: 8 }],
    [cached, { input_tokens: 6, output_tokens: 8, cache_read_input_tokens: 64 }],
    [all, { input_tokens: 6, output_tokens: 8, cache_creation_input_tokens: 16, cache_read_input_tokens: 48 }],
  ] as const) {
    t.strictSame(whole(messages, usage).usage, wanted)
    t.strictSame(streamed(messages, usage).find(({ type }) => type === 'message_delta').usage, wanted)
  }
})

t.test('a message that begins counts the tokens of the fork, whatever the engine says of them', async (t) => {
  for (const usage of [bare, cached, null]) {
    const [start] = streamed(messages, usage)
    t.equal(start.type, 'message_start')
    t.strictSame(start.message.usage, { input_tokens: 70, output_tokens: 0 })
  }
  t.strictSame(streamed(messages, null).find(({ type }) => type === 'message_delta').usage, { input_tokens: 70, output_tokens: 0 }, 'and one that ends without a count')
  t.strictSame(whole(messages, null).usage, { input_tokens: 70, output_tokens: 0 })
})

t.test('a response counts what the completion says, and the rest is unsaid', async (t) => {
  const turns = { input_tokens_per_turn: [], cached_tokens_per_turn: [] }
  for (const [usage, input, output] of [
    [bare, null, null],
    [{ ...bare, prompt_tokens_details: null, completion_tokens_details: null }, null, null],
    [cached, { cached_tokens: 64, ...turns }, null],
    [all, { cached_tokens: 48, cache_write_tokens: 16, ...turns }, { reasoning_tokens: 3, tool_output_tokens: 0, output_tokens_per_turn: [], tool_output_tokens_per_turn: [] }],
  ] as const) {
    const wanted = { input_tokens: 70, input_tokens_details: input, output_tokens: 8, output_tokens_details: output, total_tokens: 78 }
    t.strictSame(whole(responses, usage).usage, wanted)
    t.strictSame(streamed(responses, usage).at(-1).response.usage, wanted)
  }
  t.equal(whole(responses, null).usage, null)
})

t.test('a response repeats the tool choice that vLLM makes of the request: none without tools', async (t) => {
  for (const [more, choice] of [
    [{}, 'none'], [{ tools: [] }, 'none'], [{ tool_choice: 'auto' }, 'none'], [{ tool_choice: 'none', tools: [tool] }, 'none'],
    [{ tools: [tool] }, 'auto'], [{ tools: [tool], tool_choice: 'auto' }, 'auto'],
  ] as const) t.equal(whole(responses, bare, more).tool_choice, choice, JSON.stringify(more))
})

t.test('a response repeats no sampling that the request did not name: the model has its own', async (t) => {
  t.match(whole(responses, bare), { temperature: null, top_p: null })
  t.match(whole(responses, bare, { temperature: 0, top_p: 0.5 }), { temperature: 0, top_p: 0.5 })
})
