// What a row of the relay's suite is: one promise that a proxy keeps or does not, found out over real sockets and with
// nothing known of the proxy but its port. The tests of test/relay run the rows against warmfork, npm run test:peers
// against other proxies too.

import { startRawEngine, type RawEngine, type RawEngineOptions, type Script } from '../helpers/raw-engine.ts'

export interface Row {
  /** A sentence that is true of a proxy that is as if it were not there. */
  readonly name: string
  /** Numbers of the field's cases that it is an input of. */
  readonly cases?: readonly (number | string)[]
  /** Limit of time in seconds, where the usual is too little. */
  readonly seconds?: number
  /** It spends its time waiting, and others may run meanwhile. */
  readonly waits?: true
  /** Too slow for npm test. */
  readonly slow?: true
  /**
   * @returns a short fact for the table, if there is one to tell
   * @throws Broken, or whatever a broken connection throws
   */
  check(stage: Stage): Promise<string | void>
}

/** A promise that is not kept; the message is the fact of the table. */
export class Broken extends Error {}

export function must(kept: boolean, fact: string): asserts kept {
  if (!kept) throw new Broken(fact)
}

/** A proxy in front of an engine. */
export interface Running {
  readonly port: number
  close(): Promise<void>
}

export type StartProxy = (origin: string) => Promise<Running>

export interface Teardown {
  teardown(handler: () => Promise<void>): unknown
}

/** What a row has for its play; all of it ends with the row. */
export interface Stage extends Teardown {
  engine(script?: Script, options?: Omit<RawEngineOptions, 'apart'>): Promise<RawEngine>
  /** @returns the port of the proxy in front of an engine */
  proxy(origin: string): Promise<number>
  /** Both. */
  before(script?: Script, options?: Omit<RawEngineOptions, 'apart'>): Promise<{ engine: RawEngine, port: number }>
}

/** What warmfork asks an engine on its own account. No row sends any of it. */
const ownQuestions = ['GET /health', 'GET /metrics', 'GET /version', 'GET /v1/models', 'POST /tokenize', 'POST /detokenize']

export function stageFor(t: Teardown, start: StartProxy): Stage {
  const stage: Stage = {
    teardown: (handler) => t.teardown(handler),
    engine: (script, options) => startRawEngine(t, script, { ...options, apart: (method, target) => ownQuestions.includes(`${method} ${target}`) }),
    async proxy(origin) {
      const { port, close } = await start(origin)
      t.teardown(close)
      return port
    },
    async before(script, options) {
      const engine = await stage.engine(script, options)
      return { engine, port: await stage.proxy(engine.origin) }
    },
  }
  return stage
}

/** The row's name with its cases, as a test is called. */
export function titleOf({ name, cases = [] }: Row): string {
  return [name, ...cases.map((number) => `[case ${number}]`)].join(' ')
}
