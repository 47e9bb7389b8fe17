// What an engine refuses, with which status and in which form.

import type { Test } from 'tap'
import { chatPath, completionsPath, type ContractEngine, get, post } from './http.ts'

const messages = [{ role: 'user', content: 'q' }]
const user = (content: unknown): object => ({ messages: [{ role: 'user', content }] })
const called = (args: unknown): object => ({
  messages: [...messages, { role: 'assistant', content: '', tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: args } }] }],
})

interface Row { readonly path: string, readonly body: object, readonly status: number, readonly type?: string, readonly param?: string | null }

const chats: Readonly<Record<string, Omit<Row, 'path' | 'status'>>> = {
  'an empty list of tools': { body: { messages, tools: [] }, param: 'tools' },
  'tool_choice without tools': { body: { messages, tool_choice: 'auto' }, param: 'tool_choice' },
  'a named tool that is not there': {
    body: { messages, tools: [{ type: 'function', function: { name: 'f' } }], tool_choice: { type: 'function', function: { name: 'g' } } }, param: 'tool_choice',
  },
  'stream_options without stream': { body: { messages, stream_options: { include_usage: true } }, param: 'stream_options' },
  'null content of a user': { body: user(null) },
  'null content of a tool': { body: { messages: [{ role: 'tool', tool_call_id: 'c', content: null }] } },
  'null content of a system message': { body: { messages: [{ role: 'system', content: null }, ...messages] } },
  'a part of type input_text': { body: user([{ type: 'input_text', text: 'x' }]) },
  'an image on a text model': { body: user([{ type: 'image_url', image_url: { url: 'http://localhost/x.png' } }]), param: null },
  'arguments that are an object': { body: called({ a: 1 }) },
  'arguments null': { body: called(null) },
  'no messages': { body: { messages: [] }, param: null },
  'messages missing': { body: {}, type: 'Bad Request', param: 'body.messages' },
  'an unknown reasoning_effort': { body: { messages, reasoning_effort: 'huge' }, type: 'Bad Request', param: 'body.reasoning_effort' },
  'max_tokens of nothing': { body: { messages, max_tokens: 0 }, param: 'max_tokens' },
  'max_tokens over the window': { body: { messages, max_tokens: 100_000_000 }, param: 'max_tokens' },
  'an empty cache_salt': { body: { messages, cache_salt: '' }, param: 'cache_salt' },
  'a cache_salt with a slash': { body: { messages, cache_salt: 'a/b' }, param: 'cache_salt' },
  'a long cache_salt': { body: { messages, cache_salt: 'a'.repeat(129) }, param: 'cache_salt' },
  'several choices without temperature': { body: { messages, n: 2, temperature: 0 }, param: null },
  'no choice': { body: { messages, n: 0 }, param: null },
  'a temperature out of range': { body: { messages, temperature: 3 }, param: 'temperature' },
  'a chat template': { body: { messages, chat_template: 'x' }, param: null },
  'a chat template among the kwargs': { body: { messages, chat_template_kwargs: { chat_template: 'x' } } },
  'continue_final_message with a generation prompt': { body: { messages, continue_final_message: true, add_generation_prompt: true }, param: null },
  'continue_final_message alone': { body: { messages, continue_final_message: true }, param: null },
  'prompt_logprobs on a stream': { body: { messages, prompt_logprobs: 1, stream: true }, param: 'prompt_logprobs' },
}

