import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { EndOfReply } from '../../src/conversation/end-of-reply.ts'
import { holds } from '../helpers/property.ts'

t.test('the end is that of all pieces joined, whatever their lengths and how much is wanted', async (t) => {
  holds(t, fc.property(fc.integer({ min: 1, max: 5_000 }), fc.array(fc.integer({ min: 0, max: 9_000 }), { maxLength: 30 }), (keep, lengths) => {
    const all = Buffer.from(Array.from({ length: lengths.reduce((sum, length) => sum + length, 0) }, (_, i) => i * 7 + (i >> 8)))
    const end = new EndOfReply(keep)
    let at = 0
    let isFirst = true
    for (const length of lengths) {
      end.add(all.subarray(at, at += length))
      assert.equal(end.total, at)
      assert.ok(end.bytes.equals(all.subarray(Math.max(0, at - keep), at)))
      // A reply's first piece is not copied, and of its own size; here it is cut from a larger one.
      isFirst &&= at === length
      assert.ok(isFirst || end.bytes.buffer.byteLength <= Math.max(1024, 2 * keep))
    }
  }), 300)
})
