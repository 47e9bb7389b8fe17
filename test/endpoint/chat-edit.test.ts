import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { ChatEdit, type Asked } from '../../src/endpoint/chat-edit.ts'
import { SseSplitter } from '../../src/wire/sse.ts'
import { holds } from '../helpers/property.ts'

const nothing: Asked = { usage: false, tokenIds: false }
const everything: Asked = { usage: true, tokenIds: true }

/** A stream as the client sees it, cut at these places on its way. */
function edited(stream: string | Buffer, asked: Asked = nothing, places: readonly number[] = []): string {
  const bytes = Buffer.from(stream)
  const splitter = new SseSplitter()
  const cuts = [0, ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  const events = cuts.slice(1).flatMap((to, i) => splitter.push(Buffer.from(bytes.subarray(cuts[i], to))))
  const edit = new ChatEdit(asked)
  return Buffer.concat([...events.map((event) => edit.event(event) ?? Buffer.alloc(0)), edit.rest() ?? Buffer.alloc(0), splitter.rest()]).toString('latin1')
}

function editReply(json: Buffer, asked: Asked): Buffer {
  return new ChatEdit(asked).reply(json)
}

function latin(text: string): string {
  return Buffer.from(text).toString('latin1')
}

const role = 'data: {"id":"é", "choices":[{"index":0,"delta":{"role":"assistant","content":""}}],"prompt_token_ids":[1, 22,333],"x":1.0}\n\n'
const text = 'data: {"choices":[{"index":0,"delta":{"content":"漢 [DONE] \\"token_ids\\":[1]"},"token_ids":[5,6]}]}\n\n'
const finish = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop","token_ids":[7]}]}\n\n'
const usage = 'data: {"id":"a","choices":[],"usage":{"prompt_tokens":3}}\n\n'
const end = ': ping\n\ndata: [DONE]\n\n'
const stream = role + text + finish + usage + end
const shown = latin(role.replace('[1, 22,333]', 'null') + text.replace('[5,6]', 'null') + finish.replace('[7]', 'null') + end)

t.test('ids become null and the usage event goes, and every other byte stays', async (t) => {
  t.equal(edited(stream), shown)
})

t.test('what the client asked for itself stays', async (t) => {
  t.equal(edited(stream, everything), latin(stream))
  t.equal(edited(stream, { usage: true, tokenIds: false }), shown.replace(latin(end), latin(usage + end)))
  t.equal(edited(stream, { usage: false, tokenIds: true }), latin(stream.replace(usage, '')))
})

t.test('where the stream was cut on its way makes no difference', async (t) => {
  for (let place = 0; place <= Buffer.byteLength(stream); place++) assert.equal(edited(stream, nothing, [place]), shown, `cut at ${place}`)
  const crlf = stream.replaceAll('\n', '\r\n')
  holds(t, fc.property(fc.array(fc.nat(2000), { maxLength: 12 }), (places) => {
    assert.equal(edited(stream, nothing, places), shown)
    assert.equal(edited(crlf, nothing, places), edited(crlf))
  }), 300)
})

t.test('line ends, marks and other lines of an event stay', async (t) => {
  t.equal(edited('event: delta\r\nid: 5\r\ndata:{"prompt_token_ids":[1]}\r\n: note\r\n\r\n'), 'event: delta\r\nid: 5\r\ndata:{"prompt_token_ids":null}\r\n: note\r\n\r\n')
  t.equal(edited('\ufeffdata: {"prompt_token_ids":[1]}\r\r'), latin('\ufeffdata: {"prompt_token_ids":null}\r\r'))
})

t.test('nothing of ours is left in data over several lines', async (t) => {
  const seen = edited('data: {"choices":[],\ndata: "prompt_token_ids":[1,2]}\n\n')
  t.match(seen, /^data: .*\n\n$/)
  t.strictSame(JSON.parse(seen.slice(6)), { choices: [], prompt_token_ids: null })
  t.equal(edited('data: {"a":1,\ndata: "b":2}\n\n'), 'data: {"a":1,\ndata: "b":2}\n\n')
})

t.test('only a usage beside no choice is an event of its own', async (t) => {
  t.equal(edited('data: {"choices":[ ],"usage":{"prompt_tokens":1}}\n\n'), '')
  t.equal(edited('data: {"choices":[],"us\\u0061ge":{}}\n\n'), 'data: {"choices":[],"us\\u0061ge":{}}\n\n')
  for (const stays of ['{"choices":[],"usage":null}', '{"choices":[]}', '{"usage":null,"choices":[{"delta":{"content":"usage"}}]}', '{"error":{"message":"usage"}}', '[DONE]', '', 'not json "usage"']) {
    t.equal(edited(`data: ${stays}\n\n`), `data: ${stays}\n\n`, stays)
  }
})

t.test('usage that comes with the finish, or on every chunk, is null for who did not ask [case 11]', async (t) => {
  const merged = 'data: {"choices":[{"delta":{},"finish_reason":"stop","token_ids":[7]}],"usage":{"prompt_tokens":3},"x":1}\n\n'
  t.equal(edited(merged), 'data: {"choices":[{"delta":{},"finish_reason":"stop","token_ids":null}],"usage":null,"x":1}\n\n')
  t.equal(edited(merged.replace('"usage":{"prompt_tokens":3},', '').replace('{"choices"', '{"usage":{"prompt_tokens":3},"choices"')),
    'data: {"usage":null,"choices":[{"delta":{},"finish_reason":"stop","token_ids":null}],"x":1}\n\n')
  t.equal(edited(merged, everything), merged)
})

t.test('an event that holds nothing but ids is not there for who did not ask for them', async (t) => {
  const bare = 'data: {"id":"a","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":null,"token_ids":[5]}]}\n\n'
  t.equal(edited(bare), '')
  t.equal(edited(role + bare + text + finish), edited(role + text + finish))
  t.equal(edited(bare.replace('"token_ids":[5]}]', '"token_ids":[5]}],"usage":{"prompt_tokens":3}'), { usage: true, tokenIds: false }), '', 'continuous usage comes with the events that say something')
  t.equal(edited(bare, everything), bare)
  for (const [from, to] of [['"delta":{}', '"delta":{"content":""}'], ['"finish_reason":null', '"finish_reason":"stop"'], ['"logprobs":null', '"logprobs":{"content":[]}'], ['"id":"a"', '"prompt_token_ids":[1]']] as const) {
    t.equal(edited(bare.replace(from, to)), bare.replace(from, to).replaceAll(/\[\d\]/g, 'null'), to)
  }
  const foreign = bare.replace(',"token_ids":[5]', '')
  for (const stays of [foreign, bare.replace('[5]', 'null'), foreign.replace('"finish_reason":null,', ''), 'data: {"choices":[null,{"delta":{}}]}\n\n']) t.equal(edited(stays), stays)
})

t.test("the engine's fingerprint, which comes with the usage that was asked for, goes into the finish where it stands without", async (t) => {
  const marked = usage.replace('}}', '},"system_fingerprint":"vllm-é, \\"x\\""}')
  const given = finish.replace('}]}', '}],"system_fingerprint":"vllm-é, \\"x\\""}')
  const wanted = edited(given)
  t.equal(edited(finish + marked + end), wanted + latin(end))
  t.equal(edited((finish + marked + end).replaceAll('\n', '\r\n')), (wanted + latin(end)).replaceAll('\n', '\r\n'))
  t.equal(edited(finish + ': ping\n\n' + marked + end), wanted + latin(': ping\n\n' + end))
  t.equal(edited(finish.replace('}]}', '}] }') + marked), edited(given.replace('}],"', '}] ,"')))
  t.strictSame(JSON.parse(edited(finish.replace('"choices"', '\ndata: "choices"') + marked).slice(6)), JSON.parse(wanted.slice(6)), 'over several lines')
  t.equal(edited(finish + marked, everything), latin(finish + marked), 'a client that asked for usage has it there')
  for (const [what, stream] of Object.entries({
    'nothing behind it': finish, 'no fingerprint': finish + usage, 'none said': finish + marked.replace(/"vllm.*"\}/, 'null}'), 'an end': finish + end,
    'another event': finish + text + marked, 'one of its own': given.replace('vllm', 'own') + marked,
  })) t.equal(edited(stream), edited(stream.includes('own') ? given.replace('vllm', 'own') : finish) + (what === 'an end' ? latin(end) : what === 'another event' ? edited(text) : ''), what)
})

