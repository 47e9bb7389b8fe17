import t from 'tap'
import { newReceiptId, noFacts, receiptHeaders, type Receipt } from '../../src/receipt/receipt.ts'

const receipt: Receipt = {
  receipt: 'r1', decision: 'passed', eligible: false, fork_sent: false, cache_hit_verified: false, fallback_reason: 'no_gain', ...noFacts(), endpoint: '/v1/chat/completions', observed_at: '', plan_ms: 1,
}

function headers(change: Partial<Receipt>): Record<string, string> {
  const list = receiptHeaders({ ...receipt, ...change })
  return Object.fromEntries(list.flatMap((name, i) => (i % 2 === 0 ? [[name, list[i + 1]!]] : [])))
}

t.test('a receipt’s headers say what was decided and proven, and never more', async (t) => {
  t.strictSame(headers({}), {
    'x-warmfork-receipt': 'r1', 'x-warmfork-decision': 'passed', 'x-warmfork-eligible': 'false', 'x-warmfork-fork-sent': 'false',
    'x-warmfork-cache-hit-verified': 'false', 'x-warmfork-fallback-reason': 'no_gain',
  })
  t.strictSame(headers({ decision: 'forked', eligible: true, fork_sent: true, fallback_reason: null, common_prefix_tokens: 0, model: 'm', conversation: 'c', agent: 'a' }), {
    'x-warmfork-receipt': 'r1', 'x-warmfork-decision': 'forked', 'x-warmfork-eligible': 'true', 'x-warmfork-fork-sent': 'true',
    'x-warmfork-common-prefix-tokens': '0', 'x-warmfork-cache-hit-verified': 'false',
  })
})

t.test('no fact is known before a plan has found it out', async (t) => {
  t.ok(Object.values(noFacts()).every((fact) => fact === null))
  t.not(noFacts(), noFacts())
})

t.test('receipts have ids that nobody guesses', async (t) => {
  const ids = Array.from({ length: 200 }, newReceiptId)
  t.equal(new Set(ids).size, 200)
  for (const id of ids) t.match(id, /^[\w-]{12}$/)
})
