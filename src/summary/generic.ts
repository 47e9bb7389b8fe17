// Whether a request that no agent's file knows is a summary: by structure and by its instruction, never by one alone.
// It has no tools, holds a long stretch of a recorded conversation from its beginning, and asks to condense it. Next
// turns, critics, plan modes and titles send the same messages: when in doubt it is none.

import type { Fit } from '../conversation/choose.ts'
import { numberOption, readText, type ChatRequest } from '../wire/chat-request.ts'
import { skipSpace } from '../wire/json-slices.ts'
import { asksForOther, asksToCondense, opening, speaksOfCondensing } from './instruction.ts'

/** Where an instruction may stand in the bytes of a body: system text leads, the last message trails. */
const headWindow = 8 * 1024
const tailWindow = 8 * 1024

/** Messages of the conversation that it must hold. */
const fewestMessages = 4
/** A request for fewer tokens than a summary takes is for a title or a word. */
const fewestTokens = 256
/** Where a text of the agent's own says what it wants, in characters. */
const front = 600
const end = 1500
/** Paragraphs at the end that can be an instruction. */
const lastParagraphs = 6

/** Whether a word of the act stands near an end of a body, or of what is new in it. */
export function mentionsCondensing(bytes: Buffer): boolean {
  return mayMention(bytes.toString('utf8', 0, headWindow)) || mayMention(bytes.toString('utf8', Math.max(headWindow, bytes.length - tailWindow)))
}

/** @param json text inside of JSON, or cut from it */
function mayMention(json: string): boolean {
  return json.includes('\\u') || speaksOfCondensing(json.replace(/\\[nrt]/g, '\n'))
}

const toolsKey = Buffer.from('"tools"')

/** Whether a body has tools. Inside a string the key's quotes would be escaped. */
export function hasTools(body: Buffer): boolean {
  const key = body.indexOf(toolsKey)
  if (key < 0) return false
  const colon = skipSpace(body, key + 7)
  const value = skipSpace(body, colon + 1)
  const isEmpty = body[value] === 0x5b && body[skipSpace(body, value + 1)] === 0x5d
  return !isEmpty && body[value] !== 0x6e
}

/** What must hold of a request by itself, each in words; the recorded conversations decide the rest. */
const ownTraits: readonly (readonly [string, (request: ChatRequest) => boolean])[] = [
  ['it has no tools', ({ tools }) => (tools?.length ?? 0) === 0],
  ["its last message is no assistant's and no tool's", ({ messages }) => messages.length > 0 && !['assistant', 'tool'].includes(messages.at(-1)!.role)],
  [`it asks for more than ${fewestTokens} tokens, or sets no limit`, (request) => (numberOption(request, 'max_tokens') ?? numberOption(request, 'max_completion_tokens') ?? Infinity) > fewestTokens],
  ['its system text or last message asks to condense the conversation, and for no other work', (request) => systemAsks(request) || textAsks(readText(request.body, request.messages.at(-1)!.slice))],
]

/** Whether a request read may be such a summary; the recorded conversations decide. */
export function isPossible(request: ChatRequest): boolean {
  return ownTraits.every(([, holds]) => holds(request))
}

/** What must hold of a request by itself, one by one: for who asks why. */
export function genericTraits(body: Buffer, request: ChatRequest): { readonly wanted: string, readonly holds: boolean }[] {
  const read = ownTraits.map(([wanted, holds]) => ({ wanted, holds: request.messages.length > 0 && holds(request) }))
  return [...read, { wanted: `a word for that stands in its first or last ${tailWindow / 1024} KiB`, holds: mentionsCondensing(body) }]
}

/** Whether the recorded conversation that fits a possible summary makes it one. */
export function isSummaryOf(summary: ChatRequest, { request, coverage }: Fit): boolean {
  const turns = coverage.headLength - request.chat.frontLength
  if (turns < fewestMessages) return false
  if (coverage.text !== null && !coverage.isRetold) return systemAsks(summary) || textAsks(coverage.text)
  // With the conversation's own system text it is the user who asks, in an ordinary next turn.
  if (summary.frontLength === 0) return request.chat.frontLength > 0 && coverage.instruction !== null && !coverage.isRetold
  return coverage.foreignFront.some((message) => asksToCondense(readText(summary.body, message).slice(0, front)))
}

function systemAsks({ body, messages, frontLength }: ChatRequest): boolean {
  return messages.slice(0, frontLength).some(({ slice }) => asksToCondense(readText(body, slice).slice(0, front)))
}

/** In front or behind: what stands between is the conversation, whoever speaks of condensing there. */
function textAsks(text: string): boolean {
  if (asksToCondense(text.slice(0, front))) return true
  if (text.length <= front) return false
  const paragraphs = text.slice(Math.max(front, text.length - end)).split(/\n\s*\n/).slice(-lastParagraphs)
  const asking = paragraphs.findIndex((paragraph) => asksToCondense(paragraph))
  return asking >= 0 && !asksForOther(asking > 0 ? paragraphs[asking - 1]!.slice(-opening) : '') &&
    !paragraphs.slice(asking).some((paragraph) => asksForOther(paragraph.slice(0, opening)))
}
