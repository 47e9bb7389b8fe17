// The questions that a plan asks of the engine: how many, for how long, and what becomes of strange answers.

import t from 'tap'
import { type Fault, simulatorModel } from '../../src/simulator/simulator.ts'
import { opencodeSession, sameForAll, startWarmfork } from '../helpers/warmfork.ts'

const timeoutMs = 300
const warmfork = await startWarmfork(t, { config: { proof: { timeout_ms: timeoutMs } } })
const calibrated = opencodeSession()
await warmfork.main(calibrated)
await warmfork.line(({ msg }) => msg === 'calibration')

const strange: Record<string, { readonly fault: Fault, readonly reason: string }> = {
  '404': { fault: { kind: 'answer', status: 404, body: '{"detail":"Not Found"}' }, reason: 'tokenize_unavailable' },
  '500': { fault: { kind: 'answer', status: 500, body: '{}' }, reason: 'tokenize_unavailable' },
  '503 in HTML': { fault: { kind: 'answer', status: 503, body: '<html>busy</html>', contentType: 'text/html' }, reason: 'tokenize_unavailable' },
  'HTML': { fault: { kind: 'answer', status: 200, body: '<html>welcome</html>', contentType: 'text/html' }, reason: 'token_ids_missing' },
  'an empty body': { fault: { kind: 'answer', status: 200, body: '' }, reason: 'token_ids_missing' },
  'half an answer': { fault: { kind: 'half' }, reason: 'tokenize_unavailable' },
  'a reset': { fault: { kind: 'reset' }, reason: 'tokenize_unavailable' },
  'nothing': { fault: { kind: 'silence' }, reason: 'tokenize_unavailable' },
  'an answer too late': { fault: { kind: 'delay', ms: 2 * timeoutMs }, reason: 'tokenize_unavailable' },
  'no ids': { fault: { kind: 'rewrite', change: ({ tokens: _, ...rest }) => rest }, reason: 'token_ids_missing' },
  'null for ids': { fault: { kind: 'rewrite', change: (answer) => ({ ...answer, tokens: null }) }, reason: 'token_ids_missing' },
  'no id': { fault: { kind: 'rewrite', change: (answer) => ({ ...answer, tokens: [] }) }, reason: 'token_ids_missing' },
  'strings for ids': { fault: { kind: 'rewrite', change: (answer) => ({ ...answer, tokens: answer.tokens.map(String) }) }, reason: 'token_ids_missing' },
  'fractions for ids': { fault: { kind: 'rewrite', change: (answer) => ({ ...answer, tokens: answer.tokens.map((id: number) => id + 0.5) }) }, reason: 'token_ids_missing' },
  'negative ids': { fault: { kind: 'rewrite', change: (answer) => ({ ...answer, tokens: answer.tokens.map((id: number) => -id - 1) }) }, reason: 'token_ids_missing' },
  'ids in lists': { fault: { kind: 'rewrite', change: (answer) => ({ ...answer, tokens: [answer.tokens] }) }, reason: 'token_ids_missing' },
  'the ids of another prompt': { fault: { kind: 'rewrite', change: (answer) => ({ ...answer, tokens: [1, 2, 3] }) }, reason: 'tokenizer_uncalibrated' },
}

for (const [what, { fault, reason }] of Object.entries(strange)) {
  t.test(`a /tokenize that answers ${what} leaves the summary as it came, in time`, async (t) => {
    const session = opencodeSession()
    await warmfork.main(session)
    warmfork.script.fault = ({ path }) => path === '/tokenize' ? fault : undefined
    const since = warmfork.since()
    const from = performance.now()
    const reply = await warmfork.chat(session.summary)
    const took = performance.now() - from
    warmfork.script.fault = undefined
    t.match(reply.warmfork, { decision: 'passed', eligible: 'false', 'fork-sent': 'false', 'fallback-reason': reason })
    t.ok(took < timeoutMs + 250, `${Math.round(took)} ms`)
    t.equal(sameForAll(reply), sameForAll(await warmfork.engineAlone(session.summary)))
    t.equal(since.generations().length, 2, 'one through warmfork, one without')
    t.ok(since.warnings().length <= 1)
    t.equal((await warmfork.chat(session.summary)).warmfork['decision'], 'forked', 'and the next one is forked')
  })
}

