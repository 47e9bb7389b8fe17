// The `tokens` placement: the evidence's own prompt ids up to the head's end, then the ids of what follows. A prefix
// extension by construction, for any template; not sent for a family whose thinking marks are not known.

import type { Calibrated } from '../engine/calibration.ts'
import type { Asker, Engine } from '../engine/engine.ts'
import { option, stringOption, type ChatRequest } from '../wire/chat-request.ts'
import { commonPrefix } from '../wire/token-ids.ts'
import type { EvidenceIds } from '../conversation/evidence.ts'
import type { ForkParts } from './parts.ts'
import { completionsCanServe } from './completion-body.ts'
import type { ReplyShape } from './completion-reply.ts'
import type { Measured } from './proof.ts'
import { measureHeadText, measureTurn, placeTurn } from './token-turn.ts'

export interface TokensFork {
  readonly measured: Measured
  readonly shape: ReplyShape
}

/** Why the placement is not to be had. */
export type TokensUnavailable =
  /** The template takes no small conversation of this shape, or does not show the head's last message, or system text at another place. */
  | 'turn_unknown'
  /** The summary request wants what /v1/completions cannot give. */
  | 'options'
  /** The marks of the model's thinking are not known. */
  | 'thinking_unknown'
  /** The engine does not say how many tokens it can hold, and completions must be told. */
  | 'window_unknown'

/** Ids at the end of a turn that show how the reply is opened. */
const openingIds = 24

/**
 * What of a lost `user` fork and of this placement the ends of texts say.
 * @param lost what was measured of the `user` placement; it wins after all where it shares the head to its last word
 */
export async function planTokens(
  engine: Engine, parts: ForkParts, calibration: Calibrated, evidenceIds: EvidenceIds, lost: Measured | null, asker: Asker,
): Promise<TokensFork | { readonly user: Measured } | { readonly unavailable: TokensUnavailable }> {
  const { headLength } = parts
  const evidence = parts.evidence.chat
  const summary = parts.summary.chat
  const { prompt } = evidenceIds
  const model = stringOption(evidence, 'model') ?? ''
  const render = (prompt: Parameters<Engine['render']>[0]): ReturnType<Engine['render']> => engine.render(prompt, calibration, true, null, asker)
  const [families, turn] = await Promise.all([
    engine.thinkingFamilies(evidence, calibration, asker),
    measureTurn(evidence, headLength, [...parts.following.map(({ json }) => json), parts.directive], render),
  ])
  if (!turn) return { unavailable: 'turn_unknown' }
  const text = await measureHeadText(evidence, headLength, prompt, turn.sentinels, render)
  if (!text) return { unavailable: 'turn_unknown' }
  // Templates close some messages only where the next one opens: then the marks behind the text differ, the head does not.
  if (lost && lost.commonPrefixTokens >= text.end) return { user: { ...lost, headTokens: text.end } }

  if (!completionsCanServe(summary)) return { unavailable: 'options' }
  if (!families || families.length === 0) return { unavailable: 'thinking_unknown' }
  const window = lost?.window ?? await engine.window(model, asker)
  if (window === null) return { unavailable: 'window_unknown' }
  const ids = placeTurn(prompt, text, turn)
  const opening = await engine.text(model, turn.turn.slice(-openingIds), asker)
  if (ids === null || opening === null) return { unavailable: 'turn_unknown' }
  return {
    measured: { forkIds: ids, commonPrefixTokens: commonPrefix(ids, prompt), headTokens: text.end, window },
    shape: {
      families,
      startsThinking: opening.trimEnd().endsWith(families[0]!.open.trimEnd()),
      showsThinking: wantsThinking(summary),
      keys: calibration.replyKeys,
      promptTokens: ids.length,
    },
  }
}

/** `include_reasoning: false` leaves thinking out of a reply. */
function wantsThinking(summary: ChatRequest): boolean {
  const value = option(summary, 'include_reasoning')
  return value === undefined || summary.body[value.start] !== 0x66
}
