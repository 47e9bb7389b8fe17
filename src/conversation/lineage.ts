// Which recorded line a main request grows. A request that grows none starts a line of its own, so that a side
// request or a sub-agent never evicts the main line.

import { memberNamed, membersOf, sameBytes, skipSpace } from '../wire/json-slices.ts'
import { growth, type Growth } from './content.ts'
import type { Evidence } from './evidence.ts'

/** Lines compared at most: beyond them a new line only costs memory, which the store bounds. */
export const maxCompared = 64

/** The evidence that a request grows, and by what. */
export interface Grown {
  readonly evidence: Evidence
  readonly growth: Growth
}

/**
 * @param lines evidence of the request's tenant, endpoint and conversation, most recently used first
 * @returns the first that the request grows
 */
export function lineOf(lines: readonly Evidence[], body: Buffer): Grown | undefined {
  for (const evidence of lines) {
    const found = growth(evidence.body, body, evidence.endpoint)
    if (found && sameApart(evidence, body, found)) return { evidence, growth: found }
  }
  return undefined
}

/** Whether the conversation's texts that stand apart from its items are the same: with others it is another one. */
function sameApart({ endpoint, body: recorded }: Evidence, body: Buffer, { sameFront, end }: Growth): boolean {
  if (sameFront && end < body.length) return true
  const keys = Object.entries(endpoint.options.roles).flatMap(([key, role]) => (role === 'conversation' ? [key] : []))
  if (keys.length === 0) return true
  const [ours, theirs] = [recorded, body].map((bytes) => membersOf(bytes, skipSpace(bytes, 0)) ?? [])
  return keys.every((key) => {
    const [a, b] = [memberNamed(ours!, key), memberNamed(theirs!, key)]
    return a === undefined || b === undefined ? a === b : sameBytes(recorded, a.value, body, b.value)
  })
}
