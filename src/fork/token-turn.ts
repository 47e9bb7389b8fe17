// The directive's turn as token ids, found without knowing the template: two small renderings by the engine itself show
// what stands behind a message where the reply begins (the tail), and where another turn follows (the turn).

import { probeTexts } from '../engine/role-header.ts'
import { sample } from '../engine/calibration.ts'
import type { Rendered } from '../engine/engine.ts'
import type { Prompt } from '../engine/prompt.ts'
import { commonPrefix } from '../wire/token-ids.ts'
import { commonSuffix, endOf, joinIds } from '../wire/ids.ts'
import type { ChatRequest } from '../wire/chat-request.ts'

export interface TokenTurn {
  /** What the recorded prompt must end with. */
  readonly tail: Uint32Array
  /** What takes its place: whatever follows the head, the directive, and the generation prompt. */
  readonly turn: Uint32Array
}

/**
 * @param role role of the head's last message
 * @param behind messages of the fork behind the head, the directive last
 * @returns null where the template takes no such conversation
 */
export async function measureTurn(
  request: ChatRequest, role: string, behind: readonly Buffer[], render: (prompt: Prompt) => Promise<Rendered>,
): Promise<TokenTurn | null> {
  const { options, messages } = sample(request)
  const last = messages.findLastIndex((json) => parsed(json)['role'] === role)
  if (last < 0) return null
  // The same role and shape, with a content that ends in a word of its own.
  const ending = (text: string): Buffer[] => [...messages.slice(0, last), Buffer.from(JSON.stringify({ ...parsed(messages[last]!), content: text, tool_calls: undefined }))]
  const [one, other, followed] = await Promise.all([
    render({ options, messages: ending(probeTexts[0]) }),
    render({ options, messages: ending(probeTexts[1]) }),
    render({ options, messages: [...ending(probeTexts[0]), ...behind] }),
  ])
  if (!('ids' in one) || !('ids' in other) || !('ids' in followed)) return null
  const tailLength = commonSuffix(one.ids, other.ids)
  const content = one.ids.subarray(commonPrefix(one.ids, other.ids), one.ids.length - tailLength)
  if (content.length === 0) return null
  const turnStart = endOf(content, followed.ids)
  return turnStart < 0 ? null : { tail: one.ids.slice(one.ids.length - tailLength), turn: followed.ids.slice(turnStart) }
}

/**
 * The fork of a head that is all of the evidence: its prompt less the tail, plus the turn.
 * A real content may merge with what follows it: then the cut is the first place where prompt, tail and turn agree.
 * @returns null where they agree nowhere
 */
export function afterWhole(prompt: Uint32Array, { tail, turn }: TokenTurn): Uint32Array | null {
  const kept = tail.length - commonSuffix(prompt, tail)
  if (kept > commonPrefix(tail, turn)) return null
  return joinIds(prompt.subarray(0, prompt.length - tail.length + kept), turn.subarray(kept))
}

/**
 * The fork of a head that is a part of the evidence.
 * @param headEnd where the head ends in the evidence's prompt, in tokens
 * @returns null where what closes the head's last message is not what the turn starts with
 */
export function afterPart(prompt: Uint32Array, headEnd: number, { turn }: TokenTurn): Uint32Array | null {
  for (let closing = Math.min(headEnd, turn.length, 16); closing > 0; closing--) {
    if (turn.subarray(0, closing).every((id, i) => prompt[headEnd - closing + i] === id)) {
      return joinIds(prompt.subarray(0, headEnd), turn.subarray(closing))
    }
  }
  return null
}

function parsed(json: Buffer): Record<string, unknown> {
  return JSON.parse(json.toString('utf8')) as Record<string, unknown>
}
