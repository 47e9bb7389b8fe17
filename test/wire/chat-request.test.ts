import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { bytesOf } from '../../src/wire/json-slices.ts'
import { booleanOption, isWholeJson, numberOption, option, readChatRequest, readText, stringOption, textInsides } from '../../src/wire/chat-request.ts'
import { answer, bytes, calls, chatRequest, oddJson, system, user } from '../helpers/chat-requests.ts'
import { holds } from '../helpers/property.ts'

t.test('roles, calls and answers are read as the engine reads them', async (t) => {
  const request = chatRequest({ messages: [system, { role: 'developer', content: 'x' }, user('a'), calls('c1', 'c2'), answer('c1')] })
  t.strictSame(request.messages.map(({ role }) => role), ['system', 'developer', 'user', 'assistant', 'tool'])
  t.strictSame(request.messages.map(({ callIds }) => callIds), [[], [], [], ['c1', 'c2'], []])
  t.strictSame(request.messages.map(({ answers }) => answers), [null, null, null, null, 'c1'])
  t.equal(request.frontLength, 2)
})

t.test('only the leading system messages are the front', async (t) => {
  t.equal(chatRequest({ messages: [user('a'), system] }).frontLength, 0)
  t.equal(chatRequest({ messages: [system] }).frontLength, 1)
  t.equal(chatRequest({ messages: [] }).frontLength, 0)
})

t.test('escaped keys and roles are unescaped, and of keys twice in a message the last counts', async (t) => {
  const request = chatRequest('{"messa\\u0067es":[{"r\\u006fle":"us\\u0065r","role":"to\\u006fl","tool_call\\u005fid":"\\u0063"}]}')
  t.equal(request.messages[0]!.role, 'tool')
  t.equal(request.messages[0]!.answers, 'c')
})

t.test('a key twice at the top level makes a body unreadable, also where one is escaped [case 35]', async (t) => {
  t.equal(readChatRequest(Buffer.from('{"model":"a","messages":[],"messages":[]}')), null)
  t.equal(readChatRequest(Buffer.from('{"model":"a","mod\\u0065l":"b","messages":[]}')), null)
})

t.test('what is no chat request is not read', async (t) => {
  const wrong = [
    '', ' ', 'null', '5', '"x"', '[]', '{}', '{"messages":null}', '{"messages":{}}', '{"messages":"x"}', '{"messages":[1]}', '{"messages":["x"]}',
    '{"messages":[null]}', '{"messages":[[]]}', '{"messages":[{}]}', '{"messages":[{"role":null}]}', '{"messages":[{"role":5}]}', '{"messages":[{"role":"user"}',
    '{"messages":[{"role":"user"}}', '{"messages":[],"tools":{}}', '{"messages":[],"tools":"x"}', '{"messages":[{"role":"assistant","tool_calls":{}}]}', 'not json',
  ]
  for (const body of wrong) t.equal(readChatRequest(Buffer.from(body)), null, body)
})

t.test('a body that is not UTF-8 is not read', async (t) => {
  const body = bytes({ messages: [user('é')] })
  const latin = Buffer.from(body.toString('utf8'), 'latin1')
  t.not(readChatRequest(body), null)
  t.equal(readChatRequest(latin), null)
  t.equal(readChatRequest(Buffer.from([...body.subarray(0, -10), 0xff, ...body.subarray(-10)])), null)
  t.equal(readChatRequest(Buffer.from(body.toString('utf8'), 'utf16le')), null)
})

t.test('absent and null tools are none, and empty ones are empty', async (t) => {
  t.equal(chatRequest({ messages: [] }).tools, null)
  t.equal(chatRequest({ messages: [], tools: null }).tools, null)
  t.strictSame(chatRequest({ messages: [], tools: [] }).tools, [])
  t.equal(chatRequest({ messages: [], tools: [{}, {}] }).tools!.length, 2)
})

t.test('calls may be null or empty, and one without an id has an empty one', async (t) => {
  const request = chatRequest({ messages: [
    { role: 'assistant', tool_calls: null }, { role: 'assistant', tool_calls: [] }, { role: 'assistant', tool_calls: [{}, { id: null }, null, { id: 'a' }] },
    { role: 'tool', tool_call_id: null },
  ] })
  t.strictSame(request.messages.map(({ callIds }) => callIds), [[], [], ['', '', '', 'a'], []])
  t.equal(request.messages[3]!.answers, null)
})

