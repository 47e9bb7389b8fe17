// Every fallback reason over HTTP, on each endpoint, streaming and not: the engine gets the summary's own bytes, the client gets what the
// engine alone would have given, and receipt and outcome say why.

import t, { type Test } from 'tap'
import type { EndpointName } from '../../src/endpoint/endpoint.ts'
import { reasons, type Reason } from '../../src/receipt/reasons.ts'
import { type Fault, simulatorModel } from '../../src/simulator/simulator.ts'
import { spokenEndpoints } from '../helpers/endpoints/all.ts'
import type { Spoken } from '../helpers/endpoints/spoken.ts'
import { sleep } from '../helpers/http.ts'
import { type ChatBody, isFork, opencodeSession, sameForAll, type Session, startWarmfork, streamed, type Warmfork, type WarmforkOptions, whenForked } from '../helpers/warmfork.ts'

interface Row extends WarmforkOptions {
  readonly when: string
  /** The session; a usual one by default. */
  readonly session?: () => Session
  /** What comes before the summary; by default the main request. */
  readonly before?: (warmfork: Warmfork, session: Session) => Promise<unknown>
  readonly summary?: (session: Session) => ChatBody
  /** Changes the summary as it was written. */
  readonly rewrite?: (json: string) => string
  /** Members of a chat request without which there is nothing to test. */
  readonly needs?: readonly string[]
  /** The endpoints that can give it; all by default. */
  readonly on?: readonly EndpointName[]
  readonly headers?: readonly string[]
  readonly eligible?: boolean
  readonly forkSent?: boolean
  /** Null where the engine gives no reply to be judged. */
  readonly valid?: boolean | null
  readonly warnings?: number
  /** The events of several choices come in any order. */
  readonly anyOrder?: boolean
}

const strangeIds: Fault = { kind: 'rewrite', change: (answer) => ({ ...answer, tokens: ['a', 1.5] }) }
const explicit = ['x-warmfork-request', 'summary']

