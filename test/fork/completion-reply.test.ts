// A reply of /v1/completions as the chat completion that its client asked for, with the keys of its engine's version.

import t from 'tap'
import { CompletionTranslator, type ReplyShape } from '../../src/fork/completion-reply.ts'
import { thinkingFamilies } from '../../src/summary/thinking.ts'
import type { SseEvent } from '../../src/wire/sse.ts'

const shape: ReplyShape = {
  families: thinkingFamilies.slice(0, 1), startsThinking: false, showsThinking: true, promptTokens: 3,
  keys: {
    reply: ['id', 'object', 'created', 'model', 'choices', 'usage', 'prompt_logprobs', 'prompt_token_ids', 'prompt_text'],
    choice: ['index', 'message', 'logprobs', 'finish_reason', 'stop_reason', 'token_ids'],
    message: ['role', 'content', 'reasoning'],
  },
}
const base = { id: 'cmpl-1', object: 'text_completion', created: 5, model: 'm' }
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }

function event(data: object | string): SseEvent {
  const json = Buffer.from(typeof data === 'string' ? data : JSON.stringify(data))
  return { raw: Buffer.concat([Buffer.from('data: '), json, Buffer.from('\n\n')]), data: json }
}

function chunk(text: string, more: object = {}): SseEvent {
  return event({ ...base, choices: [{ index: 0, text, logprobs: null, finish_reason: null, stop_reason: null, prompt_token_ids: null, token_ids: null, ...more }] })
}

function stream(translator: CompletionTranslator, ...events: SseEvent[]): any[] {
  return events.flatMap((each) => translator.events(each)).map(({ data }) => JSON.parse(data!.toString('utf8')))
}

function whole(text: string, of: Partial<ReplyShape> = {}, more: object = {}): any {
  const json = { ...base, choices: [{ index: 0, text, logprobs: null, finish_reason: 'stop', stop_reason: null, token_ids: [1, 2], prompt_logprobs: null, prompt_token_ids: [3], ...more }], usage }
  return JSON.parse(new CompletionTranslator({ ...shape, ...of }).reply(Buffer.from(JSON.stringify(json))).toString('utf8'))
}

t.test('a whole reply has the keys of a chat completion, in its order', async (t) => {
  t.strictSame(whole('<think>I look.</think>Done.'), {
    id: 'chatcmpl-1', object: 'chat.completion', created: 5, model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Done.', reasoning: 'I look.' }, logprobs: null, finish_reason: 'stop', stop_reason: null, token_ids: null }],
    usage, prompt_logprobs: null, prompt_token_ids: null, prompt_text: null,
  })
})

t.test('thinking has the names that the engine gives it', async (t) => {
  const named = (names: string[]): any => whole('<think>I look.</think>Done.', { keys: { ...shape.keys, message: ['role', 'content', 'tool_calls', ...names] } }).choices[0].message
  t.strictSame(named(['reasoning_content']), { role: 'assistant', content: 'Done.', tool_calls: [], reasoning_content: 'I look.' })
  t.strictSame(named(['reasoning', 'reasoning_content']), { role: 'assistant', content: 'Done.', tool_calls: [], reasoning: 'I look.', reasoning_content: 'I look.' })
  t.strictSame(named([]), { role: 'assistant', content: 'Done.', tool_calls: [] }, 'an engine that shows none')
})

t.test('a client that asked for no thinking sees none', async (t) => {
  t.equal(whole('<think>I look.</think>Done.', { showsThinking: false }).choices[0].message.reasoning, null)
  const parts = stream(new CompletionTranslator({ ...shape, showsThinking: false }), chunk('<think>I'), chunk(' look.</think>Done.'), chunk('', { finish_reason: 'stop' }))
  t.strictSame(parts.map(({ choices: [choice] }) => choice.delta), [{ role: 'assistant', content: '' }, { content: 'Done.' }, {}])
})

t.test('a stream opens with a role, and ends in one event with its finish and last text', async (t) => {
  const parts = stream(new CompletionTranslator(shape), chunk('Do'), chunk('ne.', { finish_reason: 'stop', stop_reason: 'END' }))
  t.strictSame(parts, [
    { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 5, model: 'm', choices: [{ index: 0, delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null }], prompt_token_ids: null, prompt_text: null },
    { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 5, model: 'm', choices: [{ index: 0, delta: { content: 'Do' }, logprobs: null, finish_reason: null, token_ids: null }] },
    { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 5, model: 'm', choices: [{ index: 0, delta: { content: 'ne.' }, logprobs: null, finish_reason: 'stop', stop_reason: 'END', token_ids: null }] },
  ])
})

t.test('the end of thinking and the beginning of text may come in one event', async (t) => {
  const parts = stream(new CompletionTranslator(shape), chunk('<think>I look.</think>Done.'))
  t.strictSame(parts[1].choices[0].delta, { reasoning: 'I look.', content: 'Done.' })
})

t.test('usage comes in an event of its own, or with every event', async (t) => {
  const [last] = stream(new CompletionTranslator(shape), event({ ...base, choices: [], usage, system_fingerprint: 'f' }))
  t.strictSame(last, { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 5, model: 'm', choices: [], usage, system_fingerprint: 'f' })
  const continuous = stream(new CompletionTranslator(shape), event({ ...base, choices: [{ index: 0, text: 'Done.', finish_reason: null }], usage }))
  t.strictSame(continuous.map((part) => part.usage), [usage, usage])
})

t.test('errors, comments, the end mark and what is no JSON stay as they are', async (t) => {
  const translator = new CompletionTranslator(shape)
  for (const kept of [event({ error: { message: 'x' } }), event('[DONE]'), event('{"id'), event('null'), { raw: Buffer.from(': alive\n\n'), data: null }]) {
    t.same(translator.events(kept), [kept])
  }
  for (const body of ['{"error":{"message":"x"}}', 'no JSON', '{"choices":[]}', 'null', '[]']) t.equal(translator.reply(Buffer.from(body)).toString(), body)
})

t.test('text outside the basic plane, and marks inside the text, come through unchanged', async (t) => {
  const text = 'Done: 👩‍👩‍👧 \u2028 "quoted" \\ <think>quoted</think> <|im_end|>'
  t.equal(whole(text).choices[0].message.content, text)
})

t.test('a translator says whether thinking is open, shown or not', async (t) => {
  const translator = new CompletionTranslator({ ...shape, showsThinking: false })
  translator.events(chunk('<think>I look.'))
  t.ok(translator.thinkingOpen)
  translator.events(chunk('</think>'))
  t.notOk(translator.thinkingOpen)
})
