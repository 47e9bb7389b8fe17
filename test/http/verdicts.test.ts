// Every verdict over HTTP, on each endpoint, streaming and not: a fork that gave no summary is a 422, or, once a byte is out, a stream
// that ends with an error event and neither finish nor [DONE]. It is never generated again.

import t, { type Test } from 'tap'
import { reasons } from '../../src/receipt/reasons.ts'
import { verdicts, type InvalidReason } from '../../src/summary/verdict.ts'
import { type Reply as Scripted, type SimulatorOptions } from '../../src/simulator/simulator.ts'
import { spokenEndpoints } from '../helpers/endpoints/all.ts'
import type { Spoken } from '../helpers/endpoints/spoken.ts'
import { type ChatBody, isFork, opencodeSession, type Session, startWarmfork, streamed, whenForked } from '../helpers/warmfork.ts'

type Ending =
  /** Nothing was sent before: a 422 with the verdict as its code. */
  | '422'
  /** The stream had begun: an error event, no finish, no end mark. */
  | 'error event'
  /** The engine's own error answer. */
  | 'the answer of the engine'

interface Row {
  readonly when: string
  readonly reply: Scripted
  readonly whole: Ending | null
  readonly stream: Ending | null
  readonly engine?: SimulatorOptions
  readonly session?: () => Session
  readonly summary?: (session: Session) => ChatBody
  /** What an endpoint must have for it, among what its helper says it lacks. */
  readonly needs?: readonly string[]
  /** Text that a streaming client has seen before it failed. */
  readonly seen?: string
  /** Text of the engine's that no client may see. */
  readonly hidden?: string
}

const call = { name: 'read_file', arguments: { path: 'src/secret-of-the-call.ts' } }

/** Here a fork keeps the evidence's own tool_choice, so that the model may call tools. */
const mayCall: SimulatorOptions = { excludeToolsWhenToolChoiceNone: true }

const rows: Record<InvalidReason, readonly Row[]> = {
  summary_tool_call: [
    { when: 'the model calls a tool before any text', reply: { toolCalls: [call] }, whole: '422', stream: '422', engine: mayCall, hidden: 'secret-of-the-call' },
    {
      when: 'the model calls a tool behind text', reply: { content: 'So far the parser is read.', toolCalls: [call] },
      whole: '422', stream: 'error event', engine: mayCall, seen: 'So far the parser is read.', hidden: 'secret-of-the-call',
    },
  ],
  summary_tool_markup: [
    { when: 'the model writes a call as text', reply: { toolCalls: [call] }, whole: '422', stream: 'error event' },
    { when: 'the text ends with a call', reply: { content: 'Let me look once more.', toolCalls: [call] }, whole: '422', stream: 'error event', seen: 'Let me look' },
  ],
  summary_empty: [
    { when: 'the model says nothing', reply: { content: '' }, whole: '422', stream: '422' },
    { when: 'the model says white space', reply: { text: '\n \n' }, whole: '422', stream: '422' },
  ],
  summary_truncated: [
    { when: 'the reply is cut at its limit', reply: { content: 'Half of the summary', finish: 'length' }, whole: '422', stream: 'error event', seen: 'Half of' },
    { when: 'thinking took all tokens', reply: { text: '<think>\nI think and think', finish: 'length' }, whole: '422', stream: 'error event' },
  ],
  summary_thinking_open: [
    { when: 'the think block is open at the end', reply: { text: '<think>\nI think it is done.' }, whole: '422', stream: 'error event', seen: '<think>' },
    { when: 'the reply is all thinking to the reasoning parser', reply: { text: 'I think it is done.' }, engine: { reasoningParser: true }, whole: '422', stream: 'error event' },
  ],
  summary_special_tokens: [
    { when: 'a reply by token ids begins with a mark of the template', session: () => opencodeSession({ reasoning: 'reasoning' }), reply: { text: '<|im_start|>assistant All is done.' }, whole: '422', stream: 'error event' },
  ],
  summary_incomplete: [
    { when: 'the engine aborts', reply: { content: 'The beginning', finish: 'abort' }, whole: '422', stream: 'error event', seen: 'The', needs: ['an aborted finish'] },
    { when: 'the stream ends cleanly without a finish', reply: { content: 'The beginning and more', fail: { kind: 'cut', at: 2 } }, whole: null, stream: 'error event', seen: 'The beginning' },
    {
      when: "the closing tag of the agent's data file is missing", reply: { content: '<state_snapshot> All is read.' }, whole: '422', stream: 'error event',
      summary: ({ main }) => ({
        ...main,
        messages: [
          { role: 'system', content: 'You write snapshots.' }, ...main.messages.slice(1),
          { role: 'user', content: 'You are the component that summarizes it. Now produce the <state_snapshot> XML and nothing else.' },
        ],
        max_tokens: 1000,
      }),
    },
  ],
  summary_engine_error: [
    { when: 'the engine fails before the first token', reply: { fail: { kind: 'error', at: 'after_headers' } }, whole: 'the answer of the engine', stream: null },
    { when: 'the engine fails before the first token', reply: { fail: { kind: 'error', at: 'after_headers' } }, whole: null, stream: '422', needs: ['an error event'] },
    { when: 'the engine fails behind some text', reply: { fail: { kind: 'error', at: 3 } }, whole: 'the answer of the engine', stream: null },
    { when: 'the engine fails behind some text', reply: { fail: { kind: 'error', at: 3 } }, whole: null, stream: 'error event', seen: 'Done so far', needs: ['an error event'] },
    { when: 'the engine answers 500', reply: { fail: { kind: 'error', at: 'before_headers' } }, whole: 'the answer of the engine', stream: 'the answer of the engine' },
  ],
}

