import t from 'tap'
import { calibrate, readRendered, sample, shapeOf, type Calibration } from '../../src/engine/calibration.ts'
import type { Answer } from '../../src/engine/client.ts'
import { answer, assistant, calls, chatRequest, system, tool, user } from '../helpers/chat-requests.ts'

const plain = chatRequest({ model: 'm', messages: [system, user('one')] })
const withTools = chatRequest({ model: 'm', messages: [system, user('one'), calls('a'), answer('a')], tools: [tool('look')] })

interface Asked {
  messages: Record<string, unknown>[]
  tools?: unknown
  tool_choice?: string
  reasoning_effort?: string
  chat_template_kwargs?: Record<string, unknown>
}

/** What an engine answers to a question; null is no answer. */
type Says = (body: Asked) => number[] | number | null

/** An engine that renders as told; a number is a status. */
async function calibrated(request: typeof plain, engine: { chat: Says, tokenize?: Says, render?: Says }): Promise<{ found: Calibration, asked: string[] }> {
  const asked: string[] = []
  const found = await calibrate(request, async (target, body): Promise<Answer | null> => {
    asked.push(target)
    const says = { '/v1/chat/completions': engine.chat, '/tokenize': engine.tokenize, '/v1/chat/completions/render': engine.render }[target]
    const said = says ? says(JSON.parse(body.toString('utf8')) as Asked) : 404
    if (said === null) return null
    if (typeof said === 'number') return { status: said, body: Buffer.from('{"error":{"message":"x"}}') }
    const key = { '/v1/chat/completions': 'prompt_token_ids', '/tokenize': 'tokens', '/v1/chat/completions/render': 'token_ids' }[target]!
    return { status: 200, body: Buffer.from(JSON.stringify({ id: 'x', [key]: said })) }
  })
  return { found, asked }
}

const ids = (): number[] => [1, 2, 3]
const others = (): number[] => [1, 2, 4]

t.test('equal ids calibrate /tokenize, and nothing more is asked', async (t) => {
  const { found, asked } = await calibrated(plain, { chat: ids, tokenize: ids })
  t.match(found, { state: 'calibrated', proof: 'tokenize', toolChoiceNone: true })
  t.strictSame(asked, ['/v1/chat/completions', '/tokenize'])
})

t.test('unequal ids leave the render endpoint, which must be equal too', async (t) => {
  t.match((await calibrated(plain, { chat: ids, tokenize: others, render: ids })).found, { state: 'calibrated', proof: 'render' })
  t.match((await calibrated(plain, { chat: ids, tokenize: others, render: others })).found, { state: 'uncalibrated' })
  t.match((await calibrated(plain, { chat: ids, tokenize: () => [1, 2], render: () => [1, 2, 3, 4] })).found, { state: 'uncalibrated' })
})

t.test('a render endpoint that answers 403, 404 or 405 is not there', async (t) => {
  for (const status of [403, 404, 405]) t.match((await calibrated(plain, { chat: ids, tokenize: others, render: () => status })).found, { state: 'uncalibrated' }, `${status}`)
})

t.test('no answer in time, and an answer of a busy engine, is later and not unequal', async (t) => {
  for (const nothing of [null, 500, 503, 429, 408]) {
    t.match((await calibrated(plain, { chat: () => nothing, tokenize: ids })).found, { state: 'unanswered', reason: 'tokenize_unavailable' }, `chat ${nothing}`)
    t.match((await calibrated(plain, { chat: ids, tokenize: () => nothing, render: ids })).found, { state: 'unanswered', reason: 'tokenize_unavailable' }, `tokenize ${nothing}`)
    t.match((await calibrated(plain, { chat: ids, tokenize: others, render: () => nothing })).found, { state: 'unanswered', reason: 'tokenize_unavailable' }, `render ${nothing}`)
  }
  t.match((await calibrated(plain, { chat: () => 401, tokenize: ids })).found, { state: 'unanswered' })
})

t.test('a /tokenize that a gateway hides or guards leaves the render endpoint', async (t) => {
  for (const status of [401, 403, 404, 405]) {
    t.match((await calibrated(plain, { chat: ids, tokenize: () => status, render: ids })).found, { state: 'calibrated', proof: 'render' }, `${status}`)
    t.match((await calibrated(plain, { chat: ids, tokenize: () => status })).found, { state: 'unanswered', reason: 'tokenize_unavailable' }, `${status}`)
  }
})

t.test('a chat that tells no ids, or refuses, proves nothing', async (t) => {
  t.match((await calibrated(plain, { chat: () => 400, tokenize: ids, render: ids })).found, { state: 'uncalibrated' })
  const untold = await calibrate(plain, async () => ({ status: 200, body: Buffer.from('{"prompt_token_ids":null,"tokens":[1]}') }))
  t.match(untold, { state: 'uncalibrated' })
})

t.test('a /tokenize without usable ids has a reason of its own', async (t) => {
  const found = await calibrate(plain, async (target) => ({
    status: target.endsWith('/render') ? 404 : 200,
    body: Buffer.from(target === '/tokenize' ? '{"tokens":[1,2.5]}' : '{"prompt_token_ids":[1,2]}'),
  }))
  t.strictSame(found, { state: 'unanswered', reason: 'token_ids_missing' })
})

