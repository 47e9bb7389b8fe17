// Plays one row with one proxy, outside of a test.

import { sleep } from '../helpers/http.ts'
import { Broken, stageFor, type Row, type StartProxy } from './row.ts'

export interface Result {
  readonly kept: boolean
  /** What there is to say of it, or nothing. */
  readonly fact: string
}

/** Limit of time of a row that names none, in seconds. */
export const usualSeconds = 15

export async function play(row: Row, start: StartProxy): Promise<Result> {
  const handlers: (() => Promise<void>)[] = []
  const stage = stageFor({ teardown: (handler) => handlers.unshift(handler) }, start)
  const seconds = row.seconds ?? usualSeconds
  try {
    const checked = row.check(stage).then((fact) => ({ kept: true, fact: fact ?? '' }), (error: unknown) => ({ kept: false, fact: factOf(error) }))
    const late = sleep(seconds * 1_000).then(() => ({ kept: false, fact: `no end after ${seconds} s` }))
    return await Promise.race([checked, late])
  } finally {
    for (const handler of handlers) await handler()
  }
}

function factOf(error: unknown): string {
  if (error instanceof Broken) return error.message
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (String(code).startsWith('HPE_')) return 'what comes is no HTTP'
  if (code === 'ECONNRESET') return 'the connection is reset'
  return String(code ?? error)
}
