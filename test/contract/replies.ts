// The shapes of replies, key by key in vLLM 0.32's order, streamed and not.

import type { Test } from 'tap'
import { request } from 'undici'
import { chatPath, completionsPath, type ContractEngine, events, type HttpAnswer, post } from './http.ts'

const messages = [{ role: 'user', content: 'Say something.' }]

const chunkKeys = ['id', 'object', 'created', 'model', 'choices']
const chatKeys = [
  'id', 'object', 'created', 'model', 'choices', 'service_tier', 'system_fingerprint', 'usage', 'prompt_logprobs',
  'prompt_token_ids', 'prompt_text', 'kv_transfer_params', 'ec_transfer_params', 'metrics',
]
const chatChoiceKeys = ['index', 'message', 'logprobs', 'finish_reason', 'stop_reason', 'token_ids', 'routed_experts']
const messageKeys = ['role', 'content', 'refusal', 'annotations', 'audio', 'function_call', 'reasoning']
const completionKeys = [
  'id', 'object', 'created', 'model', 'choices', 'service_tier', 'system_fingerprint', 'usage', 'kv_transfer_params',
  'ec_transfer_params', 'metrics',
]
const completionChoiceKeys = [
  'index', 'text', 'logprobs', 'finish_reason', 'stop_reason', 'token_ids', 'prompt_logprobs', 'prompt_token_ids', 'routed_experts',
]
const usageKeys = ['prompt_tokens', 'total_tokens', 'completion_tokens', 'prompt_tokens_details', 'completion_tokens_details']

/** The chunks of a stream that ended well. */
function chunks(t: Test, answer: HttpAnswer): any[] {
  t.equal(answer.status, 200)
  t.equal(answer.headers['content-type'], 'text/event-stream; charset=utf-8')
  const all = events(answer.text)
  t.equal(all.at(-1), '[DONE]', 'ends with [DONE]')
  t.ok(answer.text.endsWith('data: [DONE]\n\n'), 'and nothing after it')
  return all.slice(0, -1).map((event) => JSON.parse(event))
}

const textOf = (list: any[], member: string): string => list.map((chunk) => chunk.choices[0]?.delta[member] ?? '').join('')

