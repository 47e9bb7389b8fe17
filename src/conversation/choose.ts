// Which evidence a summary request is about: by content among the tenant's lines; an id only narrows the search.

import type { ReadRequest } from '../endpoint/endpoint.ts'
import { stringOption } from '../wire/chat-request.ts'
import { structuredCoverage, type Coverage, type Covered } from '../summary/coverage.ts'
import { flattenedCoverage } from '../summary/flattened.ts'
import { isTold } from '../summary/retold.ts'
import type { Reason } from '../receipt/reasons.ts'
import { conversationInBody, idInBody, type ConversationIdSources } from './conversation-id.ts'
import { opening, openingBytes, openingWords, secondBytes } from './content.ts'
import { evidenceRequest, type Evidence } from './evidence.ts'
import type { Candidates } from './store.ts'

/** Evidence that covers (part of) a summary request. */
export interface Fit {
  readonly evidence: Evidence
  readonly request: ReadRequest
  readonly coverage: Covered
}

export type Choice =
  /** Several where they are equally good. */
  | { readonly fits: readonly [Fit, ...Fit[]] }
  | { readonly reason: Reason }

export interface Search {
  readonly summary: ReadRequest
  /** Hash of the summary request's id, or null. */
  readonly conversation: string | null
  /** One tool of the summariser's own stands in place of the conversation's. */
  readonly foreignTool?: boolean
  /** How the history stands in it; null where nobody said, and both are tried. */
  readonly shape: 'structured' | 'flattened' | null
  readonly sources: ConversationIdSources
}

/** Lines that a flattened text is aligned with at most; what is behind them has not been used for long. */
const maxAligned = 64

/** @param candidates the tenant's lines, most recently used first */
export function chooseEvidence(candidates: Candidates, search: Search): Choice {
  const { endpoint } = search.summary
  const here = lookAt(candidates.live.filter((evidence) => evidence.endpoint === endpoint), search)
  if (here.fits.length > 0) return { fits: best(here.fits, search) }
  const elsewhere = candidates.live.filter((evidence) => evidence.endpoint !== endpoint)
  if (lookAt(elsewhere, search).fits.length > 0) return { reason: 'endpoint_changed' }
  if (here.reason !== null) return { reason: here.reason }
  return { reason: elsewhere.some(sameConversation(search)) ? 'endpoint_changed' : expiredOrNone(candidates, search) }
}

/** What fits among some lines, and where none does the reason against the one that comes nearest. */
function lookAt(lines: readonly Evidence[], search: Search): { fits: readonly Fit[], reason: Reason | null } {
  const sought = openingBytes(search.summary)
  const marks = marksOf(search)
  const isSame = sameConversation(search)
  const fits: Fit[] = []
  const against: { reason: Reason, sameId: boolean }[] = []
  for (const [i, evidence] of lines.entries()) {
    const sameId = isSame(evidence)
    // A native search spares reading every other conversation of the tenant.
    const isRelated = sameId || (sought !== null && evidence.body.includes(sought))
    if (!isRelated && !(marks ? marks.some((mark) => evidence.body.includes(mark)) : i < maxAligned)) continue
    const request = evidenceRequest(evidence)
    const coverage = request ? coverageOf(request, search) : { covered: false as const, reason: 'unreadable_body' as const }
    if (request && coverage.covered) fits.push({ evidence, request, coverage })
    // That another conversation of the tenant does not fit is no reason.
    else if (!coverage.covered && (isRelated || coverage.reason === 'mid_range')) against.push({ reason: coverage.reason, sameId })
  }
  return { fits, reason: (against.find(({ sameId }) => sameId) ?? against[0])?.reason ?? null }
}

/** What a recorded body of the conversation holds at least, where the history stands in the request as messages; null where it is a text. */
function marksOf({ summary, shape }: Search): Buffer[] | null {
  const isStructured = shape === 'structured' || (shape === null && isTold(summary.chat.messages.slice(summary.chat.frontLength)))
  return isStructured ? [secondBytes(summary), openingWords(summary)].filter((mark) => mark !== null) : null
}

