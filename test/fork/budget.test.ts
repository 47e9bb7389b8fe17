import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { budgetOf, reusableTokens, type Budgets } from '../../src/fork/budget.ts'
import { chatRequest } from '../helpers/chat-requests.ts'
import { holds } from '../helpers/property.ts'

const none: Budgets = { inputCapTokens: null, outputAllowanceTokens: null, minOutputTokens: 4000 }

function budget(summary: object, forkTokens: number, window: number | null, budgets: Partial<Budgets> = {}): number | null | string {
  const found = budgetOf(chatRequest({ messages: [], ...summary }), forkTokens, window, { ...none, ...budgets })
  return found.fits ? found.maxTokens : found.reason
}

t.test('with nothing asked and nothing configured there is no limit of ours', async (t) => {
  t.equal(budget({}, 10_000, null), null)
  t.equal(budget({}, 10_000, 40_960), null)
})

t.test('the agent’s limit stays, unless the window leaves less [case 51]', async (t) => {
  t.equal(budget({ max_tokens: 9000 }, 10_000, null), 9000)
  t.equal(budget({ max_tokens: 9000 }, 10_000, 40_960), 9000)
  t.equal(budget({ max_tokens: 9000 }, 35_000, 40_960), 5960)
  t.equal(budget({ max_tokens: '9000' }, 35_000, 40_960), 5960)
})

t.test('the newer name wins, and null is no limit', async (t) => {
  t.equal(budget({ max_tokens: 9000, max_completion_tokens: 500 }, 0, null), 500)
  t.equal(budget({ max_tokens: 9000, max_completion_tokens: null }, 0, null), 9000)
})

t.test('the allowance bounds the reply, whoever asked for how much', async (t) => {
  t.equal(budget({}, 10_000, 40_960, { outputAllowanceTokens: 20_000 }), 20_000)
  t.equal(budget({ max_tokens: 30_000 }, 10_000, 40_960, { outputAllowanceTokens: 20_000 }), 20_000)
  t.equal(budget({ max_tokens: 100 }, 10_000, 40_960, { outputAllowanceTokens: 20_000 }), 100)
  t.equal(budget({}, 30_000, 40_960, { outputAllowanceTokens: 20_000 }), 10_960)
})

t.test('a window that leaves too little has its reason, at the last token', async (t) => {
  t.equal(budget({}, 36_960, 40_960), null)
  t.equal(budget({}, 36_961, 40_960), 'window_exceeded')
  t.equal(budget({ max_tokens: 8000 }, 36_960, 40_960), 4000)
  t.equal(budget({ max_tokens: 8000 }, 36_961, 40_960), 'window_exceeded')
  t.equal(budget({}, 50_000, 40_960), 'window_exceeded')
})

t.test('an agent that asks for less than the minimum needs only that', async (t) => {
  t.equal(budget({ max_tokens: 500 }, 40_460, 40_960), 500)
  t.equal(budget({ max_tokens: 500 }, 40_461, 40_960), 'window_exceeded')
})

t.test('a prompt above the cap has its reason, at the first token, whatever the window', async (t) => {
  t.equal(budget({}, 90_000, 131_072, { inputCapTokens: 90_000 }), null)
  t.equal(budget({}, 90_001, 131_072, { inputCapTokens: 90_000 }), 'head_over_cap')
  t.equal(budget({}, 90_001, null, { inputCapTokens: 90_000 }), 'head_over_cap')
})

t.test('a limit never takes the fork over its window', async (t) => {
  const limit = fc.option(fc.integer({ min: 1, max: 60_000 }))
  holds(t, fc.property(limit, limit, fc.nat(60_000), fc.integer({ min: 1, max: 60_000 }), (asked, allowance, forkTokens, window) => {
    const found = budgetOf(chatRequest({ messages: [], max_tokens: asked }), forkTokens, window, { ...none, outputAllowanceTokens: allowance })
    if (!found.fits) return assert.ok(window - forkTokens < 4000)
    assert.ok(window - forkTokens >= Math.min(4000, asked ?? 4000, allowance ?? 4000))
    if (found.maxTokens !== null) assert.ok(found.maxTokens >= 1 && forkTokens + found.maxTokens <= window && found.maxTokens <= Math.min(asked ?? Infinity, allowance ?? Infinity))
    else assert.ok(asked === null && allowance === null)
  }), 500)
})

t.test('reusable are full blocks, and never the last token', async (t) => {
  t.equal(reusableTokens(4224 + 68, 4400, 128), 4224)
  t.equal(reusableTokens(4224, 4400, 128), 4224)
  t.equal(reusableTokens(4223, 4400, 128), 4096)
  t.equal(reusableTokens(32, 32, 16), 16)
  t.equal(reusableTokens(33, 33, 16), 32)
  t.equal(reusableTokens(15, 400, 16), 0)
  t.equal(reusableTokens(0, 400, 16), 0)
  t.equal(reusableTokens(500, 400, 16), 384)
})
