// Runs one request's replies on the engine and tells a route what comes, choice by choice. A scripted failure strikes
// here, so that chat and completions fail alike.

import type { ServerResponse } from 'node:http'
import type { Engine, EngineRun } from './engine.ts'
import { generate, type Reply } from './reply.ts'
import type { Tokenizer } from './tokenizer.ts'
import type { GenerationOptions } from './chat-request.ts'

export interface Sequence {
  readonly prompt: readonly number[]
  /** Tokens that the reply may have. */
  readonly limit: number
}

export interface TokenEvent {
  /** Which of the sequences, 0 first. */
  readonly index: number
  readonly tokens: readonly number[]
  /** Null until the sequence ends. */
  readonly finish: string | null
  readonly stopReason: string | null
}

export interface GenerationEvents {
  tokens(event: TokenEvent): void
  /** Every sequence has ended. */
  end(): void
  /** The engine failed while generating. */
  error(message: string): void
  /** The body ends here without a word, as a careless gateway ends it. */
  cut(): void
}

export interface GenerationRun {
  /** Prompt tokens found in the cache, as `usage` reports them: of several sequences vLLM tells one's. */
  readonly cachedTokens: () => number
}

export interface GenerationContext {
  readonly engine: Engine
  readonly tokenizer: Tokenizer
  readonly response: ServerResponse
  /** Requests that ended well, by finish reason; counted here. */
  readonly finished: Map<string, number>
}

/** Starts the sequences. They end by themselves, or with the client's connection. */
export function startGeneration(
  context: GenerationContext, sequences: readonly Sequence[], options: GenerationOptions, reply: Reply, thinks: boolean,
  events: GenerationEvents,
): GenerationRun {
  const { engine, tokenizer, response, finished } = context
  const failure = reply.fail
  const failAt = failure === undefined ? Infinity : typeof failure.at === 'number' ? failure.at : 0
  let open = sequences.length
  let runs: EngineRun[] = []

  function abort(): void {
    for (const run of runs) run.abort()
  }
  response.once('close', abort)

  function fail(): void {
    if (failure!.kind === 'hang') return
    abort()
    if (failure!.kind === 'reset') response.destroy()
    else if (failure!.kind === 'cut') events.cut()
    else events.error(failure!.message ?? 'EngineCore encountered an issue. See stack trace (above) for the root cause.')
  }

  runs = sequences.map(({ prompt, limit }, index) => {
    const generation = generate(reply, tokenizer, limit, options, thinks)
    const steps = generation.steps.slice(0, failAt)
    const fails = failAt < generation.steps.length || failure !== undefined
    return engine.submit({
      // A failure before the first token still waits for the prefill: one step that is never told.
      prompt, steps: fails && steps.length === 0 ? [[tokenizer.endOfTurn]] : steps, salt: options.salt, readCache: options.readCache,
      hangs: fails && failure?.kind === 'hang',
      onTokens(tokens, last) {
        if (fails && steps.length === 0) return fail()
        const ends = last && !fails
        events.tokens({
          index, tokens, finish: ends ? generation.finish : null, stopReason: ends ? generation.stopReason : null,
        })
        if (last && fails) return fail()
        if (!ends) return
        finished.set(generation.finish, (finished.get(generation.finish) ?? 0) + 1)
        if (--open === 0) {
          response.off('close', abort)
          events.end()
        }
      },
    })
  })
  return { cachedTokens: () => runs[0]?.cachedTokens ?? 0 }
}
