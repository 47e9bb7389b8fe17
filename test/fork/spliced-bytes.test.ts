import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { asksForTokenIds, asksForUsage, streams } from '../../src/endpoint/chat-body.ts'
import { chat } from '../../src/endpoint/chat.ts'
import type { ReadRequest } from '../../src/endpoint/endpoint.ts'
import { asFollowing } from '../../src/fork/build.ts'
import type { ForkParts, ForkSettings } from '../../src/fork/parts.ts'
import { directive } from '../../src/summary/directive.ts'
import { structuredCoverage, type Covered } from '../../src/summary/coverage.ts'
import { bytesOf } from '../../src/wire/json-slices.ts'
import { readChatRequest, type ChatRequest } from '../../src/wire/chat-request.ts'
import { chatRequest, oddJson, readRequest } from '../helpers/chat-requests.ts'
import { holds } from '../helpers/property.ts'

const settings: ForkSettings = { toolChoiceNone: true, maxTokens: null }

function partsOf(evidence: ReadRequest, summary: ReadRequest): ForkParts {
  const coverage = structuredCoverage(evidence, summary) as Covered
  assert.equal(coverage.covered, true)
  return {
    evidence, summary, headLength: coverage.headLength, following: asFollowing(summary, coverage.following),
    directive: directive(summary.body, coverage.foreignFront, coverage.instruction)!,
  }
}

/** The fork of two bodies, as text. */
function fork(evidence: string, summary: string, given: Partial<ForkSettings> = {}): string {
  return chat.forkBody(partsOf(readRequest(evidence), readRequest(summary)), { ...settings, ...given }).toString('utf8')
}

function members(body: string): Record<string, unknown> {
  return JSON.parse(body) as Record<string, unknown>
}

const turn = '{"role":"user","content":"one"}'
const instruction = '{"role":"user","content":"Summarise."}'
const ask = `{"model":"m","messages":[${turn},${instruction}]}`

t.test('numbers stay as they were written, at the top, in tools and in arguments [case 32]', async (t) => {
  const numbers = '[9007199254740993,1.0,1e400,-0,0.1000,1E+2]'
  const tools = `"tools":[{"type":"function","function":{"name":"look","parameters":{"enum":${numbers}}}}]`
  const call = `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{\\"at\\":${numbers}}"}}]}`
  const head = `${turn},${call},{"role":"tool","tool_call_id":"a","content":"x"}`
  const body = fork(`{"model":"m",${tools},"documents":${numbers},"messages":[${head}]}`, `{"model":"m","seed":9007199254740993,"temperature":1.0,"messages":[${head},${instruction}]}`)
  for (const piece of [tools, `"documents":${numbers}`, head, '"seed":9007199254740993', '"temperature":1.0']) t.ok(body.includes(piece), piece)
})

t.test('keys stay in their order, integers, prototypes and repeats among them [case 33]', async (t) => {
  const odd = '{"2":0,"10":0,"1":0,"__proto__":{"x":1},"b":1,"a":2,"b":3}'
  const tools = `"tools":[{"function":{"parameters":{"properties":${odd}},"name":"look"},"type":"function"}]`
  const first = `{"10":1,"2":${odd},"role":"user","content":"one","role":"user"}`
  const body = fork(`{${tools},"chat_template_kwargs":${odd},"messages":[${first}]}`, `{"messages":[${first},${instruction}]}`)
  for (const piece of [tools, `"chat_template_kwargs":${odd}`, first]) t.ok(body.includes(piece), piece)
})

t.test('every form of an empty content stays the one it was [case 37]', async (t) => {
  const forms = ['"content":null,', '', '"content":"",', '"content":[],']
  for (const form of forms) {
    const head = `${turn},{"role":"assistant",${form}"tool_calls":[{"id":"a","function":{"name":"x","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":""}]}`
    const body = fork(`{"messages":[${head}]}`, `{"messages":[${head},${instruction}]}`)
    t.ok(body.includes(`"messages":[${head},{"role":"user","content":"`), form)
  }
})

t.test('escapes, lone surrogates and raw characters stay as they were [case 38]', async (t) => {
  const text = '\\u00e9é\\/\\ud83d\\u0000漢👩‍👩‍👧\\\\\\"'
  const first = `{"role":"us\\u0065r","content":"${text}"}`
  const body = fork(`{"messages":[${first}]}`, `{"messages":[${first},{"role":"user","content":"${text}"}]}`)
  t.ok(body.includes(`"messages":[${first},`))
  t.ok(body.includes(`\\n\\n${text}"}]`))
})

t.test('reasoning, names, weights and unknown members of messages stay [case 34] [case 39]', async (t) => {
  const head = `${turn},{"role":"assistant","reasoning":"hm","reasoning_content":null,"content":"x","name":"n","weight":0,"future":{"a":[1]}}`
  t.ok(fork(`{"messages":[${head}]}`, `{"messages":[${head},${instruction}]}`).includes(`"messages":[${head},`))
})

