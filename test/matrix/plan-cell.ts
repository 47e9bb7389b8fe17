// One cell: the real planner with the real engine client over a real socket, then what the template's own rendering
// says about the fork that it planned, computed elsewhere and from the fork's bytes alone.

import type { Evidence } from '../../src/conversation/evidence.ts'
import { Engine, type Asker } from '../../src/engine/engine.ts'
import { chat } from '../../src/endpoint/chat.ts'
import { forkMessages } from '../../src/fork/build.ts'
import type { ForkParts } from '../../src/fork/parts.ts'
import { partsOf, plan, withBridge, type Planner } from '../../src/fork/plan.ts'
import { ForkSwitches } from '../../src/fork/switches.ts'
import { measureHeadText, measureTurn, placeTurn } from '../../src/fork/token-turn.ts'
import { noFacts } from '../../src/receipt/receipt.ts'
import { createUpstream } from '../../src/relay/upstream.ts'
import { structuredCoverage } from '../../src/summary/coverage.ts'
import type { Cell } from './cells.ts'

/** Why a cell has no fork, where that is right. */
export type Without =
  /** The template does not take the recorded conversation itself. */
  | 'refused'
  /** The template leaves tool results out, so that there is little to share. */
  | 'tools not shown'
  /** A reason that receipts name, with its detail. */
  | `${string}: ${string}`

export interface Result {
  readonly template: string
  readonly cell: string
  /** The rung that won, with its detail, or null. */
  readonly placement: string | null
  /** Share of the parent's ids that the fork extends, 0 to 1, as computed from the rendered fork. */
  readonly share: number | null
  /** What the `user` rung would have shared where it lost. */
  readonly userLost: number | null
  readonly without: Without | null
  /** How the `tokens` rung's ids for this fork compare with the template's own rendering of it, whichever rung won. */
  readonly composed: string | null
  /** What is wrong; empty where nothing is. */
  readonly faults: readonly string[]
}

interface Check {
  readonly parent: number
  readonly fork: number
  readonly shared: number
  /** Tokens of the parent up to the end of the head. */
  readonly upto: number
  readonly shown: boolean
  readonly covers: boolean
  readonly composed: { readonly how: string, readonly covers: boolean, readonly wrote?: string, readonly template?: string } | null
}

const goal = 0.95

