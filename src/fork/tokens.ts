// The `tokens` placement: the evidence's own prompt ids up to the head's end, then the ids of what follows. A prefix
// extension by construction, for any template; not sent for a family whose thinking marks are not known.

import { probeOf } from '../engine/role-header.ts'
import type { Calibrated } from '../engine/calibration.ts'
import type { Asker, Engine } from '../engine/engine.ts'
import { option, stringOption, type ChatRequest } from '../wire/chat-request.ts'
import { commonPrefix } from '../wire/token-ids.ts'
import type { EvidenceIds } from '../conversation/evidence.ts'
import { ownMessages, type ForkParts } from './build.ts'
import type { ReplyShape } from './completion-reply.ts'
import { headEnd, type Measured } from './proof.ts'
import { afterPart, afterWhole, measureTurn } from './token-turn.ts'

export interface TokensFork {
  readonly measured: Measured
  readonly shape: ReplyShape
}

/** Ids at the end of a turn that show how the reply is opened. */
const openingIds = 24

/** @returns null where the placement is not available: no turn to be had, no join, no family */
export async function planTokens(
  engine: Engine, parts: ForkParts, calibration: Calibrated, evidenceIds: EvidenceIds, window: number | null, asker: Asker,
): Promise<TokensFork | null> {
  const { evidence, headLength } = parts
  const model = stringOption(evidence, 'model') ?? ''
  const role = evidence.messages[headLength - 1]!.role
  const render = (prompt: Parameters<Engine['render']>[0]): ReturnType<Engine['render']> => engine.render(prompt, calibration, true, null, asker)
  const whole = headLength === evidence.messages.length
  const [family, turn, end] = await Promise.all([
    engine.thinkingFamily(evidence, calibration, asker),
    measureTurn(evidence, role, [...parts.following.map(({ json }) => json), parts.directive], render),
    whole ? evidenceIds.withoutGenerationPrompt : endInEvidence(engine, evidence, headLength, calibration, evidenceIds, asker),
  ])
  if (!family || !turn || end === null) return null
  const ids = whole ? afterWhole(evidenceIds.prompt, turn) : afterPart(evidenceIds.prompt, end, turn)
  if (!ids) return null
  const opening = await engine.text(model, turn.turn.slice(-openingIds), asker)
  if (opening === null) return null
  const commonPrefixTokens = commonPrefix(ids, evidenceIds.prompt)
  if (commonPrefixTokens < end) return null
  return {
    measured: { forkIds: ids, commonPrefixTokens, headTokens: end, window },
    shape: {
      family,
      startsThinking: opening.trimEnd().endsWith(family.open.trimEnd()),
      thinkingKeys: wantsThinking(parts.summary) ? calibration.thinkingKeys : [],
    },
  }
}

/** Where a head that is a part of the evidence ends in the evidence's own prompt; null where it cannot be measured. */
async function endInEvidence(
  engine: Engine, evidence: ChatRequest, headLength: number, calibration: Calibrated, ids: EvidenceIds, asker: Asker,
): Promise<number | null> {
  const messages = ownMessages(evidence)
  const probe = probeOf(messages[headLength]!)
  const [probed, header] = await Promise.all([
    engine.render({ options: evidence, messages: messages.with(headLength, probe.json) }, calibration, true, null, asker),
    engine.roleHeader(evidence, evidence.messages[headLength - 1]!.role, evidence.messages[headLength]!.role, calibration, asker),
  ])
  return 'ids' in probed && header ? headEnd(ids.prompt, probed.ids, header, probe.text) : null
}

/** `include_reasoning: false` leaves thinking out of a reply. */
function wantsThinking(summary: ChatRequest): boolean {
  const value = option(summary, 'include_reasoning')
  return value === undefined || summary.body[value.start] !== 0x66
}
