// Which recorded line a main request grows. A request that grows none starts a line of its own, so that a side
// request or a sub-agent never evicts the main line.

import { extendsLine } from './content.ts'
import type { Evidence } from './evidence.ts'

/** Lines compared at most: beyond them a new line only costs memory, which the store bounds. */
const maxCompared = 64

/**
 * @param lines the tenant's evidence, most recently used first
 * @param conversation hash of the request's id, or null
 * @returns the evidence that the request grows, to be replaced when the request ends well
 */
export function grownFrom(lines: readonly Evidence[], conversation: string | null, body: Buffer): Evidence | undefined {
  return lines
    .filter((evidence) => evidence.conversation === conversation)
    .slice(0, maxCompared)
    .find((evidence) => extendsLine(evidence.body, body))
}