const rows: Record<Exclude<Reason, 'endpoint_changed'>, readonly Row[]> = {
  no_warm_evidence: [
    { when: 'no main request came before', before: async () => {} },
    { when: 'the main request was cut at its limit', before: async (warmfork, { main }) => warmfork.chat({ ...main, max_tokens: 2 }) },
  ],
  evidence_expired: [{
    when: 'the main request is older than its time to live',
    config: { evidence: { ttl_s: 1 } },
    before: async (warmfork, session) => {
      await warmfork.main(session)
      await sleep(1_050)
    },
  }],
  ambiguous_conversation: [{
    when: 'two main requests with other system texts hold the same turns',
    before: async (warmfork, { main }) => {
      const [, ...turns] = main.messages
      for (const content of ['You work on the left half.', 'You work on the right half.']) {
        await warmfork.chat({ ...main, messages: [{ role: 'system', content }, ...turns] })
      }
    },
  }],
  model_changed: [{
    when: 'the summary names another model',
    engine: { model: [simulatorModel, 'another-model'] },
    summary: ({ summary }) => ({ ...summary, model: 'another-model' }),
  }],
  template_changed: [{
    when: 'the summary has chat_template_kwargs that the conversation has not',
    needs: ['chat_template_kwargs'],
    summary: ({ summary }) => ({ ...summary, chat_template_kwargs: { enable_thinking: false } }),
  }],
  options_changed: [
    { when: 'the summary has another cache_salt', needs: ['cache_salt'], summary: ({ summary }) => ({ ...summary, cache_salt: 'salt-of-the-summary' }) },
    { when: 'the summary has another reasoning_effort', needs: ['reasoning_effort'], summary: ({ summary }) => ({ ...summary, reasoning_effort: 'low' }) },
    { when: 'the summary has a member that nobody knows', rewrite: (json) => json.replace('{', '{"future_option":1,') },
  ],
  prefix_changed: [
    {
      when: 'the tools differ',
      headers: explicit,
      summary: ({ main, summary }) => ({ ...main, messages: [...main.messages, summary.messages.at(-1)!], tools: main.tools!.slice(1) }),
    },
  ],
  mid_range: [{
    when: 'the summary begins in the middle of the conversation',
    summary: ({ summary }) => ({ ...summary, messages: [summary.messages[0]!, ...summary.messages.slice(6)] }),
  }],
  coverage_unproven: [{
    when: 'the first message differs',
    headers: ['x-session-id', 'the-same'],
    before: async (warmfork, session) => warmfork.main(session, { headers: ['x-session-id', 'the-same'] }),
    summary: ({ summary }) => ({ ...summary, messages: [summary.messages[0]!, { role: 'user', content: 'Another beginning.' }, ...summary.messages.slice(2)] }),
  }],
  incomplete_tool_group: [{
    when: 'the last calls of the recorded request have one answer of two',
    session: () => {
      const session = opencodeSession({ callsPerGroup: 2, outputTokens: 600, groups: 3 })
      const messages = session.main.messages.slice(0, -1)
      return {
        main: { ...session.main, messages },
        summary: { ...session.summary, messages: [session.summary.messages[0]!, ...messages.slice(1), session.summary.messages.at(-1)!] },
      }
    },
  }],
  caching_not_advertised: [
    { when: 'prefix caching is switched off', engine: { prefixCaching: false } },
    { when: 'the metrics have no series of vLLM', engine: { logStats: false } },
  ],
  tokenize_unavailable: [
    { when: '/tokenize answers 500', before: faultThenMain({ kind: 'answer', status: 500, body: '{}' }) },
    { when: '/tokenize is not there, nor another that renders', engine: { scaleOut: false }, before: faultThenMain({ kind: 'answer', status: 404, body: '{"detail":"Not Found"}' }) },
  ],
  token_ids_missing: [
    { when: '/tokenize answers ids that are not integers', engine: { scaleOut: false }, before: faultThenMain(strangeIds) },
    {
      when: '/tokenize answers ids that are not integers since it was calibrated',
      before: async (warmfork, session) => {
        await warmfork.main(session)
        await warmfork.line(({ msg }) => msg === 'calibration')
        warmfork.script.fault = ({ path }) => path === '/tokenize' ? strangeIds : undefined
      },
    },
  ],
  tokenizer_uncalibrated: [
    { when: 'chat prefills other ids than /tokenize tells', engine: { scaleOut: false, chatPrompt: (rendered) => `${rendered} ` } },
    { when: 'nothing tells what the endpoint prefills', on: ['messages'], engine: { scaleOut: false, promptTokensDetails: false } },
  ],
  prefix_diverges: [
    {
      when: "a new user message makes the template drop the conversation's reasoning, and token ids cannot give what is asked for",
      session: () => opencodeSession({ reasoning: 'reasoning' }),
      needs: ['logprobs'],
      summary: ({ summary }) => ({ ...summary, logprobs: true }),
    },
    {
      when: "a new user message makes the template drop the conversation's reasoning, and nothing tells how the model thinks",
      session: () => opencodeSession({ reasoning: 'reasoning' }),
      before: async (warmfork, session) => {
        warmfork.script.fault = ({ path }) => path === '/detokenize' ? { kind: 'answer', status: 404, body: '{"detail":"Not Found"}' } : undefined
        await warmfork.main(session)
      },
    },
  ],
  head_too_small: [{ when: 'the shared part does not fill one cache block', engine: { blockSize: 4096 } }],
  head_over_cap: [{ when: 'the fork is larger than summary.input_cap_tokens', config: { summary: { input_cap_tokens: 1_000 } } }],
  window_exceeded: [{ when: 'the window leaves less than the agent asks for', engine: { maxModelLen: 3_000 } }],
  no_gain: [{ when: 'the conversation is short', session: () => opencodeSession({ groups: 1, outputTokens: 40 }) }],
  media_unsupported: [{
    when: 'the summary brings an image',
    valid: null,
    summary: ({ summary }) => ({
      ...summary,
      messages: summary.messages.with(-2, { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] as never }),
    }),
  }],
  unforkable_options: [
    { when: 'the summary asks for two choices', needs: ['n'], anyOrder: true, summary: ({ summary }) => ({ ...summary, n: 2 }) },
    { when: 'the summary brings a prompt of its own', on: ['messages'], headers: explicit, rewrite: (json) => json.replace('{', '{"kv_transfer_params":{"do_remote_prefill":false},') },
    { when: 'the summary asks for prompt log-probabilities', needs: ['prompt_logprobs'], summary: ({ summary }) => ({ ...summary, prompt_logprobs: 0 }) },
    ...[['store', 'true'], ['conversation', '"conv_1"'], ['previous_response_id', '"resp_1"'], ['background', 'true']].map(([key, value]): Row => ({
      when: `the summary says ${key}, so the engine may keep what we do not see`, on: ['responses'], headers: explicit,
      valid: key === 'previous_response_id' || key === 'background' ? null : true,
      rewrite: (json) => json.replace('{', `{"${key}":${value},`),
    })),
  ],
  unreadable_body: [{
    when: 'the summary has a key twice at the top level',
    headers: explicit,
    rewrite: (json) => json.replace('{', '{"temperature":0,"temperature":0,'),
  }],
  fork_rejected: [{
    when: 'the engine refuses the fork', eligible: true, forkSent: true,
    before: async (warmfork, session) => {
      await warmfork.main(session)
      warmfork.script.reply = whenForked({ refuse: { status: 400 } })
    },
  }],
  fork_failed_before: [{
    when: 'the fork before gave no summary',
    before: async (warmfork, session) => {
      await warmfork.main(session)
      warmfork.script.reply = whenForked({ content: '' })
      await warmfork.chat(session.summary)
      warmfork.script.reply = undefined
    },
  }],
  model_switched_off: [{
    when: 'the engine refused three forks in a row',
    before: async (warmfork, session) => {
      await warmfork.main(session)
      warmfork.script.reply = whenForked({ refuse: { status: 422 } })
      for (let i = 0; i < 3; i++) await warmfork.chat(session.summary)
    },
  }],
  reuse_not_observed: [{
    when: 'the engine reported three forks as not cached', engine: { cacheBlocks: 1 },
    before: async (warmfork, session) => {
      await warmfork.main(session)
      for (let i = 0; i < 3; i++) await warmfork.outcome(await warmfork.chat(session.summary))
    },
  }],
  observed_only: [{ when: 'fork.mode is observe', config: { fork: { mode: 'observe' } }, eligible: true }],
  disabled: [{ when: 'fork.mode is off', config: { fork: { mode: 'off' } } }],
  internal_error: [{ when: 'warmfork itself fails', config: { conversation: { body_fields: [null as never] } }, warnings: 1 }],
}