function coverageOf(evidence: ReadRequest, { summary, shape, foreignTool }: Search): Coverage {
  const structured = shape === 'flattened' ? null : structuredCoverage(evidence, summary, foreignTool)
  const isShort = structured?.covered && structured.following.length > 0 && structured.headLength < evidence.chat.messages.length
  if (structured?.covered ? !isShort : shape === 'structured') return structured!
  // The messages behind the head may be the conversation's, written in another way.
  const flattened = flattenedCoverage(evidence, summary)
  if (structured?.covered) return flattened.covered && flattened.headLength > structured.headLength ? flattened : structured
  return flattened.covered || !structured ? flattened : structured
}

/** The evidence of a conversation by its id alone, the most recent one: for a summary that holds only the directive. */
export function evidenceById(candidates: Candidates, conversation: string | null, sources: ConversationIdSources): Evidence[] {
  if (conversation === null) return []
  return candidates.live.filter((evidence) => conversationOf(evidence, sources) === conversation)
}

/** The reason where nothing of a conversation is left by its id: whether there once was something. */
export function noneById({ expired }: Candidates, conversation: string | null): Reason {
  return expired.some(hasId(conversation)) ? 'evidence_expired' : 'no_warm_evidence'
}

function hasId(id: string | null): (of: { readonly conversation: string | null }) => boolean {
  return ({ conversation }) => id !== null && conversation === id
}

/** The conversation of recorded evidence: by its headers, else by its body. */
export function conversationOf(evidence: Evidence, sources: ConversationIdSources): string | null {
  if (evidence.conversation !== null) return evidence.conversation
  const request = evidenceRequest(evidence)
  return request && conversationInBody(request, sources)
}

/** Whether evidence has the search's conversation id. One in a body is searched natively before anything is read. */
function sameConversation({ summary, conversation, sources }: Search): (evidence: Evidence) => boolean {
  if (conversation === null) return () => false
  const written = idInBody(summary, sources)
  return (evidence) => evidence.conversation === conversation ||
    (evidence.conversation === null && written !== null && evidence.body.includes(written) && conversationOf(evidence, sources) === conversation)
}

/** Narrowed by id and model where that leaves any; then the longest head, then all of the line, then the same system text and tools, then the least text left. */
function best(fits: readonly Fit[], search: Search): readonly [Fit, ...Fit[]] {
  const model = stringOption(search.summary, 'model')
  const { conversation } = search
  const inConversation = conversation === null ? fits
    : narrowed(fits, ({ evidence, request }) => (evidence.conversation ?? conversationInBody(request, search.sources)) === conversation)
  const ofModel = narrowed(inConversation, ({ request }) => stringOption(request, 'model') === model)
  // A side request has the conversation and messages of its own behind: the line that is covered whole is the main one.
  const rank = ({ request, coverage }: Fit): number =>
    4 * (coverage.headLength - request.chat.frontLength) + (coverage.headLength === request.chat.messages.length ? 2 : 0) + (coverage.sameStart ? 1 : 0)
  const longest = greatest(ofModel, rank)
  // Of several lines of a conversation that is summarised again and again, a text may hold more of one than of another.
  return greatest(longest, ({ coverage }) => -leftOver(coverage)) as [Fit, ...Fit[]]
}

/** About how much of a summary request the head does not hold. */
function leftOver({ text, additions }: Covered): number {
  if (text !== null) return text.length
  return additions === null ? 0 : additions.reduce((sum, addition) => sum + addition.length, 1)
}

function greatest(fits: readonly Fit[], measure: (fit: Fit) => number): readonly Fit[] {
  const top = Math.max(...fits.map(measure))
  return fits.filter((fit) => measure(fit) === top)
}

function narrowed(fits: readonly Fit[], wanted: (fit: Fit) => boolean): readonly Fit[] {
  const left = fits.filter(wanted)
  return left.length > 0 ? left : fits
}

function expiredOrNone(candidates: Candidates, { summary, conversation }: Search): Reason {
  const name = opening(summary.chat)
  const isNamed = hasId(conversation)
  const was = candidates.expired.some((expired) => isNamed(expired) || (name !== null && expired.opening === name))
  return was ? 'evidence_expired' : 'no_warm_evidence'
}