const metrics: Record<string, Fault> = {
  '404': { kind: 'answer', status: 404, body: '' },
  'garbage': { kind: 'answer', status: 200, body: '\u0000\u0001 vllm:cache_config_info{' },
  'another vLLM\'s series without a block size': { kind: 'answer', status: 200, body: 'vllm:cache_config_info{enable_prefix_caching="True"} 1.0' },
  'caching switched off on one engine of two': { kind: 'answer', status: 200, body: 'vllm:cache_config_info{block_size="16",enable_prefix_caching="True",engine="0"} 1.0\nvllm:cache_config_info{block_size="16",enable_prefix_caching="False",engine="1"} 1.0' },
  'a text that only mentions it': { kind: 'answer', status: 200, body: '# HELP vllm:cache_config_info{block_size="16",enable_prefix_caching="True"}' },
  'nothing': { kind: 'silence' },
  'half an answer': { kind: 'half' },
}

for (const [what, fault] of Object.entries(metrics)) {
  t.test(`metrics that answer ${what} advertise no caching`, async (t) => {
    const session = opencodeSession()
    await warmfork.main(session)
    warmfork.script.fault = ({ path }) => path === '/metrics' ? fault : undefined
    const reply = await warmfork.chat(session.summary)
    warmfork.script.fault = undefined
    t.equal(reply.status, 200)
    t.match(reply.warmfork, { decision: 'passed', 'fallback-reason': 'caching_not_advertised' })
    t.equal((await warmfork.chat(session.summary)).warmfork['decision'], 'forked')
  })
}

for (const [what, fault] of Object.entries({ 'nothing': { kind: 'silence' }, '404': { kind: 'answer', status: 404, body: '' } } satisfies Record<string, Fault>)) {
  t.test(`an engine whose /version answers ${what} is forked all the same, and asked for it once`, async (t) => {
    const unnamed = await startWarmfork(t, { config: { proof: { timeout_ms: 2_000 } } })
    unnamed.script.fault = ({ path }) => path === '/version' ? fault : undefined
    for (let i = 0; i < 2; i++) {
      const session = opencodeSession()
      await unnamed.main(session)
      const from = performance.now()
      const reply = await unnamed.chat(session.summary)
      t.equal(reply.warmfork['decision'], 'forked')
      t.ok(performance.now() - from < 1_500)
      t.equal((await unnamed.receipt(reply))['engine_version'], null)
    }
    t.equal(unnamed.engine.requests.filter(({ target }) => target === '/version').length, 1)
  })
}

t.test('a plan asks few questions, and the second of a conversation fewer', async (t) => {
  const session = opencodeSession()
  await warmfork.main(session)
  await warmfork.chat(calibrated.summary)
  const first = warmfork.since()
  await warmfork.chat(session.summary)
  t.strictSame(first.questions().sort(), ['GET /metrics', 'POST /tokenize', 'POST /tokenize'], 'the evidence and the fork')
  const second = warmfork.since()
  await warmfork.chat(session.summary)
  t.strictSame(second.questions().sort(), ['GET /metrics', 'POST /tokenize'], "the evidence's ids are kept")
})

t.test('a plan of a shortened head asks for the probe too, and measures the header of its role once', async (t) => {
  const shortened = async () => {
    const session = opencodeSession({ groups: 8 })
    await warmfork.main(session)
    const since = warmfork.since()
    const reply = await warmfork.chat({ ...session.summary, messages: session.summary.messages.with(9, { ...session.summary.messages[9]!, content: 'pruned' }) })
    t.equal(reply.warmfork['decision'], 'forked')
    return since.questions().filter((question) => question === 'POST /tokenize').length
  }
  await shortened()
  t.equal(await shortened(), 3, 'evidence, fork, probe')
})

t.test('a restarted engine is calibrated anew, and its ids are asked for again', async (t) => {
  const session = opencodeSession()
  await warmfork.main(session)
  await warmfork.chat(session.summary)
  warmfork.engine.restart()
  const since = warmfork.since()
  t.equal((await warmfork.chat(session.summary)).warmfork['decision'], 'forked')
  t.ok(since.questions().includes('POST /v1/chat/completions'), 'a chat of one token')
  t.ok(since.questions().filter((question) => question === 'POST /tokenize').length >= 4)
})

t.test('an engine that was restarted with another template no longer proves what it proved', async (t) => {
  const session = opencodeSession()
  await warmfork.main(session)
  t.equal((await warmfork.chat(session.summary)).warmfork['decision'], 'forked')
  warmfork.engine.restart({ template: (original) => `Today is another day.\n${original}` })
  const reply = await warmfork.chat(session.summary)
  warmfork.engine.restart({ template: (original) => original })
  t.match(reply.warmfork, { decision: 'passed', 'fallback-reason': 'tokenizer_uncalibrated' }, 'the count is not the one that the engine reported')
})