export async function planCell(origin: string, template: string, cell: Cell): Promise<Result> {
  const main = { model: template, ...cell.main }
  const none = { template, cell: cell.name, placement: null, share: null, userLost: null, composed: null, faults: [] }
  const own = await post(origin, '/v1/chat/completions', { ...main, max_tokens: 1 })
  if (own.status !== 200) return { ...none, without: 'refused' }
  const { usage: { prompt_tokens: promptTokens } } = JSON.parse(own.text) as { usage: { prompt_tokens: number } }

  const body = Buffer.from(JSON.stringify(main))
  const request = chat.read(body)!
  const summary = chat.read(Buffer.from(JSON.stringify(summaryOf(template, cell))))!
  const coverage = structuredCoverage(request, summary)
  if (!coverage.covered) return { ...none, without: null, faults: [`not covered: ${coverage.reason}`] }
  const evidence: Evidence = {
    id: 'parent', tenant: 't', endpoint: chat, conversation: null, body, plain: null, routing: [], sessionToken: [], completedAt: 0,
    promptTokens, finish: 'tool_calls', replyText: null, ids: null, forkFailed: false,
  }
  const parts = partsOf({ evidence, request, coverage }, summary)!
  const facts = noFacts()
  const asker = { credentials: [], signal: AbortSignal.timeout(60_000) }
  const upstream = createUpstream({ origin, connectTimeoutMs: 1_000 })
  try {
    const planner: Planner = {
      engine: new Engine(upstream, { calibrationTimeoutMs: 60_000, log: () => {} }),
      switches: new ForkSwitches({ backoffAfter: 3, backoffMs: 1 }),
      budgets: { inputCapTokens: null, outputAllowanceTokens: null, minOutputTokens: 1 },
      minSavedTokens: 0,
    }
    const planned = await plan(planner, { evidence, request, summary, parts, looksWarm: false, goesOnInLast: false, sameStart: false, hasStandalone: true }, facts, asker)
    const fork = planned.decision === 'forked' ? JSON.parse(planned.fork.body.toString('utf8')) as object : null
    const sent = facts.placement_detail === 'assistant_between' ? withBridge(parts)! : parts
    const chatLike = { ...main, messages: forkMessages(sent).map((json) => JSON.parse(json.toString('utf8')) as object) }
    const composed = await compose(planner.engine, sent, asker)
    const headText = endOfHead(cell, coverage.headLength)
    const answer = await post(origin, '/check', { parent: main, fork: fork ?? chatLike, head_text: headText, composed, chat_like: chatLike })
    if (fork === null) {
      const { shown, parent } = answer.status === 200 ? JSON.parse(answer.text) as Check : { shown: true, parent: promptTokens }
      const reason = planned.decision === 'passed' ? planned.reason : planned.decision
      return { ...none, userLost: facts.lost_placements ? facts.lost_placements.user / parent : null, without: shown ? `${reason}: ${facts.placement_detail}` : 'tools not shown' }
    }
    const check = JSON.parse(answer.text) as Check
    const asked = coverage.headLength === request.chat.messages.length ? check.parent : check.upto
    const share = Math.min(1, check.shared / asked)
    const faults = [
      check.shared !== facts.common_prefix_tokens && `the receipt says ${facts.common_prefix_tokens} common tokens, the rendering ${check.shared}`,
      check.fork !== facts.fork_tokens && `the receipt says ${facts.fork_tokens} tokens, the rendering ${check.fork}`,
      !check.covers && 'the common prefix does not hold the end of the head',
      check.shown && share < goal && `only ${percent(share)}`,
      check.composed && !check.composed.covers && 'the composed ids do not hold the end of the head',
      check.composed?.how.startsWith('other') && `${check.composed.how}: composed ${JSON.stringify(check.composed.wrote)}, template ${JSON.stringify(check.composed.template)}`,
    ].filter((fault) => typeof fault === 'string')
    return {
      template, cell: cell.name, share, faults,
      placement: facts.placement + (facts.placement_detail === null ? '' : ` (${facts.placement_detail})`),
      userLost: facts.lost_placements ? facts.lost_placements.user / asked : null,
      without: check.shown ? null : 'tools not shown',
      composed: check.composed?.how ?? 'not to be had',
    }
  } finally {
    await upstream.close()
  }
}

/** The ids that the `tokens` placement makes of a fork, whether or not it is needed. */
async function compose(engine: Engine, parts: ForkParts, asker: Asker): Promise<number[] | null> {
  const request = parts.evidence.chat
  const calibration = await engine.calibration(parts.evidence, asker)
  if (calibration.state !== 'calibrated') return null
  const render = (prompt: Parameters<Engine['render']>[0]): ReturnType<Engine['render']> => engine.render(prompt, calibration, true, null, asker)
  const turn = await measureTurn(request, parts.headLength, [...parts.following.map(({ json }) => json), parts.directive], render)
  const prompt = await render({ options: request, messages: request.messages.map(({ slice }) => request.body.subarray(slice.start, slice.end)) })
  if (!turn || !('ids' in prompt)) return null
  const text = await measureHeadText(request, parts.headLength, prompt.ids, turn.sentinels, render)
  const ids = text && placeTurn(prompt.ids, text, turn)
  return ids && [...ids]
}

function summaryOf(template: string, cell: Cell): object {
  return {
    model: template,
    messages: [
      { role: 'system', content: 'You write summaries of conversations.' },
      ...cell.main.messages.slice(1, cell.covered), ...cell.following,
      { role: 'user', content: 'Summarize what was done so far, what is open and which files matter.' },
    ],
    max_tokens: 2_000,
  }
}

/** The last words of the head. Templates that write tool output as JSON or as a list have other line ends and quotes. */
function endOfHead(cell: Cell, headLength: number): string {
  return cell.main.messages[headLength - 1]!.content!.trim().split('\n').at(-1)!.slice(-60)
}

export function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`
}

async function post(origin: string, path: string, body: object): Promise<{ status: number, text: string }> {
  const answer = await fetch(origin + path, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } })
  return { status: answer.status, text: await answer.text() }
}
