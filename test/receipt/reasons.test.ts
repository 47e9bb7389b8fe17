import t from 'tap'
import { reasons } from '../../src/receipt/reasons.ts'

/** The names that the contract promises; a log that is searched for one must go on finding it. */
const promised = [
  'no_warm_evidence', 'evidence_expired', 'ambiguous_conversation', 'model_changed', 'endpoint_changed', 'template_changed', 'options_changed', 'prefix_changed', 'mid_range', 'coverage_unproven',
  'incomplete_tool_group', 'caching_not_advertised', 'tokenize_unavailable', 'token_ids_missing', 'tokenizer_uncalibrated', 'prefix_diverges', 'head_too_small', 'head_over_cap', 'window_exceeded', 'no_gain',
  'media_unsupported', 'unforkable_options', 'unreadable_body', 'fork_rejected', 'fork_failed_before', 'model_switched_off', 'reuse_not_observed', 'observed_only', 'disabled', 'internal_error',
]

t.test('the reasons are the promised names', async (t) => {
  t.strictSame(Object.keys(reasons).toSorted(), promised.toSorted())
})

t.test('every reason is explained in one whole sentence or two, and none reads like a context overflow [case 43]', async (t) => {
  for (const [name, sentence] of Object.entries(reasons)) {
    t.match(name, /^[a-z]+(_[a-z]+)*$/)
    t.match(sentence, /^[A-Z].{20,220}\.$|^fork\.mode .{20,200}\.$/, name)
    t.notMatch(sentence, /context length|maximum context|too long|exceeds/i, name)
  }
  t.equal(new Set(Object.values(reasons)).size, Object.keys(reasons).length)
})