export async function replies(t: Test, engine: ContractEngine): Promise<void> {
  const whole = (await post(engine, chatPath, { messages, return_token_ids: true })).json

  await t.test('a chat completion', async (t) => {
    const answer = await post(engine, chatPath, { messages })
    t.equal(answer.headers['content-type'], 'application/json')
    t.equal(answer.headers.server, 'uvicorn')
    t.strictSame(Object.keys(answer.json), chatKeys)
    const [choice] = answer.json.choices
    t.strictSame(Object.keys(choice), chatChoiceKeys)
    t.strictSame(Object.keys(choice.message), messageKeys)
    t.equal(choice.finish_reason, 'stop')
    t.equal(choice.message.role, 'assistant')
    t.match(answer.json.id, /^chatcmpl-/)
    t.match(answer.json.system_fingerprint, /^vllm-/)
    t.equal(answer.json.prompt_token_ids, null, 'ids are null for who did not ask')
    t.equal(choice.token_ids, null)
    t.strictSame(Object.keys(answer.json.usage), usageKeys)
    t.strictSame(Object.keys(answer.json.usage.prompt_tokens_details), ['cached_tokens', 'created_cache_tokens', 'multimodal_tokens'])
    t.equal(answer.json.usage.total_tokens, answer.json.usage.prompt_tokens + answer.json.usage.completion_tokens)
  })

  await t.test('return_token_ids tells the prompt once and the reply with its end', async (t) => {
    t.equal(whole.prompt_token_ids.length, whole.usage.prompt_tokens)
    t.equal(whole.choices[0].token_ids.length, whole.usage.completion_tokens)
    t.equal(whole.choices[0].token_ids.at(-1), 151645, 'the end of the turn is the last id')
  })

  await t.test('a streamed chat: role, deltas, finish', async (t) => {
    const list = chunks(t, await post(engine, chatPath, { messages, stream: true }))
    const [first, ...rest] = list
    t.strictSame(Object.keys(first), [...chunkKeys, 'prompt_token_ids', 'prompt_text'])
    t.strictSame(first.choices, [{ index: 0, delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null }])
    t.equal(first.prompt_token_ids, null)
    t.equal(first.object, 'chat.completion.chunk')
    for (const chunk of rest.slice(0, -1)) {
      t.strictSame(Object.keys(chunk), chunkKeys)
      t.strictSame(Object.keys(chunk.choices[0]), ['index', 'delta', 'logprobs', 'finish_reason', 'token_ids'])
      t.equal(chunk.choices[0].token_ids, null)
      t.equal(chunk.choices[0].finish_reason, null)
    }
    const last = rest.at(-1)
    t.strictSame(Object.keys(last), [...chunkKeys, 'system_fingerprint'])
    t.strictSame(Object.keys(last.choices[0]), ['index', 'delta', 'logprobs', 'finish_reason', 'stop_reason', 'token_ids'])
    t.equal(last.choices[0].finish_reason, 'stop')
    t.equal(textOf(list, 'content'), whole.choices[0].message.content, 'the same text as not streamed')
    t.equal(textOf(list, 'reasoning'), whole.choices[0].message.reasoning ?? '', 'and the same thinking')
    t.equal(new Set(list.map((chunk) => chunk.id)).size, 1, 'one id')
  })

  await t.test('a streamed chat with usage and ids', async (t) => {
    const list = chunks(t, await post(engine, chatPath, {
      messages, stream: true, return_token_ids: true, stream_options: { include_usage: true },
    }))
    t.strictSame(list[0].prompt_token_ids, whole.prompt_token_ids, 'prompt ids in the first chunk')
    t.notOk(list.slice(1).some((chunk) => 'prompt_token_ids' in chunk), 'and only there')
    t.strictSame(list.flatMap((chunk) => chunk.choices[0]?.token_ids ?? []), whole.choices[0].token_ids, 'every id of the reply')
    const usage = list.at(-1)
    t.strictSame(Object.keys(usage), [...chunkKeys, 'usage', 'system_fingerprint'])
    t.strictSame(usage.choices, [])
    t.equal(usage.usage.completion_tokens, whole.usage.completion_tokens)
    t.notOk('system_fingerprint' in list.at(-2), 'the fingerprint is in the last chunk alone')
    t.strictSame(Object.keys(usage.usage.prompt_tokens_details), ['cached_tokens', 'created_cache_tokens'])
  })

  await t.test('continuous usage counts in every chunk, without details of the prompt', async (t) => {
    const list = chunks(t, await post(engine, chatPath, {
      messages, max_tokens: 4, stream: true, stream_options: { include_usage: true, continuous_usage_stats: true },
    }))
    t.ok(list.every((chunk) => chunk.usage !== undefined))
    t.strictSame(Object.keys(list[1].usage), ['prompt_tokens', 'total_tokens', 'completion_tokens', 'completion_tokens_details'])
    t.equal(list[0].usage.completion_tokens, 0)
  })

  await t.test('max_tokens ends a reply with length', async (t) => {
    for (const wish of [{ max_tokens: 3 }, { max_completion_tokens: 3 }, { max_tokens: 9, max_completion_tokens: 3 }]) {
      const reply = (await post(engine, chatPath, { messages, ...wish })).json
      t.equal(reply.choices[0].finish_reason, 'length')
      t.equal(reply.usage.completion_tokens, 3)
    }
    const list = chunks(t, await post(engine, chatPath, { messages, max_tokens: 3, stream: true }))
    t.equal(list.at(-1).choices[0].finish_reason, 'length')
  })

  await t.test('max_tokens over what the window leaves is cut, silently', async (t) => {
    const window = (await post(engine, '/tokenize', { prompt: 'a' })).json.max_model_len
    t.equal((await post(engine, chatPath, { messages, max_tokens: window })).status, 200)
  })

  await t.test('a completion of token ids', async (t) => {
    const prompt = whole.prompt_token_ids as number[]
    const { json } = await post(engine, completionsPath, { prompt, max_tokens: 200, return_token_ids: true })
    t.strictSame(Object.keys(json), completionKeys)
    t.strictSame(Object.keys(json.choices[0]), completionChoiceKeys)
    t.match(json.id, /^cmpl-/)
    t.strictSame(json.choices[0].prompt_token_ids, prompt, 'prompt ids in the choice')
    t.equal(json.choices[0].token_ids.at(-1), 151645)
    t.notMatch(json.choices[0].text, /<\|im_end\|>/, 'the end is not in the text')
    t.equal(json.choices[0].finish_reason, 'stop')
    t.equal(json.usage.prompt_tokens_details.created_cache_tokens, null)
  })

  await t.test('a completion is 16 tokens long by default, and ignores max_completion_tokens', async (t) => {
    const prompt = whole.prompt_token_ids as number[]
    const { json } = await post(engine, completionsPath, { prompt, ignore_eos: true, max_completion_tokens: 40 })
    t.equal(json.usage.completion_tokens, 16)
    t.equal(json.choices[0].finish_reason, 'length')
  })

  await t.test('a streamed completion', async (t) => {
    const prompt = whole.prompt_token_ids as number[]
    const list = chunks(t, await post(engine, completionsPath, {
      prompt, max_tokens: 200, stream: true, return_token_ids: true, stream_options: { include_usage: true },
    }))
    t.strictSame(Object.keys(list[0]), chunkKeys)
    t.strictSame(Object.keys(list[0].choices[0]), ['index', 'text', 'logprobs', 'finish_reason', 'stop_reason', 'prompt_token_ids', 'token_ids'])
    t.strictSame(list[0].choices[0].prompt_token_ids, prompt)
    t.equal(list[1].choices[0].prompt_token_ids, null)
    t.equal(list.at(-2).choices[0].finish_reason, 'stop')
    t.strictSame(list.at(-1).choices, [])
    t.equal(list.at(-1).usage.prompt_tokens, prompt.length)
    t.strictSame(Object.keys(list.at(-1).usage.prompt_tokens_details), ['cached_tokens'])
  })

  await t.test('a text is a prompt too, and several prompts are several choices', async (t) => {
    const one = (await post(engine, completionsPath, { prompt: 'hi<|im_start|>', max_tokens: 1 })).json
    t.equal(one.usage.prompt_tokens, 2)
    const two = (await post(engine, completionsPath, { prompt: [[1, 198], [2, 3, 198]], max_tokens: 1 })).json
    t.strictSame(two.choices.map((choice: any) => choice.index), [0, 1])
    t.equal(two.usage.prompt_tokens, 5)
  })

  await t.test('several choices', async (t) => {
    const { json } = await post(engine, chatPath, { messages, n: 2, max_tokens: 2 })
    t.strictSame(json.choices.map((choice: any) => choice.index), [0, 1])
    t.equal(json.usage.completion_tokens, 4)
  })

  await t.test('given prompt ids are taken in place of the messages', async (t) => {
    const { json } = await post(engine, chatPath, {
      messages, kv_transfer_params: { prompt_token_ids: [1, 2, 198] }, max_tokens: 1, return_token_ids: true,
    })
    t.strictSame(json.prompt_token_ids, [1, 2, 198])
  })

  await t.test('a request id becomes part of the reply id, the header before the body', async (t) => {
    t.equal((await post(engine, chatPath, { messages, max_tokens: 1, request_id: 'of-body' })).json.id, 'chatcmpl-of-body')
    const both = await post(engine, chatPath, { messages, max_tokens: 1, request_id: 'of-body' }, { 'x-request-id': 'of-header' })
    t.equal(both.json.id, 'chatcmpl-of-header')
  })

  await t.test('the head of a stream comes before its first event', async (t) => {
    const answer = await request(engine.url + chatPath, {
      method: 'POST', headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: engine.model, messages, stream: true, max_tokens: 1 }),
    })
    t.equal(answer.headers['transfer-encoding'], 'chunked')
    t.equal(answer.headers['x-accel-buffering'], undefined)
    t.equal(answer.headers['cache-control'], undefined)
    await answer.body.dump()
  })

  if (engine.thinks === true) {
    await t.test('thinking comes out as reasoning, and the content begins with a blank line', async (t) => {
      const { message } = whole.choices[0]
      t.ok(message.reasoning.length > 0)
      t.notOk('reasoning_content' in message)
      t.match(message.content, /^\n\n/)
      t.ok(whole.usage.completion_tokens_details.reasoning_tokens > 0)
      const hidden = (await post(engine, chatPath, { messages, include_reasoning: false, return_token_ids: true })).json
      t.equal(hidden.choices[0].message.reasoning, null)
      t.equal(hidden.choices[0].token_ids, null, 'hidden thinking hides the ids')
      t.ok(hidden.prompt_token_ids.length > 0, 'but not the prompt ids')
      const raw = (await post(engine, completionsPath, { prompt: whole.prompt_token_ids, max_tokens: 200 })).json
      t.match(raw.choices[0].text, /^<think>[^]*<\/think>/, 'completions leave the marks in the text')
    })

    await t.test('a limit inside the thinking leaves no content', async (t) => {
      const { json } = await post(engine, chatPath, { messages, max_tokens: 4 })
      t.equal(json.choices[0].message.content, null)
      t.equal(json.choices[0].finish_reason, 'length')
    })
  } else {
    await t.test('without thinking the key is there and null', async (t) => {
      t.equal(whole.choices[0].message.reasoning, null)
    })
  }
}
