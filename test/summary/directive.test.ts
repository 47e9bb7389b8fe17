import fc from 'fast-check'
import assert from 'node:assert/strict'
import t from 'tap'
import { directive } from '../../src/summary/directive.ts'
import { chatRequest, oddJson, user } from '../helpers/chat-requests.ts'
import { holds } from '../helpers/property.ts'

function written(front: string[], instruction: string | null): string | null {
  const request = chatRequest(`{"messages":[${[...front, ...(instruction === null ? [] : [instruction])].join(',')}]}`)
  const slices = request.messages.map(({ slice }) => slice)
  const message = directive(request.body, slices.slice(0, front.length), instruction === null ? null : slices.at(-1)!)
  return message && message.toString('utf8')
}

function content(message: string | null): string {
  const read = JSON.parse(message!) as { role: string, content: string }
  assert.deepEqual(Object.keys(read), ['role', 'content'])
  assert.equal(read.role, 'user')
  return read.content
}

t.test('it is one user message that frames the instruction', async (t) => {
  const text = content(written([], JSON.stringify(user('Summarise as XML.'))))
  t.match(text, /^The conversation above is the material/)
  t.match(text, /do not mention this request.*do not call a tool/)
  t.ok(text.endsWith('\n\nSummarise as XML.'))
})

t.test('a summariser’s own system text comes before its instruction', async (t) => {
  const text = content(written(['{"role":"system","content":"You write."}', '{"role":"developer","content":"Briefly."}'], JSON.stringify(user('Now.'))))
  t.ok(text.endsWith('\n\nYou write.\n\nBriefly.\n\nNow.'))
})

t.test('with nothing given, the checkpoint directive asks for a summary', async (t) => {
  for (const nothing of [null, '{"role":"user","content":""}', '{"role":"user","content":[]}', '{"role":"user"}', '{"role":"user","content":null}']) {
    t.match(content(written([], nothing)), /Write a summary of the conversation above/)
  }
  t.notMatch(content(written([], JSON.stringify(user('x')))), /Write a summary/)
})

t.test('text parts are joined, and every escape stays as it was written', async (t) => {
  const message = written([], '{"role":"user","content":[{"type":"text","text":"a\\u00e9\\/\\ud83d"},{"type":"text","text":"\\"b\\""}]}')
  t.ok(message!.endsWith('\\n\\na\\u00e9\\/\\ud83d\\n\\n\\"b\\""}'))
})

t.test('what is no text cannot be in it', async (t) => {
  t.equal(written([], '{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:"}}]}'), null)
  t.equal(written(['{"role":"system","content":[{"type":"file","file":{}}]}'], JSON.stringify(user('x'))), null)
  t.equal(written([], '{"role":"user","content":{"text":"x"}}'), null)
  t.equal(written([], '{"role":"user","content":5}'), null)
})

t.test('any text, however escaped, is in it unchanged', async (t) => {
  holds(t, fc.property(oddJson.filter((json) => json.startsWith('"') && json.length > 2), (text) => {
    const message = written([], `{"role":"user","content":${text}}`)
    assert.ok(message!.endsWith(`${text.slice(1)}}`))
    assert.ok(content(message).endsWith(JSON.parse(text) as string))
  }))
})
