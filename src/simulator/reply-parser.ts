// Splits generated text into reasoning, content and tool calls, whole or as it grows: Qwen3's reasoning parser
// (vllm/parser/qwen3.py) before the hermes tool parser (vllm/tool_parsers/hermes_tool_parser.py).

import { dumpJson, JsonError, parseJson } from './python-json.ts'

export interface ToolCall { readonly id: string, readonly type: 'function', readonly function: { readonly name: string, readonly arguments: string } }

export interface ParsedReply {
  readonly reasoning: string | null
  readonly content: string | null
  readonly toolCalls: readonly ToolCall[]
}

export interface ToolCallDelta {
  readonly id?: string
  readonly type?: 'function'
  readonly index: number
  readonly function: { readonly name: string } | { readonly arguments: string }
}

export interface ReplyDelta {
  readonly reasoning?: string
  readonly content?: string
  readonly tool_calls?: readonly ToolCallDelta[]
}

export interface ParserChoice {
  /** The reasoning parser is on and thinking enabled: everything is thinking until its end mark. */
  readonly reasoning: boolean
  /** The request has tools and may call them. */
  readonly tools: boolean
}

const thinkStart = '<think>'
const thinkEnd = '</think>'
const callStart = '<tool_call>'
const callEnd = '</tool_call>'

export function parseReply(text: string, choice: ParserChoice, callId: () => string): ParsedReply {
  const { reasoning: thought, rest: after } = splitReasoning(text, choice.reasoning)
  const reasoning = thought === '' ? null : thought
  if (after === null) return { reasoning, content: null, toolCalls: [] }
  // A second end mark is absorbed, though not on a stream.
  const rest = choice.reasoning ? after.replaceAll(thinkEnd, '') : after
  const calls = choice.tools ? wholeCalls(rest) : null
  if (calls === null) return { reasoning, content: rest === '' && choice.reasoning ? null : rest, toolCalls: [] }
  const content = rest.slice(0, rest.indexOf(callStart))
  return {
    reasoning,
    content: content.trim() === '' ? null : content,
    toolCalls: calls.map((call) => ({ id: callId(), type: 'function', function: call })),
  }
}

function splitReasoning(text: string, on: boolean): { reasoning: string | null, rest: string | null } {
  if (!on) return { reasoning: null, rest: text }
  const body = text.startsWith(thinkStart) ? text.slice(thinkStart.length) : text
  const end = body.indexOf(thinkEnd)
  const implicit = body.indexOf(callStart)
  if (implicit >= 0 && (end < 0 || implicit < end)) return { reasoning: body.slice(0, implicit), rest: body.slice(implicit) }
  if (end < 0) return { reasoning: body, rest: null }
  return { reasoning: body.slice(0, end), rest: body.slice(end + thinkEnd.length) }
}

/** Null where there is no call, or one that is no JSON: then all of the text is content. */
function wholeCalls(text: string): { name: string, arguments: string }[] | null {
  if (!text.includes(callStart)) return null
  try {
    return Array.from(text.matchAll(/<tool_call>(.*?)<\/tool_call>|<tool_call>(.*)/gs), (match) => {
      const call = parseJson(match[1] ?? match[2] ?? '')
      const name = call instanceof Map ? call.get('name') : undefined
      const args = call instanceof Map ? call.get('arguments') : undefined
      if (typeof name !== 'string' || args === undefined) throw new JsonError('no call', 0)
      return { name, arguments: dumpJson(args) }
    })
  } catch (error) {
    if (error instanceof JsonError) return null
    throw error
  }
}

/** Feeds on growing text; every call says what is new, or null where nothing can be said yet. */
export class ReplyStream {
  readonly #choice: ParserChoice
  readonly #callId: () => string
  #text = ''
  #reasoningSent = 0
  #contentSent = 0
  readonly #calls: { named: boolean, sent: string }[] = []

  constructor(choice: ParserChoice, callId: () => string) {
    this.#choice = choice
    this.#callId = callId
  }

  /** Has a tool call been named? Then vLLM's finish reason is `tool_calls`. */
  get called(): boolean {
    return this.#calls.some((call) => call.named)
  }

  feed(piece: string, finished: boolean): ReplyDelta | null {
    this.#text += piece
    const { reasoning, rest } = splitReasoning(this.#text, this.#choice.reasoning)
    const delta: { -readonly [K in keyof ReplyDelta]: ReplyDelta[K] } = {}
    if (reasoning !== null) {
      const sure = rest === null && !finished ? withoutPartialMark(reasoning, [thinkStart, thinkEnd, callStart]) : reasoning
      if (sure.length > this.#reasoningSent) {
        delta.reasoning = sure.slice(this.#reasoningSent)
        this.#reasoningSent = sure.length
      }
    }
    if (rest !== null) this.#content(rest, delta)
    return Object.keys(delta).length === 0 ? null : delta
  }

  #content(rest: string, delta: { content?: string, tool_calls?: readonly ToolCallDelta[] }): void {
    const calls = this.#choice.tools
    const start = calls ? rest.indexOf(callStart) : -1
    const sure = start >= 0 ? rest.slice(0, start) : calls ? withoutPartialMark(rest, [callStart]) : rest
    if (sure.length > this.#contentSent) {
      delta.content = sure.slice(this.#contentSent)
      this.#contentSent = sure.length
    }
    if (start < 0) return
    const deltas = this.#callDeltas(rest)
    if (deltas.length > 0) delta.tool_calls = deltas
  }

  #callDeltas(rest: string): ToolCallDelta[] {
    const deltas: ToolCallDelta[] = []
    for (const [index, { json, complete }] of growingCalls(rest).entries()) {
      const call = this.#calls[index] ??= { named: false, sent: '' }
      if (!call.named) {
        const name = /"name"\s*:\s*"([^"]+)"/.exec(json)?.[1]
        if (name === undefined) break
        call.named = true
        deltas.push({ id: this.#callId(), type: 'function', index, function: { name } })
      }
      const args = growingArguments(json, complete)
      if (args !== null && args.length > call.sent.length) {
        deltas.push({ index, function: { arguments: args.slice(call.sent.length) } })
        call.sent = args
      }
    }
    return deltas
  }
}

function growingCalls(text: string): { json: string, complete: boolean }[] {
  const calls: { json: string, complete: boolean }[] = []
  let from = 0
  for (;;) {
    const start = text.indexOf(callStart, from)
    if (start < 0) return calls
    const begin = start + callStart.length
    const end = text.indexOf(callEnd, begin)
    if (end < 0) {
      const json = withoutPartialMark(text.slice(begin), [callEnd]).trim()
      calls.push({ json, complete: isJson(json) })
      return calls
    }
    calls.push({ json: text.slice(begin, end).trim(), complete: true })
    from = end + callEnd.length
  }
}

function growingArguments(json: string, complete: boolean): string | null {
  const match = /"arguments"\s*:\s*/.exec(json)
  if (match === null) return null
  const raw = json.slice(match.index + match[0].length)
  return complete ? raw.trimEnd().replace(/\}$/, '').trimEnd() : raw
}

function isJson(text: string): boolean {
  try {
    parseJson(text)
    return true
  } catch (error) {
    if (error instanceof JsonError) return false
    throw error
  }
}

/** The text without an end that may be the beginning of a mark. */
function withoutPartialMark(text: string, marks: readonly string[]): string {
  let held = 0
  for (const mark of marks) {
    for (let length = Math.min(mark.length - 1, text.length); length > held; length--) {
      if (text.endsWith(mark.slice(0, length))) held = length
    }
  }
  return text.slice(0, text.length - held)
}
