// From a summary request to a plan: find the evidence, see what it covers, then plan. Ends with one decision, always.

import { chooseEvidence, evidenceById, noneById, type Choice, type Search } from '../conversation/choose.ts'
import type { ConversationIdSources } from '../conversation/conversation-id.ts'
import type { Evidence } from '../conversation/evidence.ts'
import type { EvidenceStore } from '../conversation/store.ts'
import type { ReadRequest } from '../endpoint/endpoint.ts'
import type { Asker } from '../engine/engine.ts'
import type { PlanFacts } from '../receipt/receipt.ts'
import type { Reason } from '../receipt/reasons.ts'
import type { Agent } from '../summary/agents.ts'
import { isWholeJson } from '../wire/chat-request.ts'
import { mainLine, partsById } from './by-id.ts'
import { forcesTool } from './options.ts'
import { ifStillTrue, partsOf, plan, type Plan, type PlanQuestion, type Planner } from './plan.ts'

export interface SummaryQuestion {
  /** As read, or null where it cannot be read. */
  readonly summary: ReadRequest | null
  readonly tenant: string
  /** Hash of its conversation id, or null. */
  readonly conversation: string | null
  /** The agent's data file, where one knows the request. */
  readonly agent: Agent | null
  readonly byId: boolean
}

export interface Decided {
  readonly plan: Plan
  /** What the plan rests on, or null where none was found. */
  readonly evidence: Evidence | null
  /** The evidence's request. */
  readonly request: ReadRequest | null
}

/**
 * Finds the evidence of a summary request and plans what is sent for it; ids that were learned go into the store.
 * @param facts filled with what is found out, whatever the decision
 * @param asker on whose behalf the engine is asked, and for how long
 */
export async function decide(
  planner: Planner, store: EvidenceStore, sources: ConversationIdSources, question: SummaryQuestion, facts: PlanFacts, asker: Asker,
): Promise<Decided> {
  const { summary } = question
  // The engine refuses what is no JSON to the last byte; the slices alone do not see that.
  if (summary === null || !isWholeJson(summary.body)) return none('unreadable_body')
  // The wanted reply is a tool call, whatever the tools of the conversation are.
  if (forcesTool(summary.chat)) return none('unforkable_options')
  const candidates = store.candidates(question.tenant)
  const found = question.byId
    ? questionById(evidenceById(candidates, question.conversation, sources), noneById(candidates, question.conversation), summary)
    : questionByContent(chooseEvidence(candidates, searchFor(summary, question, sources)), summary)
  if ('reason' in found) return none(found.reason)
  const decided = await plan(planner, found, facts, asker)
  const { evidence, request } = found
  // Ids are kept with the evidence, so that the next plan asks less.
  if (decided.learned && decided.learned !== evidence.ids) store.amend({ ...evidence, ids: decided.learned })
  return { plan: ifStillTrue(decided, planner.engine), evidence, request }
}

/** What is looked for among the tenant's lines. */
export function searchFor(summary: ReadRequest, { conversation, agent }: Pick<SummaryQuestion, 'conversation' | 'agent'>, sources: ConversationIdSources): Search {
  return {
    summary, conversation, sources,
    foreignTool: agent?.traits.tools === 'one-foreign',
    shape: agent?.shape ?? null,
  }
}

function none(reason: Reason): Decided {
  return { plan: { decision: 'passed', reason, learned: null }, evidence: null, request: null }
}

function questionById(named: readonly Evidence[], ifNone: Reason, summary: ReadRequest): PlanQuestion | { reason: Reason } {
  if (named.length === 0) return { reason: ifNone }
  const lines = named.filter(({ endpoint }) => endpoint === summary.endpoint)
  if (lines.length === 0) return { reason: 'endpoint_changed' }
  const line = mainLine(lines)
  if ('reason' in line) return line
  const parts = partsById(line.evidence, line.request, summary)
  if ('reason' in parts) return parts
  return { ...line, summary, parts, looksWarm: false, goesOnInLast: false, sameStart: false, hasStandalone: false }
}

/** Candidates that fit equally well are one candidate when they give the same fork and the same routing. */
function questionByContent(choice: Choice, summary: ReadRequest): PlanQuestion | { reason: Reason } {
  if ('reason' in choice) return choice
  const { fits } = choice
  const questions = fits.map((fit) => ({ fit, parts: partsOf(fit, summary) }))
  const [{ fit, parts }] = questions as [typeof questions[number]]
  if (parts === null) return { reason: 'media_unsupported' }
  const bytes = (parts: NonNullable<ReturnType<typeof partsOf>>): Buffer => summary.endpoint.forkBody(parts, { toolChoiceNone: true, maxTokens: null })
  const alike = questions.slice(1).every((other) => other.parts !== null && bytes(other.parts).equals(bytes(parts)) &&
    String([...other.fit.evidence.routing, ...other.fit.evidence.sessionToken]) === String([...fit.evidence.routing, ...fit.evidence.sessionToken]))
  if (!alike) return { reason: 'ambiguous_conversation' }
  const { looksWarm, goesOnInLast, sameStart } = fit.coverage
  return { evidence: fit.evidence, request: fit.request, summary, parts, looksWarm, goesOnInLast, sameStart, hasStandalone: true }
}
