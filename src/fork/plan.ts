// Plans what is sent for a summary request: a proven fork, the request as it is because it is warm already, or the
// request as it came with one reason. Decides from the cheapest question to the dearest; sends nothing itself.

import type { ReadRequest } from '../endpoint/endpoint.ts'
import { stringOption, type ChatRequest } from '../wire/chat-request.ts'
import { memberNamed } from '../wire/json-slices.ts'
import { commonPrefix } from '../wire/token-ids.ts'
import type { Fit } from '../conversation/choose.ts'
import type { Evidence, EvidenceIds } from '../conversation/evidence.ts'
import type { Asker, Engine } from '../engine/engine.ts'
import type { Calibrated } from '../engine/calibration.ts'
import type { PlanFacts } from '../receipt/receipt.ts'
import type { Reason } from '../receipt/reasons.ts'
import { directive, directiveOf } from '../summary/directive.ts'
import { asFollowing, forkMessages, ownFollowing, ownMessages } from './build.ts'
import { budgetOf, reusableTokens, type Budgets } from './budget.ts'
import { completionBody, completionsPath } from './completion-body.ts'
import type { ReplyShape } from './completion-reply.ts'
import { forcesTool, optionsAgainstFork } from './options.ts'
import type { ForkParts } from './parts.ts'
import { prove, reasonOf, renderOwn, type Measured, type ProofResult } from './proof.ts'
import { readsAsPlanned } from './read-back.ts'
import type { ForkSwitches } from './switches.ts'
import { planTokens } from './tokens.ts'

/** An eligible fork, not sent yet. */
export interface Fork {
  readonly body: Buffer
  /** Where it goes, where that is not where the summary request went. */
  readonly target: string | null
  /** How its reply is to be turned into a chat completion; null where it is one. */
  readonly shape: ReplyShape | null
  /** Ids that it was proven with: what the engine says it prefilled must be these. */
  readonly ids: Uint32Array
  readonly model: string
  readonly reusableTokens: number
  /** The engine's calibration state that the proof rests on. */
  readonly epoch: string
}

export type Plan =
  | { readonly decision: 'forked', readonly fork: Fork, readonly learned: EvidenceIds }
  | { readonly decision: 'already_warm', readonly epoch: string, readonly learned: EvidenceIds | null }
  | { readonly decision: 'passed', readonly reason: Reason, readonly learned: EvidenceIds | null }

export interface Planner {
  readonly engine: Engine
  readonly switches: ForkSwitches
  readonly budgets: Budgets
  readonly minSavedTokens: number
}

/** One summary request with the evidence that covers it. */
export interface PlanQuestion {
  readonly summary: ReadRequest
  readonly evidence: Evidence
  readonly request: ReadRequest
  readonly parts: ForkParts
  /** It may be warm as it came. */
  readonly looksWarm: boolean
  /** What it asks for stands in the evidence's last message. */
  readonly goesOnInLast: boolean
  /** As it came it starts as the evidence does. */
  readonly sameStart: boolean
  /** There is a request of the agent's own to send instead. */
  readonly hasStandalone: boolean
}

/** The parts of a fork of this fit, or null where its directive would hold more than text. */
export function partsOf({ request, coverage }: Fit, summary: ReadRequest): ForkParts | null {
  const message = coverage.text === null ? directive(summary.chat.body, coverage.foreignFront, coverage.instruction, coverage.additions ?? []) : directiveOf(coverage.text)
  return message && {
    evidence: request,
    summary,
    headLength: coverage.headLength,
    following: asFollowing(summary, coverage.following),
    directive: message,
  }
}

/**
 * @param facts filled with what is found out, whatever the decision
 * @param asker on whose behalf the engine is asked, and for how long
 */
