// What a client of the soak asks for, and what it must get: a count of its own, in which a loss or another's word shows.

import { randomBytes } from 'node:crypto'

export interface Count {
  readonly canary: string
  readonly to: number
}

export function newCount(to: number): Count {
  return { canary: `canary-${randomBytes(8).toString('hex')}`, to }
}

/** How a message asks for it. */
export function asked({ canary, to }: Count): string {
  return `${canary}: count to ${to}.`
}

/** The last count that a prompt asks for. */
export function counted(prompt: string): Count {
  const [, canary = 'canary-none', to = '1'] = [...prompt.matchAll(/(canary-[0-9a-f]{16}): count to (\d+)\./g)].at(-1) ?? []
  return { canary, to: Number(to) }
}

/** The whole answer. */
export function answerTo(count: Count): string {
  return countedPieces(count).join('')
}

/** The answer as it is generated: forty steps at most. */
export function countedPieces({ canary, to }: Count): string[] {
  const perStep = Math.ceil(to / 40)
  const pieces = [`I am ${canary}.`]
  for (let n = 1; n <= to; n += perStep) {
    pieces.push(Array.from({ length: Math.min(perStep, to - n + 1) }, (_, i) => ` ${n + i}`).join(''))
  }
  return pieces
}
