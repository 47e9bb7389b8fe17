// The `tokens` placement on the chat endpoint: members, events and options as its clients know them, real ones among them.

import OpenAI from 'openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, streamText } from 'ai'
import t, { type Test } from 'tap'
import type { Reply as Scripted } from '../../src/simulator/simulator.ts'
import { type ChatReply, opencodeSession, type Session, startWarmfork, streamed, whenForked } from '../helpers/warmfork.ts'

const warmfork = await startWarmfork(t, { engine: { reasoningParser: true } })

t.afterEach(() => {
  warmfork.script.reply = undefined
  warmfork.script.fault = undefined
})

/** A 20-call loop whose client echoes reasoning: a trailing user message would drop all of it. */
function loop(): Session {
  return opencodeSession({ groups: 20, outputTokens: 300, reasoning: 'reasoning_content' })
}

async function forked(t: Test, reply: Scripted, options: object = {}, session = loop()): Promise<{ reply: ChatReply, session: Session }> {
  await warmfork.main(session)
  warmfork.script.reply = whenForked(reply)
  const given = await warmfork.chat({ ...session.summary, ...options })
  t.match(await warmfork.receipt(given), { placement: 'tokens', eligible: true, fork_sent: true })
  return { reply: given, session }
}

/** The same reply from the engine's chat endpoint. */
async function fromChat(reply: Scripted, options: object = {}): Promise<ChatReply> {
  warmfork.script.reply = () => reply
  const { summary } = opencodeSession()
  return warmfork.engineAlone({ ...summary, ...options })
}

const replies: Record<string, Scripted> = {
  'thinking and text': { reasoning: 'I look at\nwhat happened.', content: 'Done: 漢字, 👩‍👩‍👧, "quotes", \\ and\n\n- a list\n' },
  'text that quotes marks': { reasoning: 'I look.', content: 'The log shows <think> and <|im_end|> in the middle.' },
  'empty thinking': { reasoning: '', content: 'Done.' },
}

for (const [what, reply] of Object.entries(replies)) {
  t.test(`${what}: a whole reply is the chat endpoint's, member by member`, async (t) => {
    const { reply: own } = await forked(t, reply)
    const chat = await fromChat(reply)
    const comparable = ({ parts: [part] }: ChatReply): any => ({ ...part, id: '', created: 0, usage: Object.keys(part.usage) })
    t.strictSame(comparable(own), comparable(chat))
    t.strictSame(Object.keys(own.parts[0]), Object.keys(chat.parts[0]), 'in the same order')
    t.strictSame(Object.keys(own.parts[0].choices[0]), Object.keys(chat.parts[0].choices[0]))
    t.strictSame(Object.keys(own.parts[0].choices[0].message), Object.keys(chat.parts[0].choices[0].message))
    t.match(own.parts[0].id, /^chatcmpl-/)
  })

  t.test(`${what}: a stream's events are the chat endpoint's, one for one`, async (t) => {
    const { reply: own } = await forked(t, reply, streamed)
    const chat = await fromChat(reply, streamed)
    const comparable = ({ parts }: ChatReply): any[] => parts.map((part) => ({ ...part, id: '', created: 0, usage: part.usage && usageKeys(part.usage) }))
    const joined = ({ parts }: ChatReply, key: string): string => parts.map((part) => part.choices[0]?.delta[key] ?? '').join('')
    t.equal(joined(own, 'content'), joined(chat, 'content'))
    t.equal(joined(own, 'reasoning'), joined(chat, 'reasoning'))
    t.strictSame(new Set(comparable(own).map((part) => shapeOf(part))), new Set(comparable(chat).map((part) => shapeOf(part))), 'the same kinds of events')
    t.equal(own.finish, chat.finish)
    t.ok(own.done)
    t.strictSame(comparable(own)[0], comparable(chat)[0])
    t.strictSame(comparable(own).at(-1), comparable(chat).at(-1))
    t.equal(new Set(own.parts.map(({ id }) => id)).size, 1)
  })
}

/** Completions do not count the tokens of thinking. */
function usageKeys(usage: object): string[] {
  return Object.keys(usage).filter((key) => key !== 'completion_tokens_details')
}

/** Keys of an event and what it holds in them. */
function shapeOf(part: any): string {
  return JSON.stringify([Object.keys(part), part.choices.map((choice: any) => [Object.keys(choice), Object.keys(choice.delta), typeof choice.finish_reason])])
}

