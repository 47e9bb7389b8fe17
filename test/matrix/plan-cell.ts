// One cell: the real planner with the real engine client over a real socket, then what the template's own rendering
// says about the fork that it planned, computed from the fork's bytes alone.

import type { Evidence } from '../../src/conversation/evidence.ts'
import { Engine } from '../../src/engine/engine.ts'
import { partsOf, plan, type Planner } from '../../src/fork/plan.ts'
import { forkBody } from '../../src/fork/build.ts'
import { ForkSwitches } from '../../src/fork/switches.ts'
import { noFacts } from '../../src/receipt/receipt.ts'
import { createUpstream } from '../../src/relay/upstream.ts'
import { structuredCoverage } from '../../src/summary/coverage.ts'
import { readChatRequest } from '../../src/wire/chat-request.ts'
import type { Cell } from './cells.ts'

export interface Server {
  readonly origin: string
}

export interface Result {
  readonly template: string
  readonly cell: string
  /** The rung that won, or null. */
  readonly placement: string | null
  /** Share of the parent's ids that the fork extends, 0 to 1: by the receipt, and by the template's own rendering. */
  readonly share: number | null
  readonly checkedShare: number | null
  /** Why there is no fork; `refused` where the template does not take the conversation itself. */
  readonly reason: string | null
  /** What the `user` rung would have shared where it lost. */
  readonly userLost: number | null
  /** The fork's ids are the template's own rendering of it: true or false where that is prefix-stable, else null. */
  readonly sameAsTemplate: boolean | null
  readonly ok: boolean
  readonly said: string
}

interface Check {
  readonly parent: number
  readonly fork: number
  readonly shared: number
  /** Tokens of the parent up to the end of the head. */
  readonly upto: number
  readonly covers: boolean
  readonly own: { readonly shared: number, readonly same: boolean, readonly turn: string } | null
  readonly end: string
}

/** Goal: share of the ids that the summary asks for. */
const goal = 0.95

export async function planCell({ origin }: Server, template: string, cell: Cell): Promise<Result> {
  const main = { model: template, ...cell.main }
  const summaryBody = {
    model: template,
    messages: [
      { role: 'system', content: 'You write summaries of conversations.' },
      ...cell.main.messages.slice(1, cell.covered), ...cell.following,
      { role: 'user', content: 'Summarize what was done so far, what is open and which files matter.' },
    ],
    max_tokens: 2_000,
  }
  const none = { template, cell: cell.name, placement: null, share: null, checkedShare: null, userLost: null, sameAsTemplate: null }
  const own = await post(origin, '/v1/chat/completions', { ...main, max_tokens: 1 })
  if (own.status !== 200) {
    const { error } = JSON.parse(own.text) as { error?: { message: string } }
    return { ...none, reason: 'refused', ok: true, said: `the template refuses the conversation itself: ${error?.message.slice(0, 90)}` }
  }

  const evidenceBody = Buffer.from(JSON.stringify(main))
  const request = readChatRequest(evidenceBody)!
  const summary = readChatRequest(Buffer.from(JSON.stringify(summaryBody)))!
  const coverage = structuredCoverage(request, summary, true)
  if (!coverage.covered) return { ...none, reason: coverage.reason, ok: false, said: `not covered: ${coverage.reason}` }
  const evidence: Evidence = {
    id: 'parent', tenant: 't', conversation: null, body: evidenceBody, routing: [], sessionToken: [], completedAt: 0,
    promptTokens: (JSON.parse(own.text) as { usage: { prompt_tokens: number } }).usage.prompt_tokens,
    finish: 'tool_calls', replyText: null, ids: null, forkFailed: false,
  }
  const parts = partsOf({ evidence, request, coverage }, summary)!
  const upstream = createUpstream({ origin, connectTimeoutMs: 1_000 })
  const planner: Planner = {
    engine: new Engine(upstream, { calibrationTimeoutMs: 60_000, log: () => {} }),
    switches: new ForkSwitches({ backoffAfter: 3, backoffMs: 1 }),
    budgets: { inputCapTokens: null, outputAllowanceTokens: null, minOutputTokens: 1 },
    minSavedTokens: 0,
  }
  const facts = noFacts()
  const planned = await plan(planner, { evidence, request, summary, parts, looksWarm: false, sameStart: false, hasStandalone: true }, facts, { credentials: [], signal: AbortSignal.timeout(60_000) })
  await upstream.close()
  if (planned.decision !== 'forked') {
    const reason = planned.decision === 'passed' ? planned.reason : planned.decision
    return { ...none, reason, userLost: facts.common_prefix_tokens, ok: false, said: `no fork: ${reason}, common prefix ${facts.common_prefix_tokens}, ${facts.placement_detail}` }
  }
  const fork = JSON.parse(planned.fork.body.toString('utf8')) as object
  const chatLike = JSON.parse(forkBody(parts, { toolChoiceNone: false, maxTokens: null }).toString('utf8')) as object
  // Templates that write tool output as JSON or as a list have other line ends and quotes.
  const headText = cell.main.messages[coverage.headLength - 1]!.content!.trim().split('\n').at(-1)!.slice(-60)
  const answer = await post(origin, '/check', { parent: main, fork, chat_like: chatLike, head_text: headText })
  const check = JSON.parse(answer.text) as Check
  const whole = coverage.headLength === request.messages.length
  const asked = whole ? check.parent : check.upto
  const share = Math.min(1, facts.common_prefix_tokens! / asked)
  const checkedShare = Math.min(1, check.shared / asked)
  // Where the template's rendering of the fork shares as much, the composed ids must be that rendering.
  const sameAsTemplate = check.own && facts.placement === 'tokens' && check.own.shared >= check.shared ? check.own.same : null
  const faults = [
    check.shared !== facts.common_prefix_tokens && `the receipt says ${facts.common_prefix_tokens}`,
    check.fork !== facts.fork_tokens && `the receipt says ${facts.fork_tokens} tokens`,
    !check.covers && 'the common prefix does not hold the end of the head',
    checkedShare < goal && 'less than the goal',
    sameAsTemplate === false && `not the template's own rendering: ${JSON.stringify(check.end)} for ${JSON.stringify(check.own!.turn)}`,
  ].filter((fault) => fault !== false)
  const lost = facts.lost_placements?.user ?? null
  return {
    template, cell: cell.name, placement: facts.placement, share, checkedShare, reason: null, userLost: lost === null ? null : lost / asked, sameAsTemplate,
    ok: faults.length === 0,
    said: [`${facts.placement}${facts.placement_detail ? ` (${facts.placement_detail})` : ""} ${(100 * checkedShare).toFixed(1)} % of ${asked}`, lost !== null && `user ${(100 * lost / asked).toFixed(1)} %`, sameAsTemplate && 'same as the template', ...faults].filter(Boolean).join(', '),
  }
}

async function post(origin: string, path: string, body: object): Promise<{ status: number, text: string }> {
  const answer = await fetch(origin + path, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } })
  return { status: answer.status, text: await answer.text() }
}
