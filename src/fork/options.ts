// Whether two requests' options let one be a fork of the other (R2). What each option is stands in its endpoint's table.

import type { ReadRequest } from '../endpoint/endpoint.ts'
import { roleOf } from '../endpoint/role.ts'
import { bytesOf, elementsOf, membersOf, memberNamed, skipSpace, stringAt, type Slice } from '../wire/json-slices.ts'
import { booleanOption, numberOption, option, stringMember, type ChatRequest } from '../wire/chat-request.ts'
import type { Reason } from '../receipt/reasons.ts'

/**
 * Whether the summary request's options let a fork keep the evidence's.
 * @returns the reason against it, or null
 */
export function optionsAgainstFork(evidence: ReadRequest, summary: ReadRequest): Reason | null {
  if (isUnforkable(evidence) || isUnforkable(summary) || forcesTool(summary.chat) || hasRefusedLimit(summary.chat)) return 'unforkable_options'
  const { options } = summary.endpoint
  for (const { key } of summary.members) {
    if (roleOf(options, key) !== 'prompt') continue
    const theirs = option(summary, key)
    if (theirs === undefined) continue
    const ours = option(evidence, key)
    if (ours !== undefined && sameValue(evidence.body, ours, summary.body, theirs)) continue
    return Object.hasOwn(options.ownReasons, key) ? options.ownReasons[key]! : 'options_changed'
  }
  // A reply format that only the conversation has would shape the summary; some renderers put it into the prompt.
  if (option(evidence.chat, 'response_format') !== undefined && option(summary.chat, 'response_format') === undefined) return 'options_changed'
  if (hasMedia(evidence.chat) || hasMedia(summary.chat)) return 'media_unsupported'
  if (hasBrokenArguments(evidence.chat) || hasBrokenArguments(summary.chat)) return 'unforkable_options'
  return null
}

function isUnforkable(request: ReadRequest): boolean {
  const { unforkable, switches, choiceCounts } = request.endpoint.options
  return unforkable.some((key) => isUnforkableValue(request, key)) ||
    Object.entries(switches).some(([key, wanted]) => option(request, key) !== undefined && booleanOption(request, key) !== wanted) ||
    choiceCounts.some((key) => option(request, key) !== undefined && numberOption(request, key) !== 1)
}

function isUnforkableValue(request: ReadRequest, key: string): boolean {
  const value = option(request, key)
  return value !== undefined && request.body[value.start] !== 0x66 // false
}

const tokenLimits = ['max_tokens', 'max_completion_tokens'] as const

/** A token limit that the engine refuses: in a fork it would look like a refusal of the fork. */
function hasRefusedLimit(request: ChatRequest): boolean {
  return tokenLimits.some((key) => {
    const limit = numberOption(request, key)
    return option(request, key) !== undefined && (limit === null || !Number.isInteger(limit) || limit < 1)
  })
}

/** A tool that the request forces is its answer's form: the wanted reply is a tool call. */
export function forcesTool(request: ChatRequest): boolean {
  const value = option(request, 'tool_choice')
  if (value === undefined) return false
  const choice = stringAt(request.body, value)
  return choice !== 'auto' && choice !== 'none'
}

/** Same bytes, or the same but for white space between them. */
function sameValue(a: Buffer, x: Slice, b: Buffer, y: Slice): boolean {
  const left = bytesOf(a, x)
  const right = bytesOf(b, y)
  return left.equals(right) || sameButSpace(left, right)
}

function sameButSpace(a: Buffer, b: Buffer): boolean {
  let inString = false
  for (let i = 0, j = 0; ; i++, j++) {
    if (!inString) {
      i = skipSpace(a, i)
      j = skipSpace(b, j)
    }
    if (i >= a.length || j >= b.length) return i >= a.length && j >= b.length
    if (a[i] !== b[j]) return false
    if (a[i] === quote) inString = !inString
    else if (a[i] === backslash && a[++i] !== b[++j]) return false
  }
}

const quote = 0x22
const backslash = 0x5c

/** Content parts other than text: images, sounds, files, and kinds that nobody here knows. */
function hasMedia({ body, messages }: ChatRequest): boolean {
  return messages.some(({ slice }) => {
    const content = memberNamed(membersOf(body, slice.start) ?? [], 'content')
    if (!content || body[content.value.start] !== openBracket) return false
    return (elementsOf(body, content.value.start) ?? []).some((part) => !isText(body, part))
  })
}

/** Content parts that vLLM reads as text (chat_utils.py); a string is one too, whatever it says. */
const textParts = ['text', 'input_text', 'output_text', 'refusal', 'thinking'] as const

function isText(body: Buffer, part: Slice): boolean {
  if (body[part.start] === quote) return true
  const type = stringMember(body, part, 'type')
  return textParts.some((text) => text === type)
}

const openBracket = 0x5b

/** vLLM 0.28 refuses arguments that are no JSON, 0.32 renders them as {}: what was prefilled is not to be known. */
function hasBrokenArguments(request: ChatRequest): boolean {
  return request.messages.some((message) => message.callIds.length > 0 && callsOf(request, message.slice).some((call) => {
    const functionAt = memberNamed(membersOf(request.body, call.start) ?? [], 'function')
    const text = functionAt && stringMember(request.body, functionAt.value, 'arguments')
    return typeof text !== 'string' || !isJsonObject(text)
  }))
}

function callsOf(request: ChatRequest, message: Slice): Slice[] {
  const calls = memberNamed(membersOf(request.body, message.start) ?? [], 'tool_calls')
  return calls ? elementsOf(request.body, calls.value.start) ?? [] : []
}

function isJsonObject(text: string): boolean {
  // vLLM reads an empty text and "null" as {} (chat_utils.py).
  if (text === '' || text === 'null') return true
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}