export async function plan(planner: Planner, question: PlanQuestion, facts: PlanFacts, asker: Asker): Promise<Plan> {
  const { engine, switches } = planner
  const { evidence, request: { chat: request }, summary: { chat: summary } } = question
  const model = stringOption(request, 'model') ?? ''
  facts.parent_receipt = evidence.id
  facts.parent_completed_at = new Date(evidence.completedAt).toISOString()
  facts.head_messages = question.parts.headLength
  const passed = (reason: Reason, learned: EvidenceIds | null = null): Plan => ({ decision: 'passed', reason, learned })

  const against = optionsAgainstFork(question.request, question.summary)
  if (against) return passed(against)
  const config = await engine.cacheConfig(asker)
  facts.engine_version = engine.version
  facts.block_size = config?.blockSize ?? null
  if (!config?.prefixCaching) return passed('caching_not_advertised')
  const { epoch } = engine
  const calibration = await engine.calibration(question.request, asker)
  if (calibration.state === 'unanswered') return passed(calibration.reason)
  if (calibration.state === 'uncalibrated') return passed('tokenizer_uncalibrated')
  // The evidence's own tool_choice would stay, and forces a call, or hides tools that /tokenize shows.
  if ((!calibration.toolChoiceNone && forcesTool(request)) || hidesTools(request, calibration)) return passed('unforkable_options')
  facts.proof = calibration.countedOnly ? null : calibration.proof
  // A model that answers calibrations is one that the engine lists.
  facts.model = model

  if (question.looksWarm && !hidesTools(summary, calibration)) {
    const warm = await measureWarm(planner, question, calibration, epoch, config.blockSize, facts, asker)
    if (warm) return warm
  }
  if (calibration.countedOnly) return passed('tokenizer_uncalibrated')
  if (evidence.forkFailed) return passed('fork_failed_before')
  if (switches.isModelOff(evidence.tenant, model, epoch)) return passed('model_switched_off')
  if (switches.isPaused(evidence.tenant)) return passed('reuse_not_observed')

  const climbed = await climb(planner, question, calibration, epoch, facts, config.blockSize, asker)
  const { learned } = climbed
  if ('reason' in climbed) return passed(climbed.reason, learned)
  const { measured, shape, parts } = climbed
  note(facts, measured, config.blockSize)

  const forkTokens = measured.forkIds.length
  const reusable = reusableTokens(measured.commonPrefixTokens, forkTokens, config.blockSize)
  if (reusable === 0) return passed('head_too_small', learned)
  const window = measured.window ?? await engine.window(model, asker)
  const budget = budgetOf(summary, forkTokens, window, planner.budgets)
  if (!budget.fits) return passed(budget.reason, learned)
  const body = shape
    ? completionBody(request, summary, measured.forkIds, budget.maxTokens ?? window! - forkTokens)
    : question.request.endpoint.forkBody(parts, { toolChoiceNone: calibration.toolChoiceNone, maxTokens: budget.maxTokens })
  facts.max_tokens = budget.maxTokens
  if (question.hasStandalone) {
    const standalone = await standalonePrefill(planner, question, forkTokens, learned!, forkBytes(parts), calibration, config.blockSize, asker)
    if (typeof standalone !== 'number') return passed(standalone.reason, learned)
    if (standalone - (forkTokens - reusable) < planner.minSavedTokens) return passed('no_gain', learned)
  }
  return {
    decision: 'forked',
    fork: { body, target: shape ? completionsPath : null, shape, ids: measured.forkIds, model, reusableTokens: reusable, epoch },
    learned: learned!,
  }
}

type Placed = {
  readonly measured: Measured
  /** How the reply is to be turned back; null for a chat request. */
  readonly shape: ReplyShape | null
  /** With what the placement puts between head and directive. */
  readonly parts: ForkParts
  readonly learned: EvidenceIds
}

/** The ladder: the first rung whose ids cover the head wins. */
async function climb(
  { engine }: Planner, { parts: asked, evidence }: PlanQuestion, calibration: Calibrated, epoch: string, facts: PlanFacts, blockSize: number, asker: Asker,
): Promise<Placed | { readonly reason: Reason, readonly learned: EvidenceIds | null }> {
  let parts = asked
  const tried = (): Promise<ProofResult> => prove(engine, { parts, calibration, epoch, known: evidence.ids, promptTokens: evidence.promptTokens }, asker)
  let proof = await tried()
  if (!proof.proven && proof.refused) {
    const bridged = withBridge(parts)
    if (bridged) {
      parts = bridged
      facts.placement_detail = 'assistant_between'
      proof = await tried()
    }
  }
  const learned = proof.evidenceIds
  const isWritten = readsAsPlanned(parts)
  if (proof.proven && isWritten) {
    facts.placement = 'user'
    return { measured: proof.measured, shape: null, parts, learned: proof.evidenceIds }
  }
  if (proof.measured) note(facts, proof.measured, blockSize)
  const reason = proof.proven ? 'unreadable_body' : proof.reason
  if (!(proof.proven || reason === 'prefix_diverges') || !learned) return { reason, learned }
  const tokens = await planTokens(engine, parts, calibration, learned, isWritten ? proof.measured : null, asker)
  if ('user' in tokens) {
    facts.placement = 'user'
    return { measured: tokens.user, shape: null, parts, learned }
  }
  facts.lost_placements = { user: proof.measured?.commonPrefixTokens ?? 0 }
  if ('unavailable' in tokens) {
    facts.placement_detail = tokens.unavailable
    return { reason, learned }
  }
  facts.placement = 'tokens'
  return { ...tokens, parts, learned }
}

