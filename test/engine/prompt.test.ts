import t from 'tap'
import { asPrefilled, renderBody, tokenizeBody, type Dialect } from '../../src/engine/prompt.ts'
import { chatRequest } from '../helpers/chat-requests.ts'

const newest: Dialect = { renamesReasoning: true, effortSetsThinking: true }
const oldest: Dialect = { renamesReasoning: false, effortSetsThinking: false }
const message = Buffer.from('{"role":"user","content":"\\u00e9"}')

function tokenize(options: string, dialect = newest, generationPrompt = true, messages: Buffer[] = [message]): string {
  return tokenizeBody({ options: chatRequest(`{"messages":[]${options}}`), messages }, dialect, generationPrompt).toString('utf8')
}

function kwargs(options: string, dialect = newest): unknown {
  return (JSON.parse(tokenize(options, dialect)) as { chat_template_kwargs?: unknown }).chat_template_kwargs
}

t.test('/tokenize is asked with the options that it reads, in the request’s own bytes', async (t) => {
  const tools = '[{"function":{"parameters":{"2":1.0,"1":9007199254740993}},"type":"function"}]'
  const body = tokenize(`,"model":"m","tools":${tools},"temperature":1,"cache_salt":"s","chat_template":"x","add_special_tokens":true,"mm_processor_kwargs":{"a":1.0},"max_tokens":5`)
  t.ok(body.includes(`"tools":${tools}`))
  t.ok(body.includes('"messages":[{"role":"user","content":"\\u00e9"}]'))
  t.strictSame(Object.keys(JSON.parse(body) as object).sort(), ['add_special_tokens', 'chat_template', 'messages', 'mm_processor_kwargs', 'model', 'tools'])
})

t.test('what is null is left out', async (t) => {
  t.strictSame(JSON.parse(tokenize(',"tools":null,"chat_template_kwargs":null,"reasoning_effort":null,"documents":null', newest, true, [])), { messages: [] })
})

t.test('the generation prompt is left out only when asked', async (t) => {
  t.notOk(tokenize('').includes('add_generation_prompt'))
  t.ok(tokenize('', newest, false).endsWith('"add_generation_prompt":false}'))
})

t.test('the effort goes into the template’s arguments, with the thinking that it implies in newer engines', async (t) => {
  t.strictSame(kwargs(',"reasoning_effort":"high"'), { reasoning_effort: 'high', enable_thinking: true })
  t.strictSame(kwargs(',"reasoning_effort":"none"'), { reasoning_effort: 'none', enable_thinking: false })
  t.strictSame(kwargs(',"reasoning_effort":"none"', oldest), { reasoning_effort: 'none' })
  t.equal(kwargs(''), undefined)
})

t.test('the request’s own arguments stay, and its own thinking switch wins', async (t) => {
  t.strictSame(kwargs(',"chat_template_kwargs":{"a":1},"reasoning_effort":"low"'), { a: 1, reasoning_effort: 'low', enable_thinking: true })
  t.strictSame(kwargs(',"chat_template_kwargs":{"enable_thinking":false},"reasoning_effort":"low"'), { enable_thinking: false, reasoning_effort: 'low' })
  t.strictSame(kwargs(',"chat_template_kwargs":{"en\\u0061ble_thinking":false},"reasoning_effort":"low"'), { enable_thinking: false, reasoning_effort: 'low' })
  t.ok(tokenize(',"chat_template_kwargs":{"x": 1.0 }').includes('"chat_template_kwargs":{"x": 1.0 }'))
})

t.test('documents go into the template’s arguments too', async (t) => {
  t.strictSame(kwargs(',"documents":[{"text":"d"}],"chat_template_kwargs":{}'), { documents: [{ text: 'd' }] })
})

t.test('thinking under the older name is told under the newer where chat does so', async (t) => {
  const read = (json: string, dialect = newest): Record<string, unknown> =>
    (JSON.parse(tokenize('', dialect, true, [Buffer.from(json)])) as { messages: Record<string, unknown>[] }).messages[0]!
  t.strictSame(read('{"role":"assistant","reasoning_content":"h\\u00e9"}'), { role: 'assistant', reasoning_content: 'hé', reasoning: 'hé' })
  t.equal(read('{"role":"assistant","reasoning":null,"reasoning_content":"old"}').reasoning, 'old')
  t.equal(read('{"role":"assistant","reasoning":"new","reasoning_content":"old"}').reasoning, 'new')
  t.equal(read('{"role":"assistant","reasoning_content":"old"}', oldest).reasoning, undefined)
  t.equal(read('{"role":"user","content":"\\"reasoning_content\\""}').reasoning, undefined)
  t.equal(read('{"role":"assistant","r\\u0065asoning_content":"old"}').reasoning, 'old')
  t.equal(read('{"content":"{\\"a\\":1}","reasoning_content":"old","role":"assistant" }').reasoning, 'old')
})

t.test('the render endpoint is asked as chat would be', async (t) => {
  const options = chatRequest('{"model":"m","messages":[],"tools":[{}],"temperature":1,"max_tokens":900,"reasoning_effort":"high","tool_choice":"auto","stream":true,"documents":[1.0]}')
  const render = (toolChoice: Buffer | null, generationPrompt = true): string => renderBody({ options, messages: [message] }, generationPrompt, toolChoice).toString('utf8')
  t.equal(render(null), '{"messages":[{"role":"user","content":"\\u00e9"}],"max_tokens":1,"model":"m","tools":[{}],"reasoning_effort":"high","documents":[1.0],"tool_choice":"auto"}')
  t.match(render(Buffer.from('"none"')), /"tool_choice":"none"}$/)
  t.match(render(null, false), /"add_generation_prompt":false}$/)
})

t.test('system text is moved to the front where the endpoint moves it, in its own bytes', async (t) => {
  const made = (messages: readonly string[], dialect: Partial<Dialect>): string[] =>
    asPrefilled({ options: chatRequest('{"messages":[]}'), messages: messages.map((json) => Buffer.from(json)) }, { ...newest, ...dialect }).messages.map(String)
  const user = '{"role":"user","content":"\\"system\\""}'
  const system = (content: string): string => `{"role":"system","content":${content}}`
  const messages = [system('"a\\u00e9"'), user, system('"b","content":"c"'), user, system('[{"type":"text","text":"d"}]')]
  t.strictSame(made(messages, {}), messages)
  t.strictSame(made(messages, { systemInFront: true }), [system('"a\\u00e9cd"'), user, user])
  t.strictSame(made([user, system('"b"')], { systemInFront: true }), [system('"b"'), user])
  t.strictSame(made([user], { systemInFront: true }), [user])
})

t.test('the effort none is another one where the endpoint says so', async (t) => {
  const effort = (options: string, dialect: Partial<Dialect>): unknown =>
    (JSON.parse(tokenizeBody(asPrefilled({ options: chatRequest(`{"messages":[]${options}}`), messages: [message] }, { ...newest, ...dialect }), newest, true).toString()) as any).chat_template_kwargs
  t.strictSame(effort(',"reasoning_effort":"none"', {}), { reasoning_effort: 'none', enable_thinking: false })
  t.strictSame(effort(',"reasoning_effort":"none"', { leastEffort: 'low' }), { reasoning_effort: 'low', enable_thinking: true })
  t.strictSame(effort(',"reasoning_effort":"high"', { leastEffort: 'low' }), { reasoning_effort: 'high', enable_thinking: true })
})
