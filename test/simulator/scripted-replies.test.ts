import t, { type Test } from 'tap'
import { request } from 'undici'
import { type Reply, type SimulatorOptions, startSimulator, type Simulator } from '../../src/simulator/simulator.ts'
import { chat, events, question, say, tools } from './client.ts'

async function start(t: Test, reply: Reply, options: SimulatorOptions = {}): Promise<Simulator> {
  const simulator = await startSimulator({ ...options, reply: () => reply })
  t.teardown(() => simulator.close())
  return simulator
}

t.test('without a script it says one short sentence, ended by stop', async (t) => {
  const simulator = await startSimulator()
  t.teardown(() => simulator.close())
  const { json } = await chat(simulator)
  t.match(json.choices[0].message.content, /^Done so far/)
  t.equal(json.choices[0].finish_reason, 'stop')
})

t.test('tool calls come out parsed, whole and streamed', async (t) => {
  const simulator = await start(t, { content: 'I look.', toolCalls: [{ name: 'read', arguments: { path: 'a', n: 1 } }, { name: 'read', arguments: '{}' }] })
  const { message, finish_reason: finish } = (await chat(simulator, { tools })).json.choices[0]
  t.equal(finish, 'tool_calls')
  t.equal(message.content, 'I look.\n')
  t.strictSame(message.tool_calls.map((call: any) => [call.type, call.function.name, call.function.arguments]),
    [['function', 'read', '{"path": "a", "n": 1}'], ['function', 'read', '{}']])
  t.strictSame(Object.keys(message.tool_calls[0]), ['id', 'type', 'function'])

  const chunks = events((await chat(simulator, { tools, stream: true })).text)
  t.equal(chunks.at(-2).choices[0].finish_reason, 'tool_calls')
  const deltas = chunks.slice(0, -1).flatMap((chunk) => chunk.choices[0].delta.tool_calls ?? [])
  t.strictSame(Object.keys(deltas[0]), ['id', 'type', 'index', 'function'], 'the first has id and name')
  t.strictSame(Object.keys(deltas[1]), ['index', 'function'], 'later ones have arguments alone')
  const args = (index: number): string => deltas.filter((delta) => delta.index === index).map((delta) => delta.function.arguments ?? '').join('')
  t.equal(args(0), '{"path":"a","n":1}')
  t.equal(args(1), '{}')
})

t.test('with tool_choice none the markup stays in the text, with finish stop', async (t) => {
  const simulator = await start(t, { toolCalls: [{ name: 'read', arguments: {} }] })
  const { message, finish_reason: finish } = (await chat(simulator, { tools, tool_choice: 'none' })).json.choices[0]
  t.equal(finish, 'stop')
  t.equal(message.content, '<tool_call>\n{"name": "read", "arguments": {}}\n</tool_call>')
  t.notOk('tool_calls' in message)
})

t.test('reasoning is split off with the parser, and stays in the text without it', async (t) => {
  const split = await start(t, { reasoning: 'Hm.', content: 'Well.' }, { reasoningParser: true })
  const { message } = (await chat(split)).json.choices[0]
  t.equal(message.reasoning, '\nHm.\n')
  t.equal(message.content, '\n\nWell.')
  const off = (await chat(split, { chat_template_kwargs: { enable_thinking: false } })).json.choices[0].message
  t.equal(off.reasoning, null, 'thinking off: nothing is split')
  const plain = await start(t, { reasoning: 'Hm.', content: 'Well.' })
  t.equal((await chat(plain)).json.choices[0].message.content, '<think>\nHm.\n</think>\n\nWell.')
  const raw = (await say(plain, '/v1/completions', { prompt: [1, 2], max_tokens: 99 })).json.choices[0]
  t.equal(raw.text, '<think>\nHm.\n</think>\n\nWell.')
})

t.test('a thinking model thinks on completions too, unless the prompt closed its thinking', async (t) => {
  const simulator = await start(t, { content: 'Well.' }, { reasoningParser: true })
  const text = async (prompt: string): Promise<string> => (await say(simulator, '/v1/completions', { prompt, max_tokens: 99 })).json.choices[0].text
  t.equal(await text('<|im_start|>assistant\n'), '<think>\n\n</think>\n\nWell.')
  t.equal(await text('<|im_start|>assistant\n<think>\n\n</think>\n\n'), 'Well.')
})

t.test('a think block that stays open', async (t) => {
  const simulator = await start(t, { text: '<think>\nHm, and then' }, { reasoningParser: true })
  const { message, finish_reason: finish } = (await chat(simulator)).json.choices[0]
  t.equal(message.content, null)
  t.equal(message.reasoning, '\nHm, and then')
  t.equal(finish, 'stop')
})

t.test('an empty reply', async (t) => {
  const simulator = await start(t, { text: '' })
  t.equal((await chat(simulator)).json.choices[0].message.content, '')
  const chunks = events((await chat(simulator, { stream: true })).text)
  t.strictSame(chunks.slice(1, -1).map((chunk) => [chunk.choices[0].delta, chunk.choices[0].finish_reason]), [[{}, 'stop']])
})