t.test('white space inside the head stays, and the messages that follow stay as the summary wrote them', async (t) => {
  const head = `${turn} ,\n\t{ "role" : "assistant" , "content" : "two" }`
  const next = '{ "content":"three", "role":"user" }'
  const body = fork(`{ "model" : "m" , "messages" : [ ${head} ] }`, `{"messages":[${turn},{ "role" : "assistant" , "content" : "two" }, ${next} ,${instruction}]}`)
  t.ok(body.includes(`"messages":[${head},${next},{"role":"user"`))
  t.ok(body.includes('"model" : "m"'))
})

t.test('the evidence’s own answer options stay behind, and the summary’s come along (R2)', async (t) => {
  const body = members(fork(
    `{"model":"m","messages":[${turn}],"temperature":1,"seed":1,"stop":["a"],"max_tokens":5,"stream":true,"stream_options":{"include_usage":true},"metadata":{"a":1},"user":"u","request_id":"r","n":1,"cache_salt":"s","reasoning_effort":"high","prompt_cache_key":"k","session_id":"i"}`,
    `{"model":"m","messages":[${turn},${instruction}],"temperature":0,"top_p":0.5,"metadata":{"b":2},"user":"v","request_id":"q","prompt_cache_key":"l"}`,
  ))
  const { messages, ...rest } = body
  t.equal((messages as unknown[]).length, 2)
  t.strictSame(rest, {
    model: 'm', cache_salt: 's', reasoning_effort: 'high', prompt_cache_key: 'k', session_id: 'i',
    temperature: 0, top_p: 0.5, metadata: { b: 2 }, user: 'v', return_token_ids: true,
  })
})

t.test('no routing member is invented [case 61]', async (t) => {
  const body = members(fork(`{"model":"m","messages":[${turn}]}`, `{"model":"m","messages":[${turn},${instruction}],"prompt_cache_key":"k","session_id":"i"}`))
  t.notHas(body, { prompt_cache_key: 'k' })
  t.notOk('session_id' in body)
})

t.test('tools stay, and none may be called', async (t) => {
  const tools = '"tools":[{"type":"function","function":{"name":"look","parameters":{}}}]'
  const choice = (evidence: string, summary: string, toolChoiceNone: boolean): unknown => members(fork(`{"messages":[${turn}]${evidence}}`, `{"messages":[${turn},${instruction}]${summary}}`, { toolChoiceNone })).tool_choice
  t.equal(choice(`,${tools}`, '', true), 'none')
  t.equal(choice(`,${tools},"tool_choice":"required"`, '', true), 'none')
  t.equal(choice(`,${tools},"tool_choice":"auto"`, ',"tool_choice":"none"', false), 'auto')
  t.equal(choice(`,${tools}`, ',"tool_choice":"none"', false), undefined)
  t.equal(choice('', '', true), undefined)
  t.equal(choice(',"tools":null', ',"tools":null,"tool_choice":"none"', true), undefined)
  t.ok(fork(`{"messages":[${turn}],${tools}}`, ask).includes(tools))
})

t.test('usage and ids are asked for, whoever asked for them already', async (t) => {
  const options = (summary: string): unknown[] => {
    const body = members(fork(`{"messages":[${turn}]}`, `{"messages":[${turn},${instruction}]${summary}}`))
    return [body.stream, body.stream_options, body.return_token_ids]
  }
  t.strictSame(options(''), [undefined, undefined, true])
  t.strictSame(options(',"stream":false,"return_token_ids":false'), [false, undefined, true])
  t.strictSame(options(',"stream":null'), [null, undefined, true])
  t.strictSame(options(',"stream":true'), [true, { include_usage: true }, true])
  t.strictSame(options(',"stream":1'), [1, { include_usage: true }, true])
  t.strictSame(options(',"stream":true,"stream_options":null'), [true, { include_usage: true }, true])
  t.strictSame(options(',"stream":true,"stream_options":{"include_usage":false,"continuous_usage_stats":true,"include_obfuscation":false}'), [true, { include_obfuscation: false, include_usage: true }, true])
  t.strictSame(options(',"stream":true,"stream_options":{"continuous_usage_stats":true,"include_usage":true}'), [true, { continuous_usage_stats: true, include_usage: true }, true])
})