export async function refusals(t: Test, engine: ContractEngine): Promise<void> {
  await t.test('a chat is refused with 400 and an error object', async (t) => {
    for (const [name, { body, type, param }] of Object.entries(chats)) {
      const answer = await post(engine, chatPath, body)
      t.equal(answer.status, 400, name)
      t.strictSame(Object.keys(answer.json.error), ['message', 'type', 'param', 'code'], name)
      t.equal(answer.json.error.code, 400, name)
      if (type !== undefined) t.equal(answer.json.error.type, type, name)
      if (param !== undefined) t.equal(answer.json.error.param, param, name)
    }
  })

  await t.test('a refused stream is no stream', async (t) => {
    const answer = await post(engine, chatPath, { messages, stream: true, tools: [] })
    t.equal(answer.status, 400)
    t.equal(answer.headers['content-type'], 'application/json')
  })

  await t.test('an unknown model is 404 everywhere', async (t) => {
    for (const [path, body] of [[chatPath, { messages }], [completionsPath, { prompt: 'a' }], ['/tokenize', { prompt: 'a' }], ['/detokenize', { tokens: [1] }]] as const) {
      const answer = await post(engine, path, { ...body, model: 'no-such-model' })
      t.equal(answer.status, 404, path)
      t.strictSame({ ...answer.json.error, message: '' }, { message: '', type: 'NotFoundError', param: 'model', code: 404 }, path)
    }
  })

  await t.test('a model that is not named is the served one', async (t) => {
    t.equal((await post(engine, '/tokenize', '{"prompt":"a"}')).status, 200)
    t.equal((await post(engine, chatPath, JSON.stringify({ messages, max_tokens: 1 }))).json.model, engine.model)
  })

  await t.test('a prompt as long as the window is 400, in chat and completions', async (t) => {
    const window = (await post(engine, '/tokenize', { prompt: 'a' })).json.max_model_len
    const chat = await post(engine, chatPath, user(' word'.repeat(window)))
    t.equal(chat.status, 400)
    t.equal(chat.json.error.param, 'input_tokens')
    t.match(chat.json.error.message, /maximum context length/)
    const exact = Array.from({ length: window }, () => 5)
    t.equal((await post(engine, completionsPath, { prompt: exact, max_tokens: 1 })).json.error.param, 'max_tokens')
    const longer = await post(engine, completionsPath, { prompt: [...exact, 5], max_tokens: 1 })
    t.equal(longer.status, 400)
    t.equal(longer.json.error.param, 'input_tokens')
  })

  await t.test('a lone surrogate is 400', async (t) => {
    for (const path of [chatPath, '/tokenize']) {
      const answer = await post(engine, path, `{"model":${JSON.stringify(engine.model)},"messages":[{"role":"user","content":"a\\ud800b"}]}`)
      t.equal(answer.status, 400, path)
      t.equal(answer.json.error.type, 'BadRequestError', path)
    }
  })

  await t.test('completions refuse no prompt, no ids and unknown ids', async (t) => {
    for (const prompt of [undefined, [], [999_999]]) {
      const answer = await post(engine, completionsPath, { prompt })
      t.equal(answer.status, 400)
      t.strictSame(Object.keys(answer.json.error), ['message', 'type', 'param', 'code'])
    }
  })

  await t.test('/tokenize refuses what is neither text nor chat, and a template', async (t) => {
    t.equal((await post(engine, '/tokenize', {})).status, 400)
    t.equal((await post(engine, '/tokenize', { prompt: ['a'] })).status, 400)
    t.equal((await post(engine, '/tokenize', { messages, chat_template: 'x' })).status, 400)
    t.equal((await post(engine, '/tokenize', { messages, continue_final_message: true })).status, 400)
    t.equal((await post(engine, '/detokenize', { tokens: ['a'] })).status, 400)
    t.equal((await post(engine, '/detokenize', { tokens: [-1] })).status, 400)
  })

  await t.test('bodies that are no JSON, no UTF-8 or of another type are 400', async (t) => {
    for (const path of [chatPath, '/tokenize']) {
      const broken = await post(engine, path, '{"model":')
      t.equal(broken.status, 400, path)
      t.equal(broken.json.error.type, 'Bad Request', path)
      t.equal((await post(engine, path, Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]))).json.detail, 'There was an error parsing the body', path)
      const plain = await post(engine, path, JSON.stringify({ messages }), { 'content-type': 'text/plain' })
      t.equal(plain.status, 400, path)
      t.equal(plain.json.error.type, 'Bad Request', path)
      t.equal((await post(engine, path, JSON.stringify({ model: engine.model, messages, max_tokens: 1 }), { 'content-type': 'application/json; charset=utf-8' })).status, 200, path)
    }
  })

  await t.test('unknown routes and methods have FastAPI’s form', async (t) => {
    t.strictSame((await get(engine, '/no-such-route')).json, { detail: 'Not Found' })
    t.strictSame((await get(engine, '/v1/tokenize')).status, 404)
    const wrong = await get(engine, chatPath)
    t.equal(wrong.status, 405)
    t.strictSame(wrong.json, { detail: 'Method Not Allowed' })
    t.equal(wrong.headers.allow, 'POST')
  })
}
