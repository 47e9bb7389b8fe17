// warmfork before a real engine, with a recorder between them, and what it logs of each receipt.

import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import type { Test } from 'tap'
import { startApp } from '../../src/app.ts'
import { configSchema } from '../../src/config.ts'
import type { Outcome, Receipt } from '../../src/receipt/receipt.ts'
import type { RealEngine } from '../helpers/real-engine.ts'
import { isCalibration } from '../helpers/warmfork.ts'
import { startRecorder, type Recorder, type Sent } from './recorder.ts'

export interface WarmforkBefore {
  readonly url: string
  readonly recorder: Recorder
  /** What was logged for a receipt; both lines are there when the reply has ended, or a moment later. */
  logged(receipt: string | null): Promise<{ readonly receipt: Receipt, readonly outcome: Outcome }>
  /** What the engine was asked to generate for a client, behind so many requests. */
  generationsSince(count: number): Sent[]
}

/** Ends with the test. */
export async function startWarmforkBefore(t: Test, engine: RealEngine): Promise<WarmforkBefore> {
  const recorder = await startRecorder(engine.url)
  const lines: { msg: string, receipt?: string }[] = []
  // The engine shares two cores with this test: its answers take their time, above all after its start.
  const config = configSchema.parse({ upstream: { url: recorder.url }, server: { port: 0 }, admin: { port: 0 }, proof: { timeout_ms: 60_000 } })
  const app = await startApp(config, pino({}, { write: (line) => void lines.push(JSON.parse(line)) }))
  t.teardown(async () => {
    await app.close(0)
    await recorder.close()
  })

  async function line(msg: string, receipt: string | null): Promise<unknown> {
    for (const deadline = Date.now() + 5_000; Date.now() < deadline; await sleep(20)) {
      const found = lines.find((entry) => entry.msg === msg && entry.receipt === receipt)
      if (found) return found
    }
    throw new Error(`no ${msg} was logged for ${receipt}`)
  }

  return {
    url: app.url,
    recorder,
    async logged(receipt) {
      return { receipt: await line('receipt', receipt) as Receipt, outcome: await line('outcome', receipt) as Outcome }
    },
    generationsSince: (count) => recorder.sent.slice(count).filter(({ path, body }) =>
      ['/v1/chat/completions', '/v1/responses', '/v1/messages', '/v1/completions'].includes(path.split('?')[0]!) && !isCalibration(body)),
  }
}

/** Tokens of the full blocks of a prompt's first `length` ids: what vLLM can have cached. */
export function fullBlocks(length: number, { blockSize }: RealEngine): number {
  return Math.floor(length / blockSize) * blockSize
}

/** How many ids two prompts share from the start; told apart from what warmfork itself counts with. */
export function commonIds(a: readonly number[], b: readonly number[]): number {
  const end = a.findIndex((id, i) => id !== b[i])
  return end < 0 ? a.length : end
}
