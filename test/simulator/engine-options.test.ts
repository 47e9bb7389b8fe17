import t from 'tap'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { chat, question, say, tools } from './client.ts'

const long = [{ role: 'user', content: ' word'.repeat(100) }]
const ids = async (...args: Parameters<typeof chat>): Promise<number[]> => (await chat(args[0], { return_token_ids: true, max_tokens: 1, ...args[1] })).json.prompt_token_ids
const cached = (said: { json: any }): number | null => said.json.usage.prompt_tokens_details?.cached_tokens ?? null

t.test('an api key guards /v1 alone, by bearer', async (t) => {
  const simulator = await startSimulator({ apiKey: 'secret' })
  t.teardown(() => simulator.close())
  for (const path of ['/v1/models', '/v1/chat/completions', '/v1/nothing']) {
    const answer = await say(simulator, path)
    t.equal(answer.status, 401, path)
    t.strictSame(answer.json, { error: 'Unauthorized' }, path)
  }
  t.equal((await say(simulator, '/v1/models', undefined, { 'x-api-key': 'secret' })).status, 401)
  t.equal((await say(simulator, '/v1/models', undefined, { authorization: 'Bearer secret' })).status, 200)
  for (const path of ['/metrics', '/health', '/version', '/ping']) t.equal((await say(simulator, path)).status, 200, path)
  t.equal((await say(simulator, '/tokenize', { prompt: 'a' })).status, 200)
})

t.test('several served names are one model with one cache', async (t) => {
  const simulator = await startSimulator({ model: ['one', 'two'] })
  t.teardown(() => simulator.close())
  t.strictSame((await say(simulator, '/v1/models')).json.data.map((card: any) => card.id), ['one', 'two'])
  await chat(simulator, { model: 'one', messages: long })
  const second = await chat(simulator, { model: 'two', messages: long })
  t.equal(second.json.model, 'two')
  t.equal(cached(second), 96)
  t.equal((await chat(simulator, { model: 'three' })).status, 404)
})

t.test('cached tokens can be unreported, and caching switched off', async (t) => {
  const silent = await startSimulator({ promptTokensDetails: false })
  t.teardown(() => silent.close())
  t.equal((await chat(silent)).json.usage.prompt_tokens_details, null)
  const off = await startSimulator({ prefixCaching: false })
  t.teardown(() => off.close())
  await chat(off, { messages: long })
  t.equal(cached(await chat(off, { messages: long })), 0, 'zero, not null')
  t.match((await say(off, '/metrics')).text, /enable_prefix_caching="False"/)
  const statless = await startSimulator({ logStats: false })
  t.teardown(() => statless.close())
  const { status, text } = await say(statless, '/metrics')
  t.equal(status, 200)
  t.notMatch(text, /vllm:/)
})

t.test('a budget of blocks forgets', async (t) => {
  const simulator = await startSimulator({ cacheBlocks: 8 })
  t.teardown(() => simulator.close())
  await chat(simulator, { messages: long })
  t.equal(cached(await chat(simulator, { messages: long })), 96)
  await chat(simulator, { messages: [{ role: 'user', content: ' other'.repeat(100) }] })
  t.ok(cached(await chat(simulator, { messages: long }))! < 96)
})

t.test('restart: a cold cache, another start time, the same port', async (t) => {
  const simulator = await startSimulator()
  t.teardown(() => simulator.close())
  const started = async (): Promise<number> => Number(/^process_start_time_seconds (\S+)$/m.exec((await say(simulator, '/metrics')).text)![1])
  const before = await started()
  await chat(simulator, { messages: long })
  await new Promise((resolve) => setTimeout(resolve, 20))
  simulator.restart()
  t.ok(await started() > before)
  t.equal(cached(await chat(simulator, { messages: long })), 0)
})

