// Many paced streams at a time through warmfork, and a few straight to the engine beside them: both see the same load of
// engine and clients, so what one is later than the other is what warmfork adds. Nothing may be lost, moved or merged.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Found, Task } from './paced-clients.ts'
import { messageOf, startBeside, startWarmforkProcess, type Usage } from './process.ts'

export interface StreamsOptions {
  readonly streams: number
  /** Streams straight to the engine beside them. */
  readonly beside: number
  /** Events a second of one stream. */
  readonly perSecond: number
  readonly seconds: number
  /** First so many seconds of as many streams straight to the engine: what the machine itself can do. */
  readonly directSeconds: number
}

export interface StreamsFound {
  readonly faults: string[]
  readonly alone: Found | undefined
  readonly warmfork: Found
  readonly beside: Found
  /** About one a second. */
  readonly usage: Usage[]
}

const mostGrowth = 1.25
const slackMb = 48

export async function runStreams({ streams, beside, perSecond, seconds, directSeconds }: StreamsOptions): Promise<StreamsFound> {
  const engine = startBeside('paced-engine.ts', [String(perSecond)])
  const { url } = await messageOf<{ url: string }>(engine)
  const warmfork = await startWarmforkProcess({ upstream: { url } })
  const faults: string[] = []
  try {
    const rampMs = 200 * seconds
    const [alone] = directSeconds > 0 ? await clients({ groups: [{ name: 'direct alone', url, streams }], events: directSeconds * perSecond, rampMs }) : []
    const usage: Usage[] = []
    let measuring = true
    const measured = (async () => {
      while (measuring) {
        usage.push(await warmfork.usage())
        await sleep(1_000)
      }
    })()
    const groups = [{ name: 'warmfork', url: warmfork.url, streams }, { name: 'direct', url, streams: beside }]
    const [through, direct] = await clients({ groups, events: seconds * perSecond, rampMs })
    measuring = false
    await measured
    faults.push(...alone?.faults ?? [], ...through!.faults, ...direct!.faults, ...growth(usage))
    await sleep(200)
    engine.send('running')
    const { running } = await messageOf<{ running: number }>(engine)
    if (running > 0) faults.push(`${running} streams still run at the engine`)
    faults.push(...warmfork.logged.filter(({ level }) => level >= 40).map((line) => `logged: ${JSON.stringify(line)}`))
    return { faults, alone, warmfork: through!, beside: direct!, usage }
  } finally {
    const code = await warmfork.stop()
    if (code !== 0) faults.push(`warmfork ended with ${code}`)
    engine.disconnect()
  }
}

async function clients(task: Task): Promise<Found[]> {
  const child = startBeside('paced-clients.ts')
  await messageOf(child)
  child.send(task)
  return messageOf<Found[]>(child)
}

/** Memory that grows while nothing but running streams is there. Says nothing of less than half a minute. */
function growth(usage: readonly Usage[]): string[] {
  const quarter = Math.floor(usage.length / 4)
  if (quarter < 8) return []
  const least = (part: readonly Usage[]) => Math.min(...part.map(({ rssMb }) => rssMb))
  const early = least(usage.slice(quarter, 2 * quarter))
  const late = least(usage.slice(-quarter))
  return late > early * mostGrowth + slackMb ? [`memory grew from ${early.toFixed(0)} to ${late.toFixed(0)} MB while the same streams ran`] : []
}
