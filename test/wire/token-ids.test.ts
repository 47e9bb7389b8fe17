import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { commonPrefix, readTokenIds } from '../../src/wire/token-ids.ts'
import { holds } from '../helpers/property.ts'

const ids = fc.array(fc.oneof(fc.nat(9), fc.nat(200_000), fc.constant(0xffffffff)), { maxLength: 60 })

t.test('ids are read as JSON.parse reads them', async (t) => {
  holds(t, fc.property(ids, fc.constantFrom(',', ', '), (list, comma) => {
    const answer = Buffer.from(`{"count":${list.length},"max_model_len":40960,"tokens":[${list.join(comma)}],"token_strs":null}`)
    assert.deepEqual([...readTokenIds(answer, '"tokens":[')!], list)
  }), 500)
})

t.test('what is no array of ids is none, and never half of one', async (t) => {
  const wrong = ['[-1]', '[1.5]', '[1.0]', '[1e3]', '[null]', '["1"]', '[1,,2]', '[,1]', '[1,]', '[4294967296]', '[1 2]', '[[1]]', '[true]', '{}', 'null', '"[1]"']
  for (const value of wrong) t.equal(readTokenIds(Buffer.from(`{"tokens":${value}}`), '"tokens":['), null, value)
  t.same(readTokenIds(Buffer.from('{"tokens":[]}'), '"tokens":['), new Uint32Array(0))
})

t.test('half an answer, HTML and nothing at all hold no ids', async (t) => {
  const whole = '{"count":3,"tokens":[11,22,33]}'
  for (let end = 0; end < whole.indexOf(']'); end++) t.equal(readTokenIds(Buffer.from(whole.slice(0, end)), '"tokens":['), null)
  t.equal(readTokenIds(Buffer.from('<html>tokens: [1]</html>'), '"tokens":['), null)
})

t.test('a key is not found in the middle of another, nor in a text that quotes it', async (t) => {
  t.equal(readTokenIds(Buffer.from('{"prompt_token_ids":[1,2]}'), '"token_ids":['), null)
  const quoting = Buffer.from(JSON.stringify({ content: 'it said "prompt_token_ids":[9]', prompt_token_ids: [1] }))
  t.same(readTokenIds(quoting, '"prompt_token_ids":['), new Uint32Array([1]))
})

t.test('bytes of any kind are answered without a throw', async (t) => {
  holds(t, fc.property(fc.array(fc.constantFrom('[', ']', ',', '1', '99', ' ', '-', '"', 'x'), { maxLength: 20 }), (signs) => {
    const text = signs.join('')
    const found = readTokenIds(Buffer.from(`"tokens":[${text}`), '"tokens":[')
    if (found === null) return
    const list = JSON.parse(`[${text.slice(0, text.indexOf(']') + 1)}`) as number[]
    assert.deepEqual([...found], list)
  }), 1000)
})

t.test('the common prefix ends where the first id differs', async (t) => {
  holds(t, fc.property(ids, ids, ids, (shared, a, b) => {
    const left = Uint32Array.from([...shared, ...a])
    const right = Uint32Array.from([...shared, ...b])
    let naive = 0
    while (naive < left.length && naive < right.length && left[naive] === right[naive]) naive++
    assert.equal(commonPrefix(left, right), naive)
  }))
})

t.test('a prompt of any length is read whole', async (t) => {
  for (const length of [(1 << 17) - 1, 1 << 17, (1 << 17) + 1, 600_000]) {
    const list = Uint32Array.from({ length }, (_, i) => i)
    t.ok(Buffer.from(readTokenIds(Buffer.from(`{"tokens":[${list.join(',')}]}`), '"tokens":[')!.buffer).equals(Buffer.from(list.buffer)), String(length))
  }
})
