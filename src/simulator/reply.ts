// What the simulated model says to one request, and how it fails when a test wants it to.

import type { GenerationOptions } from './chat-request.ts'
import type { Tokenizer } from './tokenizer.ts'

export interface ScriptedToolCall {
  readonly name: string
  /** An object, or a JSON text that goes out as it is (also one that is no JSON). */
  readonly arguments: string | object
}

/** Where a failure strikes: before the response head, after it and before any token, or after so many tokens. */
export type FailurePoint = 'before_headers' | 'after_headers' | number

export interface Reply {
  /** The whole generated text, marks included; `reasoning`, `content` and `toolCalls` are then not used. */
  readonly text?: string
  /** Thinking. Comes out as `reasoning` with the option reasoningParser, else as a think block in the text. */
  readonly reasoning?: string
  readonly content?: string
  /** Calls in the model's own markup; parsed into tool_calls where the request has tools and lets them be called. */
  readonly toolCalls?: readonly ScriptedToolCall[]
  /** The text in pieces of one engine step each, in place of one step a token. Wins over all of the above. */
  readonly pieces?: readonly string[]
  /** The finish reason; by default what vLLM says: tool_calls after a parsed call, length at the limit, else stop. */
  readonly finish?: 'stop' | 'length' | 'tool_calls' | 'abort' | 'repetition'
  /** An answer in place of generating: 4xx, 5xx. An object body goes out as JSON. */
  readonly refuse?: { readonly status: number, readonly body?: object | string, readonly headers?: Readonly<Record<string, string>> }
  /**
   * `error`: vLLM's error event and [DONE] on a stream, 500 otherwise. `reset`: the connection is destroyed.
   * `hang`: silence from there on. `cut`: a clean end of the body without finish and [DONE].
   */
  readonly fail?: { readonly kind: 'error' | 'reset' | 'hang' | 'cut', readonly at: FailurePoint, readonly message?: string }
}

export interface ReplyRequest {
  readonly endpoint: 'chat' | 'completions' | 'responses' | 'messages'
  /** The body as JSON.parse reads it. */
  readonly body: any
  readonly headers: NodeJS.Dict<string | string[]>
  readonly promptTokens: number
  /** The rendered prompt, or the text of a token-id prompt; several are joined by a newline. */
  readonly prompt: string
  /** How many replies this simulator was asked for before, over all restarts. */
  readonly count: number
}

/** The default reply, the sentence of a busy engineer. */
export const defaultContent = 'Done so far: parser read, lexer fixed. Next: run all tests.'

export interface Generation {
  /** Tokens of each engine step. */
  readonly steps: readonly (readonly number[])[]
  readonly finish: string
  readonly stopReason: string | null
}

/**
 * Turns a script into tokens as the model would generate them, cut by max_tokens and stop strings as vLLM cuts. With
 * ignore_eos the model says the same again and again, up to the limit.
 * @param thinks the reasoning parser is on and thinking is enabled: the model writes a think block even when empty
 */
export function generate(
  reply: Reply, tokenizer: Tokenizer, limit: number, { stop, ignoreEos }: GenerationOptions, thinks: boolean,
): Generation {
  const whole = reply.pieces?.join('') ?? reply.text ?? compose(reply, thinks)
  const stopped = earliest(whole, stop)
  const text = stopped === null ? whole : whole.slice(0, stopped.at)
  const pieces = reply.pieces !== undefined && stopped === null
    ? reply.pieces.map((piece) => tokenizer.encode(piece))
    : tokenizer.encode(text).map((id) => [id])
  const finish = reply.finish ?? 'stop'
  const ends = finish !== 'length' && finish !== 'abort' && stopped === null
  const steps = ends ? [...pieces, [tokenizer.endOfTurn]] : pieces
  const total = steps.reduce((sum, step) => sum + step.length, 0)
  if (ignoreEos && stopped === null && total > 0) {
    const rounds = Array.from({ length: Math.ceil(limit / total) }, () => steps).flat()
    return { steps: firstTokens(rounds, limit), finish: 'length', stopReason: null }
  }
  if (total > limit) return { steps: firstTokens(steps, limit), finish: 'length', stopReason: null }
  // A reply cannot be without any token: the engine reports nothing before the first.
  return { steps: steps.length > 0 ? steps : [[tokenizer.endOfTurn]], finish, stopReason: stopped?.stop ?? null }
}

/** The model's own writing of a turn (Qwen3's template reads it back in the same form). */
function compose(reply: Reply, thinks: boolean): string {
  const calls = (reply.toolCalls ?? []).map((call) => {
    const text = typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments)
    return `<tool_call>\n{"name": ${JSON.stringify(call.name)}, "arguments": ${text}}\n</tool_call>`
  })
  const content = reply.content ?? (calls.length > 0 || reply.reasoning !== undefined ? '' : defaultContent)
  const thought = reply.reasoning ?? (thinks ? '' : null)
  const think = thought === null ? '' : `<think>\n${thought}\n</think>\n\n`
  return think + [content, ...calls].filter((part) => part !== '').join('\n')
}

function earliest(text: string, stop: readonly string[]): { at: number, stop: string } | null {
  const found = stop.filter((each) => each !== '').map((each) => ({ at: text.indexOf(each), stop: each })).filter(({ at }) => at >= 0)
  return found.sort((a, b) => a.at - b.at)[0] ?? null
}

function firstTokens(steps: readonly (readonly number[])[], limit: number): number[][] {
  const cut: number[][] = []
  let left = limit
  for (const step of steps) {
    if (left <= 0) break
    cut.push(step.slice(0, left))
    left -= step.length
  }
  return cut
}