/** Rows of the collected field failures that a verdict answers. */
const cases: Partial<Record<string, string>> = {
  summary_tool_call: '[case 48] ', summary_empty: '[case 49] ', summary_tool_markup: '[case 50] ', summary_truncated: '[case 51] ',
}

t.test('every verdict has a test here', async (t) => {
  t.same(Object.keys(rows).sort(), Object.keys(verdicts).sort())
  for (const [reason, list] of Object.entries(rows)) t.ok(list.some(({ whole }) => whole) && list.some(({ stream }) => stream), reason)
})

t.test('[case 43] no message of ours reads like a context overflow to an agent', async (t) => {
  for (const message of [...Object.values(verdicts), ...Object.values(reasons)]) {
    t.notMatch(message, /context length|maximum context|too long|exceeds|context window|token limit exceeded|prompt is too/i)
  }
})

for (const spoken of spokenEndpoints) {
  for (const [reason, list] of Object.entries(rows)) {
    for (const row of list.filter(({ needs = [] }) => !needs.some((need) => spoken.lacks.includes(need)))) {
      const name = `${cases[reason] ?? ''}${spoken.endpoint.name}: ${reason}: ${row.when}`
      if (row.whole) t.test(`${name}, not streamed`, async (t) => checkRow(t, spoken, reason as InvalidReason, row, row.whole!, {}))
      if (row.stream) t.test(`${name}, streamed`, async (t) => checkRow(t, spoken, reason as InvalidReason, row, row.stream!, streamed))
    }
  }
}

async function checkRow(t: Test, spoken: Spoken, reason: InvalidReason, row: Row, ending: Ending, options: object): Promise<void> {
  const warmfork = await startWarmfork(t, { engine: row.engine ?? {}, spoken })
  const session = row.session?.() ?? opencodeSession()
  await warmfork.main(session)
  warmfork.script.reply = whenForked(row.reply)
  const summary = { ...(row.summary?.(session) ?? session.summary), ...options }

  const since = warmfork.since()
  const reply = await warmfork.chat(summary)
  const receipt = await warmfork.receipt(reply)
  const outcome = await warmfork.outcome(reply)

  t.equal(since.generations().length, 1, 'nothing is generated twice')
  t.ok(isFork(since.generations()[0]!.body))
  t.ok(reply.whole)
  t.notOk(row.hidden !== undefined && reply.text.includes(row.hidden), 'the call is not passed on')
  const { 'common-prefix-tokens': _measured, error, ...headers } = reply.warmfork
  const decision = ending === '422' ? 'refused' : 'forked'
  t.strictSame(headers, { decision, eligible: 'true', 'fork-sent': 'true', 'cache-hit-verified': 'false' })
  t.match(receipt, { decision, eligible: true, fork_sent: true, fallback_reason: null })
  t.match(outcome, { decision, valid: false, invalid_reason: reason })
  t.strictSame(since.warnings(), [])

  if (ending === '422') {
    t.equal(reply.status, 422)
    t.equal(reply.header('x-should-retry'), 'false')
    t.equal(error, reason)
    t.strictSame(JSON.parse(reply.text), spoken.error(reason, verdicts[reason]))
  } else if (ending === 'error event') {
    t.equal(reply.status, 200)
    t.ok(reply.content.startsWith(row.seen ?? ''), reply.content)
    t.strictSame(reply.parts.at(-1), spoken.errorEvent(reason, verdicts[reason], reply.parts.slice(0, -1)))
    t.equal(reply.finish, null, 'no finish that could be taken for success')
    t.notOk(reply.done)
  } else {
    t.equal(reply.status, 500)
    t.ok(reply.error)
    t.equal(error, undefined, 'it is not of our making')
  }

  const again = await warmfork.chat(summary)
  t.equal(again.warmfork['fallback-reason'], 'fork_failed_before', 'the next one takes the standalone path')
  t.equal(again.status, 200)
}
