// The `ai` package with @ai-sdk/openai-compatible through warmfork, as opencode and others use it.

import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { APICallError, generateText, isStepCount, jsonSchema, type ModelMessage, streamText, tool } from 'ai'
import t from 'tap'
import { simulatorModel } from '../../src/simulator/simulator.ts'
import { isFork, startWarmfork, whenForked } from '../helpers/warmfork.ts'
import { answer, comparable, generated, holds, keepingFetch, question, readFile, readFileParameters, script, summary, summaryInstruction, summarySystem, system } from './session.ts'

const warmfork = await startWarmfork(t)
t.beforeEach(() => {
  warmfork.script.reply = script
})

function modelAt(url = warmfork.app.url, fetcher?: typeof fetch) {
  return createOpenAICompatible({ name: 'engine', baseURL: `${url}/v1`, apiKey: 'sk-test', includeUsage: true, ...(fetcher && { fetch: fetcher }) })
    .chatModel(simulatorModel)
}

type Model = ReturnType<typeof modelAt>

const tools = {
  read_file: tool({ description: 'Reads a file.', inputSchema: jsonSchema<{ path: string }>(readFileParameters as never), execute: async (input) => readFile(input) }),
}

let sessions = 0
const opening = (): ModelMessage[] => [{ role: 'user', content: `Session ${++sessions}. ${question}` }]

/** One whole session. @returns all its messages, the last answer included */
async function work(model: Model, stream: boolean, messages = opening()): Promise<ModelMessage[]> {
  const asked = { model, instructions: system, messages, tools, stopWhen: isStepCount(10) }
  if (!stream) return [...messages, ...(await generateText(asked)).responseMessages]
  const result = streamText(asked)
  await result.consumeStream()
  return [...messages, ...await result.responseMessages]
}

function summaryOf(model: Model, messages: readonly ModelMessage[]) {
  return {
    model,
    instructions: summarySystem,
    messages: [...messages, { role: 'user' as const, content: 'What did we do so far?' }, { role: 'user' as const, content: summaryInstruction }],
    maxOutputTokens: 1000,
  }
}

/** What an agent has of a summary in the end, or the error that it sees. */
async function summarise(model: Model, messages: readonly ModelMessage[], stream: boolean) {
  if (!stream) {
    const { text, finishReason, usage, response } = await generateText(summaryOf(model, messages))
    return { text, finishReason, usage, headers: response.headers! }
  }
  let failed: unknown
  const result = streamText({ ...summaryOf(model, messages), onError: ({ error }) => void (failed = error) })
  await result.consumeStream({ onError: () => {} })
  if (failed !== undefined) throw failed
  return { text: await result.text, finishReason: await result.finishReason, usage: await result.usage, headers: (await result.response).headers! }
}

for (const stream of [false, true]) {
  const how = stream ? 'streaming' : 'whole'

  t.test(`a session with a tool loop, then its summary as a fork, ${how}`, async (t) => {
    const model = modelAt()
    const since = warmfork.since()
    const messages = await work(model, stream)
    t.match(JSON.stringify(messages.at(-1)), answer)
    t.equal(messages.filter(({ role }) => role === 'tool').length, 3)
    t.equal(since.generations().length, 4)

    const asked = warmfork.since()
    const { text, finishReason, usage, headers } = await summarise(model, messages, stream)
    t.equal(headers['x-warmfork-decision'], 'forked')
    t.equal(headers['x-warmfork-cache-hit-verified'], 'false')
    t.equal(text, summary)
    t.equal(finishReason, 'stop')
    t.ok(usage.inputTokenDetails.cacheReadTokens! > 0.9 * usage.inputTokens!)
    t.equal(generated(asked).length, 1)
    t.ok(isFork(generated(asked)[0]!))
  })

  t.test(`requests and replies are the same with and without warmfork, ${how}`, async (t) => {
    const messages = opening()
    const [through, alone] = [keepingFetch(), keepingFetch()]
    let since = warmfork.since()
    await work(modelAt(warmfork.app.url, through.fetch), stream, structuredClone(messages))
    const sentThrough = generated(since)
    since = warmfork.since()
    await work(modelAt(warmfork.engine.url, alone.fetch), stream, structuredClone(messages))
    const sentAlone = generated(since)
    t.equal(sentThrough.length, 4)
    t.same(sentThrough, sentAlone)
    t.same(await comparable(through.bodies), await comparable(alone.bodies))
  })

  t.test(`a failed fork is a 422 with our code, and is not retried, ${how}`, async (t) => {
    const model = modelAt()
    const messages = await work(model, stream)
    warmfork.script.reply = whenForked({ content: ' ' }, { content: summary })
    const since = warmfork.since()
    const error = await summarise(model, messages, stream).catch((error: unknown) => error)
    t.ok(APICallError.isInstance(error))
    t.match(error, { statusCode: 422, isRetryable: false, responseHeaders: { 'x-warmfork-decision': 'refused' } })
    t.equal(codeOf(error), 'summary_empty')
    t.notOk(await holds(() => since.generations().length > 1, 2_500), 'the client does not ask again')

    const next = await summarise(model, messages, stream)
    t.equal(next.headers['x-warmfork-fallback-reason'], 'fork_failed_before')
    t.equal(next.text, summary)
  })
}

t.test('a fork that fails after its first words ends the stream with an error that the client reports', async (t) => {
  const model = modelAt()
  const messages = await work(model, true)
  warmfork.script.reply = whenForked({ content: summary, finish: 'length' })
  const since = warmfork.since()
  const error = await summarise(model, messages, true).catch((error: unknown) => error)
  t.match(String(error instanceof Error ? error.message : JSON.stringify(error)), /cut at its token limit/)
  t.equal(since.generations().length, 1)
})

t.test('an abort in the middle of a stream ends the generation', async (t) => {
  const slow = await startWarmfork(t, { engine: { decodeSecondsPerToken: 0.05, reply: () => ({ content: answer.repeat(20) }) } })
  const abort = new AbortController()
  const { textStream } = streamText({ model: modelAt(slow.app.url), messages: opening(), abortSignal: abort.signal, onError: () => {} })
  for await (const text of textStream) {
    if (text !== '') abort.abort()
  }
  t.ok(await holds(() => slow.engine.running === 0, 1_000))
})

t.test('a body over the limit is a 413 that the client reads', async (t) => {
  const small = await startWarmfork(t, { config: { limits: { body_bytes: 1_000_000 } } })
  const error = await generateText({ model: modelAt(small.app.url), prompt: 'x'.repeat(3_000_000) }).catch((error: unknown) => error)
  t.match(error, { statusCode: 413, isRetryable: false })
  t.equal(codeOf(error), 'body_too_large')
  t.equal(small.engine.requests.length, 0)
})

t.test('an engine that is not there is a 502 that the client reads', async (t) => {
  const lost = await startWarmfork(t, { between: async () => 'http://127.0.0.1:1' })
  const error = await generateText({ model: modelAt(lost.app.url), prompt: question, maxRetries: 0 }).catch((error: unknown) => error)
  t.match(error, { statusCode: 502, isRetryable: true })
  t.equal(codeOf(error), 'upstream_unreachable')
})

function codeOf(error: unknown): unknown {
  return APICallError.isInstance(error) ? JSON.parse(error.responseBody ?? 'null')?.error.code : undefined
}