t.test('a client that asks for no usage gets none', async (t) => {
  const { reply } = await forked(t, { reasoning: 'I look.', content: 'Done.' }, { stream: true })
  t.notOk(reply.text.includes('"usage"'))
  t.notOk(reply.parts.some(({ choices }) => choices.length === 0))
  const chat = await fromChat({ reasoning: 'I look.', content: 'Done.' }, { stream: true })
  t.equal(reply.parts.at(-1).system_fingerprint, chat.parts.at(-1).system_fingerprint)
  t.strictSame(Object.keys(reply.parts.at(-1)), Object.keys(chat.parts.at(-1)))
  t.type((await warmfork.outcome(reply))['engine_cached_tokens'], 'number')
})

t.test('a client that asks for no thinking gets none', async (t) => {
  for (const options of [{}, streamed]) {
    const { reply } = await forked(t, { reasoning: 'A secret thought.', content: 'Done.' }, { ...options, include_reasoning: false })
    t.notOk(reply.text.includes('secret'))
    t.equal(reply.content.trim(), 'Done.')
    t.equal(reply.finish, 'stop')
  }
})

t.test('stop strings end the text, and are named', async (t) => {
  for (const options of [{}, streamed]) {
    const { reply } = await forked(t, { reasoning: 'I look.', content: 'Done. END and more' }, { ...options, stop: ['END'] })
    t.equal(reply.content.trim(), 'Done.')
    t.equal(reply.finish, 'stop')
    t.equal(reply.parts.flatMap(({ choices }) => choices).findLast((choice: any) => choice.finish_reason).stop_reason, 'END')
  }
})

t.test('a token limit is always sent: the one asked for, or what the window leaves', async (t) => {
  for (const limit of [{ max_tokens: 500 }, { max_completion_tokens: 500, max_tokens: undefined }, { max_tokens: undefined }]) {
    const since = warmfork.since()
    await forked(t, { reasoning: 'I look.', content: 'Done.' }, limit)
    const { prompt, ...sent } = JSON.parse(since.generations().at(-1)!.body.toString('utf8'))
    t.equal(sent.max_tokens, 'max_tokens' in limit && Object.values(limit).every((value) => value === undefined) ? 40_960 - prompt.length : 500)
    t.notOk('max_completion_tokens' in sent)
  }
})

t.test('the openai package reads it, whole and streamed', async (t) => {
  const client = new OpenAI({ baseURL: `http://127.0.0.1:${warmfork.port}/v1`, apiKey: 'x', maxRetries: 0 })
  const prepared = async (): Promise<any> => {
    const session = loop()
    // The same client: evidence belongs to its credential.
    warmfork.script.reply = undefined
    await client.chat.completions.create(session.main as any)
    warmfork.script.reply = whenForked({ reasoning: 'I look.', content: 'Done.' })
    return session.summary
  }
  const whole = await client.chat.completions.create(await prepared()).withResponse()
  t.equal(whole.response.headers.get('x-warmfork-decision'), 'forked')
  t.equal(whole.data.choices[0]!.message.content?.trim(), 'Done.')
  t.equal((whole.data.choices[0]!.message as any).reasoning.trim(), 'I look.')
  const stream = client.chat.completions.stream({ ...await prepared(), stream_options: { include_usage: true } })
  const final = await stream.finalChatCompletion()
  t.equal(final.choices[0]!.message.content?.trim(), 'Done.')
  t.equal(final.choices[0]!.finish_reason, 'stop')
  t.ok(final.usage!.prompt_tokens > 4_000)
})

t.test('the ai package reads it, whole and streamed', async (t) => {
  const provider = createOpenAICompatible({ name: 'warmfork', baseURL: `http://127.0.0.1:${warmfork.port}/v1`, includeUsage: true, transformRequestBody: () => next })
  let next: Record<string, any> = {}
  const prepare = async (options: object): Promise<void> => {
    const session = loop()
    warmfork.script.reply = undefined
    await warmfork.main(session)
    warmfork.script.reply = whenForked({ reasoning: 'I look.', content: 'Done.' })
    next = { ...session.summary, ...options }
  }
  await prepare({})
  const whole = await generateText({ model: provider('m'), prompt: 'x', maxRetries: 0 })
  t.equal(whole.text.trim(), 'Done.')
  t.equal(whole.reasoningText?.trim(), 'I look.')
  t.equal(whole.finishReason, 'stop')
  await prepare(streamed)
  const stream = streamText({ model: provider('m'), prompt: 'x', maxRetries: 0 })
  t.equal((await stream.text).trim(), 'Done.')
  t.equal((await stream.reasoningText)?.trim(), 'I look.')
  t.equal(await stream.finishReason, 'stop')
  t.ok((await stream.usage).inputTokens! > 4_000)
})