t.test('the text of a message is its raw insides, part by part, with every escape kept', async (t) => {
  const insides = (message: string): string[] | null => {
    const request = chatRequest(`{"messages":[${message}]}`)
    return textInsides(request.body, request.messages[0]!.slice)?.map(String) ?? null
  }
  t.strictSame(insides('{"role":"user","content":"a\\u0041\\n\\/漢\\ud83d"}'), ['a\\u0041\\n\\/漢\\ud83d'])
  t.strictSame(insides('{"role":"user","content":[{"type":"text","text":"a\\"b"},{"text":"c","type":"t\\u0065xt"},"d"]}'), ['a\\"b', 'c', 'd'])
  t.strictSame(insides('{"role":"user","content":"first","content":"last"}'), ['last'])
  for (const nothing of ['null', '[]']) t.strictSame(insides(`{"role":"user","content":${nothing}}`), [], nothing)
  t.strictSame(insides('{"role":"user"}'), [])
  t.strictSame(insides('{"role":"user","content":""}'), [''])
  const other = ['5', '{"type":"text","text":"x"}', 'true', '[{"type":"image_url","image_url":{}}]', '[{"type":"text","text":5}]', '[{"type":"text"}]', '[{"type":"image_url","text":"x"}]', '[[]]', '[null]']
  for (const content of other) t.equal(insides(`{"role":"user","content":${content}}`), null, content)
})

t.test('a text read for recognising is the one JSON.parse gives', async (t) => {
  holds(t, fc.property(oddJson.filter((json) => json.startsWith('"')), (text) => {
    const request = chatRequest(`{"messages":[{"role":"user","content":${text}}]}`)
    assert.equal(readText(request.body, request.messages[0]!.slice), JSON.parse(text))
  }))
})

t.test('null is absent, as vLLM takes it', async (t) => {
  const request = chatRequest('{"messages":[],"a":null,"b":"null","c":0,"d":false}')
  t.equal(option(request, 'a'), undefined)
  t.equal(option(request, 'absent'), undefined)
  t.equal(String(bytesOf(request.body, option(request, 'b')!)), '"null"')
  t.equal(stringOption(request, 'b'), 'null')
  t.equal(stringOption(request, 'c'), null)
  t.not(option(request, 'd'), undefined)
})

t.test('numbers are read as vLLM reads them, in quotes too', async (t) => {
  const request = chatRequest('{"messages":[],"a":7,"b":"7","c":7e0,"d":"x","e":null,"f":[7],"g":"","h":1e400,"i":-1,"j":true,"k":" "}')
  for (const key of 'abc') t.equal(numberOption(request, key), 7, key)
  for (const key of 'defghk') t.equal(numberOption(request, key), null, key)
  t.equal(numberOption(request, 'i'), -1)
  t.equal(numberOption(request, 'j'), 1)
})

t.test('booleans are read as vLLM reads them, in words and numbers too', async (t) => {
  for (const yes of ['true', '1', '1.0', '"true"', '"True"', '"1"', '"yes"', '"on"', '"t"', '"Y"']) {
    t.equal(booleanOption(chatRequest(`{"messages":[],"a":${yes}}`), 'a'), true, yes)
  }
  for (const no of ['false', '0', '0.0', '"false"', '"FALSE"', '"0"', '"no"', '"off"', '"f"', '"n"']) {
    t.equal(booleanOption(chatRequest(`{"messages":[],"a":${no}}`), 'a'), false, no)
  }
  for (const neither of ['null', '2', '"maybe"', '""', '{}', '[]']) t.equal(booleanOption(chatRequest(`{"messages":[],"a":${neither}}`), 'a'), null, neither)
})

t.test('slices alone do not look inside strings and numbers, so a body is checked to its last byte', async (t) => {
  for (const wrong of ['{"messages":[]} x', '{"messages":[],"a":"\n"}', '{"messages":[],"a":01}', '{"messages":[],"a":"\\x"}']) t.equal(isWholeJson(Buffer.from(wrong)), false, wrong)
  t.equal(isWholeJson(Buffer.from(' {"messages":[]}\n')), true)
})

t.test('bytes of any kind are read without a throw', async (t) => {
  const whole = bytes({ model: 'm', messages: [system, user('é"'), calls('a'), answer('a')], tools: [{}] })
  holds(t, fc.property(fc.nat(whole.length), fc.nat(whole.length), fc.nat(255), (cut, at, byte) => {
    readChatRequest(whole.subarray(0, cut))
    const garbled = Buffer.from(whole)
    garbled[Math.min(at, whole.length - 1)] = byte
    const request = readChatRequest(garbled)
    for (const { slice } of request?.messages ?? []) {
      assert.ok(slice.end <= garbled.length)
      readText(garbled, slice)
    }
  }), 1500)
})