/** Lets every question about ids fail from the start. */
function faultThenMain(fault: Fault): NonNullable<Row['before']> {
  return async (warmfork, session) => {
    warmfork.script.fault = ({ path }) => path === '/tokenize' ? fault : undefined
    await warmfork.main(session)
  }
}

/** Rows of the collected field failures that a reason answers. */
const cases: Partial<Record<string, string>> = {
  model_changed: '[case 59] ', template_changed: '[case 34] ', options_changed: '[case 58] ', unreadable_body: '[case 35] ', fork_rejected: '[case 45] ',
  incomplete_tool_group: '[case 53] ', mid_range: '[case 53] ', prefix_diverges: '[case 60] ',
}

/** Those of its rows that an endpoint has words for. */
function rowsOn({ endpoint, lacks }: Spoken): [string, Row[]][] {
  const isOn = ({ on, needs = [] }: Row): boolean => (!on || on.includes(endpoint.name)) && !needs.some((member) => lacks.includes(member))
  return Object.entries(rows).map(([reason, list]) => [reason, list.filter(isOn)])
}

for (const spoken of spokenEndpoints) {
  const { name } = spoken.endpoint
  t.test(`${name}: every reason has a test here, but the one that takes two endpoints`, async (t) => {
    t.same([...Object.keys(rows), 'endpoint_changed'].sort(), Object.keys(reasons).sort())
    for (const [reason, list] of rowsOn(spoken)) t.ok(list.length > 0, reason)
  })

  for (const [reason, list] of rowsOn(spoken)) {
    for (const row of list) {
      for (const [form, options] of [['not streamed', {}], ['streamed', streamed]] as const) {
        t.test(`${cases[reason] ?? ''}${name}: ${reason}: ${row.when}, ${form}`, async (t) => checkRow(t, spoken, reason, row, options))
      }
    }
  }
}

async function checkRow(t: Test, spoken: Spoken, reason: string, row: Row, options: object): Promise<void> {
  const { eligible = false, forkSent = false, valid = true, rewrite = (json: string) => json } = row
  const warmfork = await startWarmfork(t, { ...row, spoken })
  const session = row.session?.() ?? opencodeSession()
  await (row.before ?? ((warmfork, session) => warmfork.main(session)))(warmfork, session)
  const body = Buffer.from(rewrite(warmfork.write({ ...(row.summary?.(session) ?? session.summary), ...options }).toString('utf8')))

  const since = warmfork.since()
  const reply = await warmfork.chat(body, { headers: row.headers ?? [] })
  const receipt = await warmfork.receipt(reply)
  const outcome = await warmfork.outcome(reply)

  const received = since.generations()
  t.equal(received.length, forkSent ? 2 : 1, 'the engine was asked once for this answer')
  t.ok(received.at(-1)!.body.equals(body), "the engine got the summary's own bytes")
  if (forkSent) t.ok(isFork(received[0]!.body))
  const { 'common-prefix-tokens': measured, ...headers } = reply.warmfork
  t.strictSame(headers, { decision: 'passed', eligible: String(eligible), 'fork-sent': String(forkSent), 'cache-hit-verified': 'false', 'fallback-reason': reason })
  t.equal(measured, receipt['common_prefix_tokens'] === null ? undefined : String(receipt['common_prefix_tokens']))
  t.match(receipt, { decision: 'passed', eligible, fork_sent: forkSent, cache_hit_verified: false, fallback_reason: reason, endpoint: spoken.endpoint.path })
  t.match(outcome, { decision: 'passed', valid, prompt_ids_confirmed: null })
  const warnings = since.warnings()
  t.equal(warnings.length, row.warnings ?? 0, `warnings: ${warnings.map(({ msg }) => msg)}`)

  warmfork.script.reply = undefined
  warmfork.script.fault = undefined
  const alone = await warmfork.engineAlone(body)
  t.equal(reply.status, alone.status)
  const shown = (of: typeof reply): string => row.anyOrder ? sameForAll(of).split('\n\n').sort().join('\n\n') : sameForAll(of)
  t.equal(shown(reply), shown(alone), 'the client got what the engine alone gives')
}
