// The rows as tests of warmfork: one a row, under its name and its cases.

import type { Test } from 'tap'
import { usualSeconds } from './play.ts'
import { Broken, stageFor, titleOf, type Row } from './row.ts'
import { startWarmfork } from './warmfork.ts'

export function testRows(t: Pick<Test, 'test'>, rows: readonly Row[]): void {
  for (const row of rows) {
    if (row.slow) continue
    t.test(titleOf(row), { timeout: (row.seconds ?? usualSeconds) * 2_000 }, async (t) => {
      try {
        t.pass((await row.check(stageFor(t, startWarmfork))) ?? 'kept')
      } catch (error) {
        // Any other error shows its own place.
        if (!(error instanceof Broken)) throw error
        t.fail(error.message, { at: undefined, stack: error.stack })
      }
    })
  }
}