t.test('a summary that comes before calibration waits for it', async (t) => {
  const slow = await startWarmfork(t)
  const session = opencodeSession()
  slow.script.fault = ({ path }) => path === '/tokenize' ? { kind: 'delay', ms: 100 } : undefined
  await slow.main(session)
  t.equal((await slow.chat(session.summary)).warmfork['decision'], 'forked')
  t.equal(slow.logged.filter(({ msg }) => msg === 'calibration').length, 1)
})

t.test('the log tells calibrations of one model apart by endpoint and tools', async (t) => {
  const fresh = await startWarmfork(t)
  const { model, messages, tools } = opencodeSession().main
  const main = { messages: [{ role: 'user', content: 'One.' }] }
  await fresh.chat({ model, messages, tools })
  await fresh.chat({ model, ...main })
  await fresh.chat({ model, input: 'Two.' }, { target: '/v1/responses' })
  await fresh.chat({ model, ...main, max_tokens: 100 }, { target: '/v1/messages' })
  for (const [endpoint, tools] of [['/v1/chat/completions', true], ['/v1/chat/completions', false], ['/v1/responses', false], ['/v1/messages', false]]) {
    t.match(await fresh.line((line) => line.msg === 'calibration' && line['endpoint'] === endpoint && line['tools'] === tools), { model })
  }
})

t.test('a render endpoint proves where /tokenize tells other ids', async (t) => {
  const rendering = await startWarmfork(t, { engine: { scaleOut: true, chatTemplateKwargsDefault: { enable_thinking: false } } })
  const session = opencodeSession()
  await rendering.main(session)
  const reply = await rendering.chat(session.summary)
  t.equal(reply.warmfork['decision'], 'forked')
  t.match(await rendering.receipt(reply), { proof: 'render' })
  t.match(await rendering.outcome(reply), { prompt_ids_confirmed: true, valid: true })
})

t.test('a server without tool parsing is calibrated without calling tools', async (t) => {
  const plain = await startWarmfork(t, { engine: { toolParser: false } })
  const session = opencodeSession()
  const main = { ...session.main, tool_choice: 'none' }
  t.equal((await plain.chat(main)).status, 200)
  const reply = await plain.chat(session.summary)
  t.equal(reply.warmfork['decision'], 'forked')
  t.match(await plain.outcome(reply), { prompt_ids_confirmed: true })
})

for (const reasoning of ['reasoning_content', 'reasoning'] as const) {
  for (const renames of [true, false]) {
    t.test(`thinking under ${reasoning} is proven by an engine that ${renames ? 'renames' : 'does not rename'} it`, async (t) => {
      const engine = await startWarmfork(t, { engine: { renamesReasoningContent: renames } })
      // Behind the answer to its user the thinking is dropped anyway, so that the trailing user message extends it.
      const session = opencodeSession({ reasoning, finished: true })
      const messages = [...session.main.messages, { role: 'user' as const, content: 'And now the lexer.' }]
      await engine.chat({ ...session.main, messages })
      const reply = await engine.chat({ ...session.summary, messages: [session.summary.messages[0]!, ...messages.slice(1), session.summary.messages.at(-1)!] })
      t.equal(reply.warmfork['decision'], 'forked')
      t.match(await engine.receipt(reply), { placement: 'user' })
      t.match(await engine.outcome(reply), { prompt_ids_confirmed: true })
    })
  }
}

t.test('an engine with several names is asked under the name of the conversation', async (t) => {
  const named = await startWarmfork(t, { engine: { model: [simulatorModel, 'alias'] } })
  const session = opencodeSession()
  await named.chat({ ...session.main, model: 'alias' })
  const reply = await named.chat({ ...session.summary, model: 'alias' })
  t.match(await named.receipt(reply), { decision: 'forked', model: 'alias' })
})

t.test('many conversations that begin at once look at the engine together', async (t) => {
  const busy = await startWarmfork(t)
  busy.script.fault = ({ path }) => path === '/metrics' ? { kind: 'delay', ms: 300 } : undefined
  const since = busy.since()
  await Promise.all(Array.from({ length: 40 }, () => busy.main(opencodeSession({ groups: 1 }))))
  await busy.line(({ msg }) => msg === 'calibration')
  const looks = since.questions().filter((question) => question === 'GET /metrics').length
  t.ok(looks < 6, `${looks} times`)
})