t.test('a finish is held back for the next event alone, and is there for who asks for it', async (t) => {
  const edit = new ChatEdit(nothing)
  const [finished, pinged] = new SseSplitter().push(Buffer.from(finish + ': ping\n\n'))
  t.equal(edit.rest(), null)
  t.equal(edit.event(finished!), null)
  t.equal(edit.event(pinged!), null)
  t.equal(edit.rest()?.toString('latin1'), edited(finish) + ': ping\n\n')
  t.equal(edit.rest(), null)
  t.equal(edit.event(pinged!)?.toString(), ': ping\n\n')
})

t.test('a whole reply loses its ids and nothing else; its usage is everybody’s', async (t) => {
  const reply = '{"id":"a", "choices":[{"index":0,"message":{"content":"\\"token_ids\\":[1]","token_ids":[8]},"token_ids":[1,2]},{"token_ids":null},{"token_ids":[3]}],\n"usage":{"prompt_tokens":9007199254740993},"prompt_token_ids":[4,5],"prompt_logprobs":null}'
  const wanted = reply.replace('"token_ids":[1,2]', '"token_ids":null').replace('[3]', 'null').replace('[4,5]', 'null')
  t.equal(editReply(Buffer.from(reply), nothing).toString(), wanted)
  t.equal(editReply(Buffer.from(reply), { usage: true, tokenIds: false }).toString(), wanted)
  t.equal(editReply(Buffer.from(reply), { usage: false, tokenIds: true }).toString(), reply)
  for (const odd of ['', '{}', 'x', '[]', '{"choices":null}', '{"choices":[null,5]}', '{"prompt_token_ids":null}', ' {"choices":{}}']) t.equal(editReply(Buffer.from(odd), nothing).toString(), odd)
  t.equal(editReply(Buffer.from('\n {"prompt_token_ids":[1]} '), nothing).toString(), '\n {"prompt_token_ids":null} ')
})