/** What a plan says as long as the engine's state is the one that it rests on: it may be voided while the plan asks. */
export function ifStillTrue(plan: Plan, engine: Engine): Plan {
  const rests = plan.decision === 'forked' ? plan.fork.epoch : plan.decision === 'already_warm' ? plan.epoch : null
  return rests === null || rests === engine.epoch ? plan : { decision: 'passed', reason: 'tokenizer_uncalibrated', learned: null }
}

/** A short assistant message between: some templates refuse two user turns in a row, or one behind a tool's result. */
export function withBridge(parts: ForkParts): ForkParts | null {
  const last = parts.following.at(-1)?.role ?? parts.evidence.chat.messages[parts.headLength - 1]!.role
  return last === 'assistant' ? null : { ...parts, following: [...parts.following, ownFollowing('assistant', bridge)] }
}

const bridge = Buffer.from('{"role":"assistant","content":"Understood."}')

function note(facts: PlanFacts, measured: Measured, blockSize: number): void {
  facts.common_prefix_tokens = measured.commonPrefixTokens
  facts.head_tokens = measured.headTokens
  facts.fork_tokens = measured.forkIds.length
  facts.reusable_tokens = reusableTokens(measured.commonPrefixTokens, measured.forkIds.length, blockSize)
}

/**
 * Whether a request that extends the evidence by its bytes does so by its ids (R12).
 * @returns null where a reasoning template dropped what the evidence had: it is planned like any other then
 */
async function measureWarm(
  planner: Planner, question: PlanQuestion, calibration: Calibrated, epoch: string, blockSize: number, facts: PlanFacts, asker: Asker,
): Promise<Plan | null> {
  const { request: { chat: request }, summary: { chat: summary }, evidence } = question
  const [parent, bare, own] = await Promise.all([
    renderOwn(planner.engine, request, calibration, true, asker),
    planner.engine.render({ options: request, messages: question.goesOnInLast ? ownMessages(request).slice(0, -1) : ownMessages(request) }, calibration, false, null, asker),
    renderOwn(planner.engine, summary, calibration, true, asker),
  ])
  for (const rendered of [parent, bare, own]) {
    if ('fault' in rendered) return { decision: 'passed', reason: reasonOf(rendered.fault), learned: null }
  }
  if (!('ids' in parent) || !('ids' in bare) || !('ids' in own)) return null
  if (evidence.promptTokens !== null && evidence.promptTokens !== parent.ids.length) return { decision: 'passed', reason: 'tokenizer_uncalibrated', learned: null }
  const shared = commonPrefix(own.ids, parent.ids)
  if (shared < bare.ids.length) return null
  facts.common_prefix_tokens = shared
  facts.head_tokens = bare.ids.length
  facts.fork_tokens = null
  facts.reusable_tokens = reusableTokens(shared, own.ids.length, blockSize)
  return { decision: 'already_warm', epoch, learned: null }
}

/** Whether the engine's chat leaves out the tools that a request has, and /tokenize, which reads no tool_choice, does not. */
function hidesTools(request: ChatRequest, { proof, toolChoiceNone }: Calibrated): boolean {
  return proof === 'tokenize' && !toolChoiceNone && (request.tools?.length ?? 0) > 0 && stringOption(request, 'tool_choice') === 'none'
}

/** About how many bytes of a fork are prompt. */
function forkBytes(parts: ForkParts): number {
  const tools = memberNamed(parts.evidence.chat.members, 'tools')
  return forkMessages(parts).reduce((sum, json) => sum + json.length, 0) + (tools ? tools.value.end - tools.value.start : 0)
}

/** Tokens that the engine would have to prefill for the request as it came: measured where it starts as the evidence does, else by bytes. */
async function standalonePrefill(
  planner: Planner, { summary: { chat: summary }, sameStart }: PlanQuestion, forkTokens: number, evidenceIds: EvidenceIds, forkBytes: number, calibration: Calibrated, blockSize: number, asker: Asker,
): Promise<number | { reason: Reason }> {
  if (!sameStart || hidesTools(summary, calibration)) return Math.round(forkTokens * summary.body.length / forkBytes)
  const own = await renderOwn(planner.engine, summary, calibration, true, asker)
  if ('fault' in own) return { reason: reasonOf(own.fault) }
  return own.ids.length - reusableTokens(commonPrefix(own.ids, evidenceIds.prompt), own.ids.length, blockSize)
}
