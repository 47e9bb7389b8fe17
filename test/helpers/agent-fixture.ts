// Wire fixtures of real agents: requests in the order in which they came, with what they hold in common written once.

import { readFileSync, writeFileSync } from 'node:fs'
import { startWarmfork } from './warmfork.ts'

export interface FixtureExchange {
  /** A summary, or a main or side request. */
  readonly kind: 'summary' | 'other'
  /** Where it was sent; to the chat endpoint where it is left out. */
  readonly target?: string
  /** Name, value, … */
  readonly headers: readonly string[]
  readonly body: object
}

/** What warmfork makes of a summary. */
export interface Expected {
  readonly decision: string
  readonly reason: string | null
  readonly headMessages: number | null
}

export interface Fixture {
  /** What recognition calls it: `generic` where no data file describes it. */
  readonly agent: string
  readonly version: string
  readonly exchanges: readonly FixtureExchange[]
  /** One per summary, in their order. */
  readonly expected: readonly Expected[]
}

/** Members whose elements are written once for all requests. */
const pooledKeys = new Set(['messages', 'input', 'tools'])

export function writeFixture(file: string, { exchanges, ...rest }: Fixture): void {
  const pool: string[] = []
  const pooled = (value: unknown): number => {
    const json = JSON.stringify(value)
    const known = pool.indexOf(json)
    return known >= 0 ? known : pool.push(json) - 1
  }
  const written = exchanges.map(({ body, ...exchange }) => {
    const lists = Object.entries(body).filter(([key, value]) => pooledKeys.has(key) && Array.isArray(value))
    const options = Object.fromEntries(Object.entries(body).filter(([key]) => !lists.some(([list]) => list === key)))
    return { ...exchange, order: Object.keys(body), options, ...Object.fromEntries(lists.map(([key, values]) => [key, values.map(pooled)])) }
  })
  const lines = (values: readonly string[]): string => values.map((value) => `  ${value}`).join(',\n')
  writeFileSync(file, `{"about": ${JSON.stringify(rest)},\n"exchanges": [\n${lines(written.map((each) => JSON.stringify(each)))}\n],\n"pool": [\n${lines(pool)}\n]}\n`)
}

export function readFixture(file: string): Fixture {
  const { about, exchanges, pool } = JSON.parse(readFileSync(file, 'utf8'))
  return {
    ...about,
    exchanges: exchanges.map(({ order, options, messages, input, tools, ...exchange }: any) => {
      const lists: any = { messages, input, tools }
      return { ...exchange, body: Object.fromEntries(order.map((key: string) => [key, key in options ? options[key] : lists[key].map((i: number) => pool[i])])) }
    }),
  }
}

/** What became of one request. */
export interface Replayed {
  /** Null where it was not taken for a summary. */
  readonly summary: (Expected & { readonly agent: string | null }) | null
  /** The engine got it byte for byte. */
  readonly asItCame: boolean
}

/** Sends a fixture's requests through warmfork, one after another. */
export async function replay(t: Parameters<typeof startWarmfork>[0], { exchanges }: Fixture): Promise<Replayed[]> {
  // Fixtures are shorter than what they were made of: what a fork saves is small in proportion.
  const warmfork = await startWarmfork(t, { engine: { model: 'local-model', maxModelLen: 131_072 }, config: { fork: { min_saved_tokens: 16 } } })
  const replayed: Replayed[] = []
  for (const { target, headers, body } of exchanges) {
    const json = JSON.stringify(body)
    const since = warmfork.since()
    const reply = await warmfork.chat(json, { headers: ['authorization', 'Bearer sk-local', ...headers], ...(target ? { target } : {}) })
    if (reply.status !== 200) throw new Error(`a request of the fixture was refused: ${reply.status} ${reply.text.slice(0, 300)}`)
    const receipt = 'decision' in reply.warmfork ? await warmfork.receipt(reply) : null
    replayed.push({
      summary: receipt && { agent: receipt['agent'], decision: receipt['decision'], reason: receipt['fallback_reason'], headMessages: receipt['head_messages'] },
      asItCame: since.generations().some((request) => request.body.equals(Buffer.from(json))),
    })
  }
  return replayed
}
