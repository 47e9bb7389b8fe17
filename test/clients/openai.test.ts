// The `openai` package through warmfork, as agents use it.

import OpenAI, { APIError, APIUserAbortError } from 'openai'
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions'
import t from 'tap'
import { simulatorModel } from '../../src/simulator/simulator.ts'
import { isFork, startWarmfork, whenForked } from '../helpers/warmfork.ts'
import { answer, comparable, generated, holds, keepingFetch, question, readFile, readFileParameters, script, summary, summaryInstruction, summarySystem, system } from './session.ts'

const warmfork = await startWarmfork(t)
t.beforeEach(() => {
  warmfork.script.reply = script
})

/** A client with its own retries, at warmfork or at another address. */
const clientFor = (url = warmfork.app.url, fetcher?: typeof fetch): OpenAI =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: 'sk-test', ...(fetcher && { fetch: fetcher }) })

const readTool = {
  type: 'function',
  function: { name: 'read_file', description: 'Reads a file.', parameters: readFileParameters, function: readFile, parse: JSON.parse },
} as const

let sessions = 0
const opening = (): ChatCompletionMessageParam[] => [
  { role: 'system', content: system },
  { role: 'user', content: `Session ${++sessions}. ${question}` },
]

/** One whole session. @returns all its messages, the last answer included */
async function work(client: OpenAI, stream: boolean, messages = opening()): Promise<ChatCompletionMessageParam[]> {
  const tools = [readTool as never]
  const runner = stream
    ? client.chat.completions.runTools({ model: simulatorModel, messages, tools, stream: true })
    : client.chat.completions.runTools({ model: simulatorModel, messages, tools })
  await runner.done()
  return runner.messages as ChatCompletionMessageParam[]
}

function summaryOf(messages: readonly ChatCompletionMessageParam[]) {
  return {
    model: simulatorModel,
    messages: [
      { role: 'system' as const, content: summarySystem },
      ...messages.slice(1),
      { role: 'user' as const, content: 'What did we do so far?' },
      { role: 'user' as const, content: summaryInstruction },
    ],
    max_tokens: 1000,
  }
}

for (const stream of [false, true]) {
  const how = stream ? 'streaming' : 'whole'

  t.test(`a session with a tool loop, then its summary as a fork, ${how}`, async (t) => {
    const client = clientFor()
    const since = warmfork.since()
    const messages = await work(client, stream)
    t.equal(messages.at(-1)?.content, answer)
    t.equal(messages.filter(({ role }) => role === 'tool').length, 3)
    t.equal(since.generations().length, 4)

    const asked = warmfork.since()
    const { data, response } = stream
      ? await client.chat.completions.create({ ...summaryOf(messages), stream, stream_options: { include_usage: true } }).withResponse()
      : await client.chat.completions.create(summaryOf(messages)).withResponse()
    t.equal(response.headers.get('x-warmfork-decision'), 'forked')
    t.equal(response.headers.get('x-warmfork-cache-hit-verified'), 'false')
    const { text, finish, usage } = 'choices' in data
      ? { text: data.choices[0]!.message.content, finish: data.choices[0]!.finish_reason, usage: data.usage }
      : await readStream(data)
    t.equal(text, summary)
    t.equal(finish, 'stop')
    t.ok(usage!.prompt_tokens_details!.cached_tokens! > 0.9 * usage!.prompt_tokens)
    t.equal(generated(asked).filter(isFork).length, 1)
    t.equal(generated(asked).length, 1)
  })

  t.test(`requests and replies are the same with and without warmfork, ${how}`, async (t) => {
    const messages = opening()
    const [through, alone] = [keepingFetch(), keepingFetch()]
    let since = warmfork.since()
    await work(clientFor(warmfork.app.url, through.fetch), stream, structuredClone(messages))
    const sentThrough = generated(since)
    since = warmfork.since()
    await work(clientFor(warmfork.engine.url, alone.fetch), stream, structuredClone(messages))
    const sentAlone = generated(since)
    t.equal(sentThrough.length, 4)
    t.same(sentThrough, sentAlone)
    t.same(await comparable(through.bodies), await comparable(alone.bodies))
  })

  t.test(`a failed fork is a 422 with our code, and is not retried, ${how}`, async (t) => {
    const client = clientFor()
    const messages = await work(client, stream)
    warmfork.script.reply = whenForked({ content: ' ' }, { content: summary })
    const since = warmfork.since()
    const error = await client.chat.completions.create({ ...summaryOf(messages), stream }).catch((error: unknown) => error)
    t.type(error, APIError)
    t.match(error, { status: 422, code: 'summary_empty', type: 'summary_error' })
    t.equal((error as APIError).headers?.get('x-warmfork-decision'), 'refused')
    t.notOk(await holds(() => since.generations().length > 1, 1_500), 'the client does not ask again')

    const next = await client.chat.completions.create(summaryOf(messages)).withResponse()
    t.equal(next.response.headers.get('x-warmfork-fallback-reason'), 'fork_failed_before')
    t.equal(next.data.choices[0]!.message.content, summary)
  })
}