t.test('restart breaks what runs, and may change options', async (t) => {
  const simulator = await startSimulator({ decodeSecondsPerToken: 0.01 })
  t.teardown(() => simulator.close())
  const running = chat(simulator, { ignore_eos: true, max_tokens: 1_000 })
  const broken = t.rejects(running)
  await new Promise((resolve) => setTimeout(resolve, 40))
  const old = await ids(simulator)
  simulator.restart({ template: (template) => template.replace("'<|im_start|>assistant\\n'", "'<|im_start|>assistant\\n<think>\\n'") })
  await broken
  t.equal(simulator.running, 0)
  const changed = await ids(simulator)
  t.equal(changed.length, old.length + 2, 'the new template is in force for chat')
  t.strictSame((await say(simulator, '/tokenize', { messages: question })).json.tokens, changed, 'and for /tokenize')
})

t.test('options that set chat apart from /tokenize', async (t) => {
  const tokenized = async (simulator: Parameters<typeof say>[0], body: object): Promise<number[]> => (await say(simulator, '/tokenize', body)).json.tokens
  const excluding = await startSimulator({ excludeToolsWhenToolChoiceNone: true })
  t.teardown(() => excluding.close())
  const body = { messages: question, tools }
  t.strictSame(await ids(excluding, body), await tokenized(excluding, body))
  t.not((await ids(excluding, { ...body, tool_choice: 'none' })).length, (await tokenized(excluding, body)).length)

  const thinkingOff = await startSimulator({ chatTemplateKwargsDefault: { enable_thinking: false } })
  t.teardown(() => thinkingOff.close())
  t.equal((await ids(thinkingOff)).length, (await tokenized(thinkingOff, { messages: question })).length + 4)
  t.strictSame(await ids(thinkingOff, { chat_template_kwargs: { enable_thinking: true } }), await tokenized(thinkingOff, { messages: question }))
  t.strictSame(await ids(thinkingOff, { reasoning_effort: 'high' }), await tokenized(thinkingOff, { messages: question }), 'an effort turns thinking on against the default')

  const harmony = await startSimulator({ chatPrompt: (rendered) => `<|endoftext|>${rendered}` })
  t.teardown(() => harmony.close())
  t.equal((await ids(harmony))[0], 151643)

  const older = await startSimulator({ renamesReasoningContent: false })
  t.teardown(() => older.close())
  const loop = [...question, { role: 'assistant', content: 'a', reasoning_content: 'b' }]
  t.strictSame(await ids(older, { messages: loop }), await tokenized(older, { messages: loop }))
})

t.test('without a tool parser a chat with tools is refused, but not with tool_choice none', async (t) => {
  const simulator = await startSimulator({ toolParser: false })
  t.teardown(() => simulator.close())
  t.equal((await chat(simulator, { tools })).status, 400)
  t.equal((await chat(simulator, { tools, tool_choice: 'none' })).status, 200)
})

t.test('requests are recorded whole, byte for byte', async (t) => {
  const simulator = await startSimulator({ record: true })
  t.teardown(() => simulator.close())
  await say(simulator, '/v1/chat/completions?a=b', { messages: question, max_tokens: 1 }, { 'X-Mark': 'Yes' })
  const [request] = simulator.requests
  t.equal(request!.method, 'POST')
  t.equal(request!.target, '/v1/chat/completions?a=b')
  t.equal(request!.rawHeaders[request!.rawHeaders.indexOf('X-Mark') + 1], 'Yes')
  t.equal(request!.body.toString(), JSON.stringify({ messages: question, max_tokens: 1 }))
})

t.test('close ends running replies and idle connections', async (t) => {
  const simulator = await startSimulator({ decodeSecondsPerToken: 0.01 })
  const broken = t.rejects(chat(simulator, { ignore_eos: true, max_tokens: 1_000 }))
  await new Promise((resolve) => setTimeout(resolve, 40))
  const start = performance.now()
  await simulator.close()
  t.ok(performance.now() - start < 500)
  await broken
})