t.test('a scripted finish, and length by the limit', async (t) => {
  t.equal((await chat(await start(t, { content: 'Half a', finish: 'length' }))).json.choices[0].finish_reason, 'length')
  const limited = (await chat(await start(t, { content: 'one two three four five' }), { max_tokens: 2 })).json
  t.equal(limited.choices[0].finish_reason, 'length')
  t.equal(limited.choices[0].message.content, 'one two')
})

t.test('a stop string cuts the text and is named', async (t) => {
  const [choice] = (await chat(await start(t, { content: 'one two three' }), { stop: ['two'] })).json.choices
  t.strictSame([choice.message.content, choice.finish_reason, choice.stop_reason], ['one ', 'stop', 'two'])
})

t.test('pieces are the deltas', async (t) => {
  const chunks = events((await chat(await start(t, { pieces: ['one ', 'two th', 'ree'] }), { stream: true })).text)
  t.strictSame(chunks.slice(1, -2).map((chunk) => chunk.choices[0].delta.content), ['one ', 'two th', 'ree'])
})

t.test('a character of several tokens is not torn', async (t) => {
  const chunks = events((await chat(await start(t, { content: 'a 👩‍👩‍👧 é 日本' }), { stream: true })).text)
  const texts = chunks.slice(0, -1).map((chunk) => chunk.choices[0].delta.content ?? '')
  t.notOk(texts.some((text) => text.includes('\ufffd')))
  t.equal(texts.join(''), 'a 👩‍👩‍👧 é 日本')
})

t.test('a refusal before generating', async (t) => {
  const simulator = await start(t, { refuse: { status: 503, body: { error: { message: 'busy' } }, headers: { 'retry-after': '7' } } })
  const answer = await chat(simulator, { stream: true })
  t.equal(answer.status, 503)
  t.equal(answer.headers['retry-after'], '7')
  t.strictSame(answer.json, { error: { message: 'busy' } })
  t.equal((await chat(await start(t, { refuse: { status: 502, body: '<html>bad gateway</html>' } }))).headers['content-type'], 'text/plain; charset=utf-8')
})

t.test('an error event in a stream is followed by [DONE] and a clean end', async (t) => {
  const simulator = await start(t, { content: 'one two three', fail: { kind: 'error', at: 2, message: 'boom' } })
  const all = events((await chat(simulator, { stream: true })).text)
  t.strictSame(all.slice(1, 3).map((chunk) => chunk.choices[0].delta.content), ['one', ' two'])
  t.strictSame(all.slice(3), [{ error: { message: 'boom', type: 'InternalServerError', param: null, code: 500 } }, '[DONE]'])
  t.equal((await chat(simulator)).status, 500, 'not streamed it is 500')
  t.equal(simulator.running, 0)
})

t.test('an error before the first token', async (t) => {
  const all = events((await chat(await start(t, { fail: { kind: 'error', at: 'after_headers' } }), { stream: true })).text)
  t.ok(all[0].error)
  t.equal((await chat(await start(t, { fail: { kind: 'error', at: 'before_headers' } }), { stream: true })).status, 500)
})

t.test('a connection that is reset before the head, after it, and inside the body', async (t) => {
  for (const stream of [true, false]) {
    await t.rejects(chat(await start(t, { fail: { kind: 'reset', at: 'before_headers' } }), { stream }), 'before the head')
    for (const at of ['after_headers', 2] as const) {
      const simulator = await start(t, { content: 'one two three', fail: { kind: 'reset', at } })
      await t.rejects(chat(simulator, { stream }), `${at}`)
      t.equal(simulator.running, 0)
    }
  }
})

t.test('a body that ends cleanly without finish and [DONE]', async (t) => {
  const all = events((await chat(await start(t, { content: 'one two three', fail: { kind: 'cut', at: 2 } }), { stream: true })).text)
  t.equal(all.length, 3)
  t.equal(all.at(-1).choices[0].finish_reason, null)
})

t.test('an answer that hangs, until the client goes', async (t) => {
  for (const at of ['before_headers', 'after_headers', 2] as const) {
    const simulator = await start(t, { content: 'one two three', fail: { kind: 'hang', at } })
    const controller = new AbortController()
    const answer = request(`${simulator.url}/v1/chat/completions`, {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ messages: question, stream: true }),
      signal: controller.signal,
    }).then((answer) => answer.body.text())
    setTimeout(() => controller.abort(), 60)
    await t.rejects(answer, { name: 'AbortError' }, `${at}`)
    await new Promise((resolve) => setTimeout(resolve, 30))
    t.equal(simulator.running, 0)
  }
})

t.test('the script is told what was asked', async (t) => {
  const seen: unknown[] = []
  const simulator = await startSimulator({
    reply: ({ endpoint, body, promptTokens, prompt, count, headers }) => {
      seen.push([endpoint, body.messages ?? body.prompt, promptTokens, prompt, count, headers['x-mark']])
      return {}
    },
  })
  t.teardown(() => simulator.close())
  await say(simulator, '/v1/chat/completions', { messages: question }, { 'x-mark': 'a' })
  await say(simulator, '/v1/completions', { prompt: [5, 6] })
  t.strictSame(seen, [
    ['chat', question, 9, '<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n', 0, 'a'], ['completions', [5, 6], 2, `&'`, 1, undefined],
  ])
})
