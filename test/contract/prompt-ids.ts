// What /tokenize says is what chat prefills, and where it is not.

import { readFileSync } from 'node:fs'
import type { Test } from 'tap'
import { chat, chatPath, type ContractEngine, idsDigest, post, tokenize } from './http.ts'
import { requestShapes } from './request-shapes.ts'

/** Digests of the ids that vLLM 0.32 gave for every shape. */
const recorded = JSON.parse(readFileSync(new URL('prompt-ids.json', import.meta.url), 'utf8')) as Record<string, string>

const question = { role: 'user', content: 'q' }
const loop = (reasoning: object): object[] => [
  question,
  { role: 'assistant', content: '', ...reasoning, tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }] },
  { role: 'tool', tool_call_id: 'c1', content: 'r' },
]

export async function promptIds(t: Test, engine: ContractEngine): Promise<void> {
  await t.test('the ids of /tokenize are those that chat prefills', async (t) => {
    for (const [name, members] of Object.entries(requestShapes)) {
      const tokens = await tokenize(engine, `{"model":${JSON.stringify(engine.model)},${members}}`)
      const reply = await post(engine, chatPath, `{"model":${JSON.stringify(engine.model)},"max_tokens":1,"return_token_ids":true,${members}}`)
      t.strictSame(reply.json.prompt_token_ids, tokens, name)
      t.equal(idsDigest(tokens), recorded[name], `${name}: as vLLM 0.32 tokenised it`)
      t.equal(reply.json.usage.prompt_tokens, tokens.length, `${name}: usage counts them`)
    }
  })

  await t.test('chat renames reasoning_content, /tokenize ignores it', async (t) => {
    const old = { messages: loop({ reasoning_content: 'I think.' }) }
    const renamed = { messages: loop({ reasoning: 'I think.' }) }
    const prefilled = (await chat(engine, old)).prompt_token_ids
    t.strictSame(prefilled, await tokenize(engine, renamed), 'renaming makes them equal')
    t.ok((await tokenize(engine, old)).length < prefilled.length, 'without it the ids come out short')
    t.strictSame((await chat(engine, { messages: loop({ reasoning: 'B', reasoning_content: 'A' }) })).prompt_token_ids,
      await tokenize(engine, { messages: loop({ reasoning: 'B' }) }), 'of both names reasoning wins')
    t.strictSame((await chat(engine, { messages: loop({ reasoning: null, reasoning_content: 'A' }) })).prompt_token_ids,
      await tokenize(engine, { messages: loop({ reasoning: 'A' }) }), 'unless it is null')
  })

  await t.test('reasoning_effort goes to chat alone, and is mirrored by two template kwargs', async (t) => {
    for (const effort of ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']) {
      const prefilled = (await chat(engine, { messages: [question], reasoning_effort: effort })).prompt_token_ids
      const mirrored = { reasoning_effort: effort, enable_thinking: effort !== 'none' }
      t.strictSame(await tokenize(engine, { messages: [question], chat_template_kwargs: mirrored }), prefilled, effort)
    }
    const plain = await tokenize(engine, { messages: [question] })
    t.strictSame(await tokenize(engine, { messages: [question], reasoning_effort: 'none' }), plain, '/tokenize does not know it')
    t.strictSame((await chat(engine, { messages: [question], reasoning_effort: 'none', chat_template_kwargs: { enable_thinking: true } })).prompt_token_ids,
      plain, "the request's own enable_thinking wins")
  })

  await t.test('documents are mirrored by a template kwarg', async (t) => {
    const documents = [{ title: 'a', text: 'b' }]
    t.strictSame(await tokenize(engine, { messages: [question], chat_template_kwargs: { documents } }),
      (await chat(engine, { messages: [question], documents })).prompt_token_ids)
  })

  await t.test('tool_choice none leaves the ids unchanged', async (t) => {
    const tools = [{ type: 'function', function: { name: 'f', parameters: {} } }]
    const auto = (await chat(engine, { messages: [question], tools })).prompt_token_ids
    t.strictSame((await chat(engine, { messages: [question], tools, tool_choice: 'none' })).prompt_token_ids, auto)
    t.not((await chat(engine, { messages: [question] })).prompt_token_ids.length, auto.length, 'and the tools are in them')
  })

  await t.test('an empty list of tools is accepted by /tokenize and refused by chat', async (t) => {
    t.strictSame(await tokenize(engine, { messages: [question], tools: [] }), await tokenize(engine, { messages: [question] }))
    t.equal((await post(engine, chatPath, { messages: [question], tools: [] })).status, 400)
  })

  await t.test('truncation applies to chat alone', async (t) => {
    const body = { messages: [{ role: 'user', content: 'a b c d e f g h i j' }], truncate_prompt_tokens: 5 }
    const all = await tokenize(engine, body)
    t.strictSame((await chat(engine, body)).prompt_token_ids, all.slice(-5))
    t.strictSame((await chat(engine, { ...body, truncation_side: 'right' })).prompt_token_ids, all.slice(0, 5))
  })

  await t.test('/tokenize answers count, window and ids, and of a text too', async (t) => {
    const answer = await post(engine, '/tokenize', { messages: [question], return_token_strs: true })
    t.strictSame(Object.keys(answer.json), ['count', 'max_model_len', 'tokens', 'token_strs'])
    t.strictSame(answer.json.tokens, [151644, 872, 198, 80, 151645, 198, 151644, 77091, 198])
    t.strictSame(answer.json.token_strs, ['<|im_start|>', 'user', 'Ċ', 'q', '<|im_end|>', 'Ċ', '<|im_start|>', 'assistant', 'Ċ'],
      'strings as the vocabulary has them')
    const ofText = await post(engine, '/tokenize', { prompt: 'a<|im_end|>' })
    t.strictSame(ofText.json, { count: 2, max_model_len: answer.json.max_model_len, tokens: [64, 151645], token_strs: null })
    const both = await post(engine, '/tokenize', { prompt: 'a', messages: [question] })
    t.strictSame(both.json.tokens, answer.json.tokens, 'of both forms the messages win')
  })

  await t.test('/detokenize keeps special tokens and drops unknown ids', async (t) => {
    t.strictSame((await post(engine, '/detokenize', { tokens: [151644, 872, 99_999_999] })).json, { prompt: '<|im_start|>user' })
  })

  await t.test('/tokenize has no limit of length', async (t) => {
    const window = (await post(engine, '/tokenize', { prompt: 'a' })).json.max_model_len
    const answer = await post(engine, '/tokenize', { prompt: ' word'.repeat(window + 10) })
    t.equal(answer.json.count, window + 10)
  })

  await t.test('the render endpoint is authoritative, or says that it is off', async (t) => {
    const body = { messages: [question], max_tokens: 7 }
    const answer = await post(engine, `${chatPath}/render`, body)
    if (engine.scaleOut === true) {
      t.equal(answer.status, 200)
      t.strictSame(answer.json.token_ids, await tokenize(engine, body))
      t.equal(answer.json.sampling_params.max_tokens, 7)
    } else {
      t.equal(answer.status, 403)
      t.equal(answer.json.error.type, 'PermissionDeniedError')
    }
  })
}