t.test('the token limit goes under the summary’s own names, and none is made up', async (t) => {
  const limits = (summary: string, maxTokens: number | null): unknown[] => {
    const body = members(fork(`{"messages":[${turn}],"max_tokens":7}`, `{"messages":[${turn},${instruction}]${summary}}`, { maxTokens }))
    return [body.max_tokens, body.max_completion_tokens]
  }
  t.strictSame(limits('', null), [undefined, undefined])
  t.strictSame(limits('', 50), [50, undefined])
  t.strictSame(limits(',"max_tokens":90', 50), [50, undefined])
  t.strictSame(limits(',"max_completion_tokens":90', 50), [undefined, 50])
  t.strictSame(limits(',"max_completion_tokens":90,"max_tokens":80', 50), [50, 50])
  t.strictSame(limits(',"max_completion_tokens":90,"max_tokens":null', 50), [undefined, 50])
})

t.test('no member stands in a fork twice', async (t) => {
  const everything = '"model":"m","cache_salt":"s","temperature":1,"stream":true,"stream_options":{"include_usage":true},"return_token_ids":true,"max_tokens":5,"max_completion_tokens":5,"tool_choice":"auto","tools":[{"type":"function","function":{"name":"x"}}],"metadata":{},"session_id":"i"'
  const body = fork(`{"messages":[${turn}],${everything}}`, `{"messages":[${turn},${instruction}],${everything}}`, { maxTokens: 3 })
  t.not(readChatRequest(Buffer.from(body)), null)
})

t.test('what a client asked for is read as the engine reads it', async (t) => {
  const request = (rest: string): ChatRequest => chatRequest(`{"messages":[]${rest}}`)
  t.strictSame([streams(request(',"stream":true')), streams(request(',"stream":"yes"')), streams(request(',"stream":false')), streams(request(''))], [true, true, false, false])
  t.equal(asksForUsage(request(',"stream_options":{"include_us\\u0061ge":true}')), true)
  for (const no of ['', ',"stream_options":null', ',"stream_options":{}', ',"stream_options":{"include_usage":false}', ',"stream_options":{"include_usage":null}']) t.equal(asksForUsage(request(no)), false, no)
  t.strictSame([asksForTokenIds(request(',"return_token_ids":true')), asksForTokenIds(request(',"return_token_ids":null'))], [true, false])
})

/** Random pairs of evidence and summary that cover each other, with odd members in odd places. */
const pair = fc.record({
  front: fc.boolean(),
  turns: fc.array(fc.record({ text: oddJson.filter((json) => json.startsWith('"')), extra: fc.option(oddJson), isUser: fc.boolean() }), { minLength: 1, maxLength: 5 }),
  kept: fc.nat(), extra: fc.option(oddJson), answer: fc.option(oddJson), stream: fc.boolean(), instruction: oddJson.filter((json) => json.startsWith('"')), toolChoiceNone: fc.boolean(), maxTokens: fc.option(fc.nat(10_000)),
}).map(({ front, turns, kept, extra, answer, stream, instruction, toolChoiceNone, maxTokens }) => {
  const written = turns.map(({ text, extra, isUser }, i) => `{${extra === null ? '' : `"odd":${extra},`}"role":"${isUser || i === 0 ? 'user' : 'assistant'}","content":${text}}`)
  const messages = [...(front ? ['{"role":"system","content":"s"}'] : []), ...written]
  const covered = written.slice(0, 1 + kept % written.length)
  return {
    evidence: `{ "model":"m",\n"messages":[${messages.join(',\n ')}]${extra === null ? '' : `,"odd option":${extra}`}}`,
    summary: `{"messages":[{"role":"system","content":"w"},${covered.join(',')},{"role":"user","content":${instruction}}],"stream":${stream}${answer === null ? '' : `,"logit_bias": ${answer}`}}`,
    covered, settings: { toolChoiceNone, maxTokens },
  }
})

t.test('a fork is always a whole request, with one message more than head and following', async (t) => {
  holds(t, fc.property(pair, ({ evidence, summary, covered, settings }) => {
    const parts = partsOf(readRequest(evidence), readRequest(summary))
    const body = chat.forkBody(parts, settings)
    JSON.parse(body.toString('utf8'))
    const read = readChatRequest(body)!
    assert.equal(read.messages.length, parts.headLength + parts.following.length + 1)
    const head = parts.evidence.chat.messages.slice(0, parts.headLength)
    for (const [i, { slice }] of head.entries()) assert.ok(bytesOf(parts.evidence.body, slice).equals(bytesOf(body, read.messages[i]!.slice)))
    assert.ok(body.includes(parts.evidence.body.subarray(head[0]!.slice.start, head.at(-1)!.slice.end)))
    assert.ok(head.length >= covered.length)
  }), 400)
})

t.test('the same evidence and summary give the same bytes [case 52]', async (t) => {
  holds(t, fc.property(pair, ({ evidence, summary, settings }) => {
    const make = (): Buffer => chat.forkBody(partsOf(readRequest(evidence), readRequest(summary)), settings)
    assert.ok(make().equals(make()))
  }), 150)
})
