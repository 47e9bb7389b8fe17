import { connect } from 'node:net'
import t from 'tap'
import { request } from 'undici'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { chat, question, say } from './client.ts'

const prompt = (length: number, from = 1000): number[] => Array.from({ length }, (_, index) => from + index)

async function timed<T>(work: Promise<T>): Promise<{ ms: number, value: T }> {
  const start = performance.now()
  const value = await work
  return { ms: performance.now() - start, value }
}

t.test('prefill takes time in proportion to uncached tokens', async (t) => {
  const simulator = await startSimulator({ prefillTokensPerSecond: 10_000 })
  t.teardown(() => simulator.close())
  const cold = await timed(say(simulator, '/v1/completions', { prompt: prompt(4_000), max_tokens: 1 }))
  const warm = await timed(say(simulator, '/v1/completions', { prompt: prompt(4_000), max_tokens: 1 }))
  t.ok(cold.ms >= 390, `cold: ${cold.ms} ms`)
  t.ok(warm.ms < cold.ms / 2, `warm: ${warm.ms} ms`)
  t.equal(warm.value.json.usage.prompt_tokens_details.cached_tokens, 3_984)
})

t.test('the head of a stream goes out at once, the first event after prefill', async (t) => {
  const simulator = await startSimulator({ prefillTokensPerSecond: 100 })
  t.teardown(() => simulator.close())
  const start = performance.now()
  const answer = await request(`${simulator.url}/v1/chat/completions`, {
    method: 'POST', headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content: ' word'.repeat(30) }], stream: true }),
  })
  const head = performance.now() - start
  let first: number | undefined
  for await (const _chunk of answer.body) first ??= performance.now() - start
  t.ok(head < first! / 2, `head after ${head} ms`)
  t.ok(first! >= 370, `first event after ${first} ms`)
})

t.test('one engine: a long prefill slows the replies of others', async (t) => {
  const simulator = await startSimulator({ prefillTokensPerSecond: 10_000, decodeSecondsPerToken: 0.002, maxBatchedTokens: 1_000 })
  t.teardown(() => simulator.close())
  const body = { prompt: [5, 6], max_tokens: 10 }
  const alone = await timed(say(simulator, '/v1/completions', body))
  const long = say(simulator, '/v1/completions', { prompt: prompt(5_000), max_tokens: 1 })
  await new Promise((resolve) => setTimeout(resolve, 30))
  const beside = await timed(say(simulator, '/v1/completions', body))
  await long
  t.ok(beside.ms > alone.ms + 200, `${alone.ms} ms alone, ${beside.ms} ms beside a prefill`)
})

t.test('concurrent replies share the decoding step', async (t) => {
  const simulator = await startSimulator({ decodeSecondsPerToken: 0.005 })
  t.teardown(() => simulator.close())
  const many = await timed(Promise.all(Array.from({ length: 8 }, (_, index) =>
    say(simulator, '/v1/completions', { prompt: [index + 5], max_tokens: 40, ignore_eos: true }))))
  t.ok(many.ms < 1_200, `${many.ms} ms for 8 replies of 200 ms each`)
})

t.test('more requests than maxRunning wait', async (t) => {
  const simulator = await startSimulator({ decodeSecondsPerToken: 0.005, maxRunning: 2 })
  t.teardown(() => simulator.close())
  const all = Promise.all([1, 2, 3].map(() => say(simulator, '/v1/completions', { prompt: [5], max_tokens: 20, ignore_eos: true })))
  await new Promise((resolve) => setTimeout(resolve, 50))
  const { text } = await say(simulator, '/metrics')
  t.match(text, /num_requests_running\{[^}]*\} 2\.0/)
  t.match(text, /num_requests_waiting\{[^}]*\} 1\.0/)
  await all
})

t.test('a client that goes stops its generation, also before the first event', async (t) => {
  for (const prefillTokensPerSecond of [20, 1e6]) {
    const simulator = await startSimulator({ prefillTokensPerSecond, decodeSecondsPerToken: 0.05 })
    t.teardown(() => simulator.close())
    for (const stream of [true, false]) {
      const controller = new AbortController()
      const gone = request(`${simulator.url}/v1/chat/completions`, {
        method: 'POST', headers: { 'content-type': 'application/json' }, signal: controller.signal,
        body: JSON.stringify({ messages: question, stream, ignore_eos: true, max_tokens: 1_000 }),
      }).then((answer) => answer.body.text())
      setTimeout(() => controller.abort(), 120)
      await t.rejects(gone)
      await new Promise((resolve) => setTimeout(resolve, 40))
      t.equal(simulator.running, 0)
      t.match((await say(simulator, '/metrics')).text, /num_requests_running\{[^}]*\} 0\.0/)
    }
  }
})

t.test('a client that ends its side of the connection counts as gone', async (t) => {
  const simulator = await startSimulator({ decodeSecondsPerToken: 0.05 })
  t.teardown(() => simulator.close())
  const socket = connect(simulator.port, '127.0.0.1')
  const body = JSON.stringify({ messages: question, stream: true, ignore_eos: true, max_tokens: 1_000 })
  socket.end(`POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
  socket.on('error', () => undefined).resume()
  await new Promise((resolve) => socket.once('close', resolve))
  await new Promise((resolve) => setTimeout(resolve, 60))
  t.equal(simulator.running, 0)
})

t.test('an aborted prefill leaves its finished chunks in the cache', async (t) => {
  const simulator = await startSimulator({ prefillTokensPerSecond: 10_000, maxBatchedTokens: 500 })
  t.teardown(() => simulator.close())
  const controller = new AbortController()
  const gone = request(`${simulator.url}/v1/completions`, {
    method: 'POST', headers: { 'content-type': 'application/json' }, signal: controller.signal,
    body: JSON.stringify({ prompt: prompt(5_000), max_tokens: 1 }),
  })
  setTimeout(() => controller.abort(), 150)
  await t.rejects(gone)
  const { json } = await say(simulator, '/v1/completions', { prompt: prompt(5_000), max_tokens: 1 })
  const cached = json.usage.prompt_tokens_details.cached_tokens
  t.ok(cached >= 496 && cached < 4_000, `${cached} tokens`)
})

t.test('20 000 tokens are tokenised in well under a second, and again in no time', async (t) => {
  const simulator = await startSimulator()
  t.teardown(() => simulator.close())
  const messages = Array.from({ length: 20 }, (_, turn) => ({
    role: turn % 2 === 0 ? 'user' : 'assistant',
    content: Array.from({ length: 120 }, (_, line) => `${turn}.${line}: the scheduler drops stale handle ${turn * line}`).join('\n'),
  }))
  // CPU time, so that a busy machine does not fail it.
  const work = async (): Promise<{ ms: number, count: number }> => {
    const before = process.cpuUsage()
    const { count } = (await say(simulator, '/tokenize', { messages })).json
    const { user, system } = process.cpuUsage(before)
    return { ms: (user + system) / 1_000, count }
  }
  await say(simulator, '/tokenize', { prompt: 'warm up' })
  const first = await work()
  t.ok(first.count > 20_000, `${first.count} tokens`)
  t.ok(first.ms < 1_000, `${first.ms} ms`)
  const second = await work()
  t.ok(second.ms < first.ms / 2, `${second.ms} ms`)
  t.equal((await chat(simulator, { messages, max_tokens: 1 })).json.usage.prompt_tokens, first.count)
})
