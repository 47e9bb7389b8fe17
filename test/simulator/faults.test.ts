import t, { type Test } from 'tap'
import { request } from 'undici'
import { type Fault, startSimulator, type Simulator } from '../../src/simulator/simulator.ts'
import { chat, question, say } from './client.ts'

async function start(t: Test, path: string, fault: Fault): Promise<Simulator> {
  const simulator = await startSimulator({ fault: (request) => request.path === path ? fault : undefined })
  t.teardown(() => simulator.close())
  return simulator
}

t.test('another status, another body', async (t) => {
  const simulator = await start(t, '/metrics', { kind: 'answer', status: 502, contentType: 'text/html', body: '<html>502</html>' })
  const answer = await say(simulator, '/metrics')
  t.strictSame([answer.status, answer.headers['content-type'], answer.text], [502, 'text/html', '<html>502</html>'])
  t.equal((await say(simulator, '/v1/models')).status, 200, 'other routes are well')
})

t.test('ids that are not integers', async (t) => {
  const simulator = await start(t, '/tokenize', { kind: 'rewrite', change: (answer) => ({ ...answer, tokens: answer.tokens.map(String) }) })
  t.equal((await say(simulator, '/tokenize', { messages: question })).json.tokens[0], '151644')
})

t.test('half an answer, a reset', async (t) => {
  await t.rejects(say(await start(t, '/tokenize', { kind: 'half' }), '/tokenize', { messages: question }))
  await t.rejects(say(await start(t, '/v1/models', { kind: 'reset' }), '/v1/models'))
})

t.test('silence, until the client goes', async (t) => {
  const simulator = await start(t, '/tokenize', { kind: 'silence' })
  await t.rejects(request(`${simulator.url}/tokenize`, {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ prompt: 'a' }), signal: AbortSignal.timeout(60),
  }))
})

t.test('a late answer', async (t) => {
  const simulator = await start(t, '/metrics', { kind: 'delay', ms: 80 })
  const before = performance.now()
  t.equal((await say(simulator, '/metrics')).status, 200)
  t.ok(performance.now() - before >= 79)
})

t.test('a fault that replaces a chat does not run it', async (t) => {
  const simulator = await start(t, '/v1/chat/completions', { kind: 'answer', status: 500, body: '{}' })
  t.equal((await chat(simulator)).status, 500)
  t.match((await say(simulator, '/metrics')).text, /prompt_tokens_total\{[^}]*\} 0\.0/)
})