t.test('with tools, a fork may say none where that changes nothing', async (t) => {
  const { found, asked } = await calibrated(withTools, { chat: ids, tokenize: ids })
  t.match(found, { state: 'calibrated', proof: 'tokenize', toolChoiceNone: true })
  t.strictSame(asked, ['/v1/chat/completions', '/v1/chat/completions', '/tokenize'])
})

t.test('a server that hides tools when none may be called keeps the evidence’s own choice', async (t) => {
  const hides: Says = ({ tool_choice }) => (tool_choice === 'none' ? [1] : [1, 2, 3])
  t.match((await calibrated(withTools, { chat: hides, tokenize: ids })).found, { state: 'calibrated', proof: 'tokenize', toolChoiceNone: false })
  t.match((await calibrated(withTools, { chat: hides, tokenize: others, render: hides })).found, { state: 'calibrated', proof: 'render', toolChoiceNone: false })
})

t.test('a server without tool parsing takes tools only with none', async (t) => {
  const refusesAuto: Says = ({ tool_choice }) => (tool_choice === 'none' ? [1, 2, 3] : 400)
  t.match((await calibrated(withTools, { chat: refusesAuto, tokenize: ids })).found, { state: 'calibrated', proof: 'tokenize', toolChoiceNone: true })
  t.match((await calibrated(withTools, { chat: refusesAuto, tokenize: others, render: refusesAuto })).found, { state: 'calibrated', proof: 'render', toolChoiceNone: true })
  const refusesNone: Says = ({ tool_choice }) => (tool_choice === 'none' ? 400 : [1, 2, 3])
  t.match((await calibrated(withTools, { chat: refusesNone, tokenize: ids })).found, { state: 'calibrated', toolChoiceNone: false })
})

t.test('the dialect is the one that gives the chat’s ids', async (t) => {
  const thinking = chatRequest({ model: 'm', reasoning_effort: 'high', messages: [user('one'), { role: 'assistant', content: 'x', reasoning_content: 'hm' }] })
  const renders = (renames: boolean, sets: boolean): Says => ({ messages, chat_template_kwargs }) =>
    [messages.some(({ reasoning }) => reasoning !== undefined) === renames ? 1 : 0, ('enable_thinking' in (chat_template_kwargs ?? {})) === sets ? 1 : 0]
  for (const renamesReasoning of [true, false]) {
    for (const effortSetsThinking of [true, false]) {
      const { found } = await calibrated(thinking, { chat: () => [1, 1], tokenize: renders(renamesReasoning, effortSetsThinking) })
      t.match(found, { state: 'calibrated', dialect: { renamesReasoning, effortSetsThinking } })
    }
  }
})

t.test('the small conversation has the request’s shapes and options, and none of its text', async (t) => {
  const secret = 'CANARY'
  const request = chatRequest({
    model: 'm', chat_template_kwargs: { a: 1 }, cache_salt: 's', temperature: 1, user: secret, metadata: { secret },
    messages: [{ role: 'developer', content: secret }, user(secret), { ...calls('a'), reasoning: secret }, answer('a', secret), assistant(secret)], tools: [tool(secret)],
  })
  const { options, messages } = sample(request)
  const text = [options.body, ...messages].map(String).join('\n')
  t.notMatch(text, /CANARY/)
  const read = messages.map((message) => JSON.parse(message.toString()) as Record<string, unknown>)
  t.strictSame(read.map(({ role }) => role), ['developer', 'user', 'assistant', 'tool'])
  t.ok(read[2]!.reasoning)
  t.match(JSON.parse(String(options.body)), { model: 'm', chat_template_kwargs: { a: 1 }, cache_salt: 's' })
  t.notOk(String(options.body).includes('temperature'))
  t.strictSame(sample(plain).messages.map((message) => (JSON.parse(message.toString()) as { role: string }).role), ['system', 'user', 'assistant', 'user'])
  t.equal(sample(plain).options.tools, null)
})

t.test('requests of one shape share a calibration, and others do not', async (t) => {
  const shape = (body: object): string => shapeOf(chatRequest({ model: 'm', messages: [user('one')], ...body }))
  t.equal(shape({}), shape({ messages: [user('two')], temperature: 1, user: 'u', metadata: { a: 1 }, max_tokens: 5, request_id: 'r', cache_salt: 's' }))
  const all = [
    {}, { model: 'n' }, { chat_template_kwargs: { a: 1 } }, { reasoning_effort: 'low' }, { tools: [tool('x')] }, { messages: [system, user('one')] }, { messages: [user('one'), calls('a'), answer('a')] },
    { messages: [user('one'), { role: 'assistant', reasoning: 'x' }] }, { messages: [user('one'), { role: 'assistant', reasoning_content: 'x' }] }, { future: 1 },
  ].map(shape)
  t.equal(new Set(all).size, all.length)
})

t.test('rendered ids are read from the object of today and from the list of before', async (t) => {
  t.strictSame(readRendered(Buffer.from('{"request_id":"x","token_ids":[1,2]}')), new Uint32Array([1, 2]))
  t.strictSame(readRendered(Buffer.from('[[{"role":"user"}],[{"prompt_token_ids":[3]}]]')), new Uint32Array([3]))
  t.equal(readRendered(Buffer.from('{"detail":"x"}')), null)
})