t.test('a streamed summary without asking for usage shows none, and no token ids', async (t) => {
  const client = clientFor()
  const messages = await work(client, true)
  const stream = await client.chat.completions.create({ ...summaryOf(messages), stream: true })
  for await (const chunk of stream) {
    t.notOk(chunk.usage)
    t.notOk((chunk as { prompt_token_ids?: unknown }).prompt_token_ids)
    t.equal(chunk.choices.length, 1)
  }
})

t.test('a fork that fails after its first words ends the stream with an error that the client throws', async (t) => {
  const client = clientFor()
  const messages = await work(client, true)
  warmfork.script.reply = whenForked({ content: summary, finish: 'length' })
  const since = warmfork.since()
  const stream = await client.chat.completions.create({ ...summaryOf(messages), stream: true })
  const error = await readStream(stream).catch((error: unknown) => error)
  t.match(error, { code: 'summary_truncated' })
  t.equal(since.generations().length, 1)
})

t.test('an abort in the middle of a stream ends the generation', async (t) => {
  const slow = await startWarmfork(t, { engine: { decodeSecondsPerToken: 0.05, reply: () => ({ content: answer.repeat(20) }) } })
  const stream = await clientFor(slow.app.url).chat.completions.create({ model: simulatorModel, messages: opening(), stream: true })
  for await (const chunk of stream) {
    if (chunk.choices[0]?.delta.content) break
  }
  t.equal(stream.controller.signal.aborted, true)
  t.ok(await holds(() => slow.engine.running === 0, 1_000))

  const abort = new AbortController()
  const waiting = clientFor(slow.app.url).chat.completions.create({ model: simulatorModel, messages: opening() }, { signal: abort.signal })
  t.ok(await holds(() => slow.engine.running === 1, 1_000))
  abort.abort()
  t.type(await waiting.catch((error: unknown) => error), APIUserAbortError)
  t.ok(await holds(() => slow.engine.running === 0, 1_000))
})

t.test('a body over the limit is a 413 that the client reads', async (t) => {
  const small = await startWarmfork(t, { config: { limits: { body_bytes: 1_000_000 } } })
  const messages = [{ role: 'user' as const, content: 'x'.repeat(3_000_000) }]
  const error = await clientFor(small.app.url).chat.completions.create({ model: simulatorModel, messages }).catch((error: unknown) => error)
  t.match(error, { status: 413, code: 'body_too_large', type: 'invalid_request_error' })
  t.equal(small.engine.requests.length, 0)
})

t.test('an engine that is not there is a 502 that the client reads', async (t) => {
  const lost = await startWarmfork(t, { between: async () => 'http://127.0.0.1:1' })
  const error = await clientFor(lost.app.url).chat.completions.create({ model: simulatorModel, messages: opening() }).catch((error: unknown) => error)
  t.match(error, { status: 502, code: 'upstream_unreachable', type: 'upstream_error' })
})

async function readStream(stream: AsyncIterable<OpenAI.ChatCompletionChunk>) {
  let text = ''
  let finish: string | null = null
  let usage: OpenAI.CompletionUsage | null | undefined
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? ''
    finish = chunk.choices[0]?.finish_reason ?? finish
    usage = chunk.usage ?? usage
  }
  return { text, finish, usage }
}
