// The proof (R6): by the engine's own token ids the head is a prefix of the evidence's prompt and of the fork's.
// Asks few questions, all at once: one server works through them one after another.

import { commonSuffix } from '../wire/ids.ts'
import { commonPrefix } from '../wire/token-ids.ts'
import type { Calibrated } from '../engine/calibration.ts'
import type { Asker, Engine, Rendered } from '../engine/engine.ts'
import { probeOf, type RoleHeader } from '../engine/role-header.ts'
import type { ChatRequest } from '../wire/chat-request.ts'
import type { EvidenceIds } from '../conversation/evidence.ts'
import type { Reason } from '../receipt/reasons.ts'
import { forkMessages, forkToolChoice, ownMessages } from './build.ts'
import type { ForkParts } from './parts.ts'

/** Lengths in tokens. */
export interface Measured {
  readonly forkIds: Uint32Array
  /** Common prefix of the fork's prompt with the evidence's. */
  readonly commonPrefixTokens: number
  /** Where the head ends in the fork. */
  readonly headTokens: number
  /** The model's window, where the engine says it. */
  readonly window: number | null
}

export type ProofResult =
  | { readonly proven: true, readonly measured: Measured, readonly evidenceIds: EvidenceIds }
  /** What was learned all the same; null where it did not come so far. */
  | {
    readonly proven: false
    readonly reason: Reason
    readonly measured: Measured | null
    readonly evidenceIds: EvidenceIds | null
    /** The template takes no such fork. */
    readonly refused: boolean
  }

export interface ProofQuestion {
  readonly parts: ForkParts
  readonly calibration: Calibrated
  /** The engine's state that the calibration is of: ids of another one do not count. */
  readonly epoch: string
  /** Ids kept from an earlier plan; void when they are of another start of the engine. */
  readonly known: EvidenceIds | null
  /** Tokens of the evidence's prompt as its reply's usage said, or null. */
  readonly promptTokens: number | null
}

/** Proves the `user` placement: a chat request with one trailing user message. */
export async function prove(engine: Engine, question: ProofQuestion, asker: Asker): Promise<ProofResult> {
  const { parts, calibration } = question
  const evidence = parts.evidence.chat
  const toolChoice = forkToolChoice(evidence, calibration.toolChoiceNone)
  const messages = forkMessages(parts)
  const whole = parts.headLength === evidence.messages.length
  const probe = probeOf(messages[parts.headLength]!)
  const renderFork = (list: readonly Buffer[]): Promise<Rendered> =>
    engine.render({ options: evidence, messages: list }, calibration, true, toolChoice, asker)
  const [ids, fork, probed, header] = await Promise.all([
    evidenceIds(engine, question, whole, asker),
    renderFork(messages),
    whole ? null : renderFork(messages.with(parts.headLength, probe.json)),
    whole ? null : engine.roleHeader(evidence, evidence.messages[parts.headLength - 1]!.role, roleBehindHead(parts), calibration, asker),
  ])
  if ('fault' in ids) return { proven: false, reason: ids.fault, measured: null, evidenceIds: null, refused: false }
  const failed = (reason: Reason, measured: Measured | null = null, refused = false): ProofResult => ({ proven: false, reason, measured, evidenceIds: ids, refused })
  // One more necessary condition: other dates, or other template defaults since the engine was restarted.
  // Such ids are not worth keeping: the engine may tell right ones the next time.
  if (question.promptTokens !== null && question.promptTokens !== ids.prompt.length) {
    return { proven: false, reason: 'tokenizer_uncalibrated', measured: null, evidenceIds: null, refused: false }
  }
  if ('fault' in fork) return fork.fault === 'refused' ? failed('prefix_diverges', null, true) : failed(reasonOf(fork.fault))
  if (probed && 'fault' in probed && probed.fault !== 'refused') return failed(reasonOf(probed.fault))

  const commonPrefixTokens = commonPrefix(fork.ids, ids.prompt)
  const headTokens = whole
    ? ids.withoutGenerationPrompt
    : probed && 'ids' in probed ? headEnd(fork.ids, probed.ids, header, probe.text) : null
  const measured = { forkIds: fork.ids, commonPrefixTokens, headTokens: headTokens ?? 0, window: fork.window }
  if (headTokens === null || headTokens > commonPrefixTokens) return failed('prefix_diverges', measured)
  return { proven: true, measured, evidenceIds: ids }
}

/**
 * Where the head ends in the fork's ids: in front of the header of the message that the probe changed.
 * @param fork ids of the fork
 * @param probe ids of the same fork, the first message behind the head with other content
 * @returns tokens; without a header the place where the content starts, which asks for more
 */
export function headEnd(fork: Uint32Array, probe: Uint32Array, header: RoleHeader | null, text: keyof RoleHeader['firstId']): number {
  const shared = commonPrefix(fork, probe)
  if (!header) return shared
  // Content that starts with white space may merge with the header's last token: then the probe's content starts later.
  const content = probe.indexOf(header.firstId[text], shared)
  return content < 0 || content - shared > header.length ? shared : content - header.length
}

function roleBehindHead({ following }: ForkParts): string {
  return following[0]?.role ?? 'user'
}

/** The evidence's ids, and where its generation prompt begins if the head is all of it. */
async function evidenceIds(engine: Engine, question: ProofQuestion, whole: boolean, asker: Asker): Promise<EvidenceIds | { fault: Reason }> {
  const { parts: { evidence: { chat: evidence } }, calibration } = question
  const epoch = `${question.epoch} ${calibration.proof}`
  const known = question.known?.engine === epoch ? question.known : null
  if (known && (!whole || known.withoutGenerationPrompt !== null)) return known
  const [prompt, opening] = await Promise.all([
    known ? { ids: known.prompt } : renderOwn(engine, evidence, calibration, true, asker),
    whole ? engine.generationPrompt(evidence, evidence.messages.at(-1)!.role, calibration, asker) : null,
  ])
  // The chat endpoint took this prompt before: a refusal here says that the two do not agree.
  if ('fault' in prompt) return { fault: prompt.fault === 'refused' ? 'tokenizer_uncalibrated' : reasonOf(prompt.fault) }
  if (opening && commonSuffix(prompt.ids, opening) === opening.length) {
    return { engine: epoch, prompt: prompt.ids, withoutGenerationPrompt: prompt.ids.length - opening.length }
  }
  const bare = whole ? await renderOwn(engine, evidence, calibration, false, asker) : null
  if (bare && 'fault' in bare && bare.fault !== 'refused') return { fault: reasonOf(bare.fault) }
  const isPrefix = bare && 'ids' in bare && commonPrefix(bare.ids, prompt.ids) === bare.ids.length
  return { engine: epoch, prompt: prompt.ids, withoutGenerationPrompt: isPrefix ? bare.ids.length : null }
}

/** A request's own prompt, as its chat renders it. */
export function renderOwn(engine: Engine, request: ChatRequest, calibration: Calibrated, generationPrompt: boolean, asker: Asker): Promise<Rendered> {
  return engine.render({ options: request, messages: ownMessages(request) }, calibration, generationPrompt, null, asker)
}

/** The reason for a rendering that the engine did not give. */
export function reasonOf(fault: 'unavailable' | 'refused' | 'malformed'): Reason {
  return fault === 'malformed' ? 'token_ids_missing' : 'tokenize_unavailable'
}
