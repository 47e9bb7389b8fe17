// Which part of the evidence a flattened summary request asks to have summarised: the history is one text with labels,
// or messages written in another way, which are told as one.
// What is aligned leaves the text, what is not stays in the directive: nothing of the agent's request is lost.

import type { ReadRequest } from '../endpoint/endpoint.ts'
import { isFront, textInsides, textParts, type ChatRequest, type Message } from '../wire/chat-request.ts'
import { sameBytes } from '../wire/json-slices.ts'
import { compareTools, type Coverage } from './coverage.ts'
import { isTold, retell, tellsAll } from './retold.ts'
import { align, type Alignment } from './transcript.ts'
import { endOfHead } from './tool-groups.ts'

/**
 * @param recorded the recorded main request
 * @param asked the summary request
 */
export function flattenedCoverage(recorded: ReadRequest, asked: ReadRequest): Coverage {
  const evidence = recorded.chat
  const summary = asked.chat
  const front = summary.messages.slice(0, summary.frontLength)
  const turns = summary.messages.slice(summary.frontLength)
  if (compareTools(evidence, summary) === 'other') return { covered: false, reason: 'prefix_changed' }
  const foreign = front.filter((message) => !evidence.messages.slice(0, evidence.frontLength)
    .some((own) => sameBytes(evidence.body, own.slice, summary.body, message.slice)))
  // Only text survives being taken apart.
  if ([...foreign, ...turns].some(({ slice }) => textInsides(summary.body, slice) === null)) return { covered: false, reason: 'media_unsupported' }

  const isRetold = isTold(turns)
  if (isRetold && !tellsAll(summary, turns)) return { covered: false, reason: 'coverage_unproven' }
  const texts = (messages: readonly Message[]): string[] => messages.flatMap(({ slice }) => textParts(summary.body, slice))
  const told = isRetold ? retell(summary, turns) : texts(turns)
  const text = [...texts(foreign), ...told].join('\n\n')
  const alignment = align(text, evidence)
  if (!alignment) return { covered: false, reason: startsLater(text, evidence) ? 'mid_range' : 'coverage_unproven' }
  const headLength = endOfHead(recorded, evidence.frontLength + alignment.ends.length)
  const headTurns = headLength - evidence.frontLength
  if (headTurns <= 0) return { covered: false, reason: 'incomplete_tool_group' }
  if (isRetold && !isSpread(text, told, alignment, headTurns)) return { covered: false, reason: 'coverage_unproven' }
  return {
    covered: true,
    headLength,
    following: [],
    instruction: isRetold && asks(turns.at(-1)) ? turns.at(-1)!.slice : null,
    foreignFront: isRetold ? foreign.map(({ slice }) => slice) : [],
    additions: null,
    isRetold,
    text: withoutHead(text, alignment, headTurns),
    looksWarm: false,
    goesOnInLast: false,
    sameStart: false,
  }
}

/** Whether the head's part is told by about as many messages as the head has, not quoted in one of another conversation. */
function isSpread(text: string, told: readonly string[], { start, ends }: Alignment, headTurns: number): boolean {
  const end = ends[headTurns - 1]!
  let from = text.length
  let spread = 0
  for (const { length } of told.toReversed()) {
    if (from > start && from - length < end) spread++
    from -= length + 2
  }
  return spread >= Math.max(2, headTurns / 2)
}

/** Whether a request's last message can ask for something. */
function asks(last: Message | undefined): boolean {
  return last !== undefined && (last.role === 'user' || isFront(last.role))
}

const mark = '[Here stood the beginning of the conversation. It is not repeated: it is the conversation above.]'

/** The request's text with the head's part of the transcript replaced by a reference, and what only the transcript says quoted. */
function withoutHead(text: string, { start, ends, extras }: Alignment, headTurns: number): string {
  const notes = extras.filter(({ after }) => after < headTurns).map((extra) => extra.text.trim())
  const quoted = notes.length === 0 ? '' : `\n[Between its messages stood also:]\n${notes.map((note) => `> ${note.replaceAll('\n', '\n> ')}`).join('\n')}`
  const rest = text.slice(ends[headTurns - 1])
  return `${text.slice(0, start)}${mark}${quoted}${quoted === '' || rest.startsWith('\n') ? '' : '\n'}${rest}`
}

/** Later messages that are looked for, spread over the conversation: all of them would take a search each. */
const maxSought = 16

/** Whether some later message of the evidence stands in the text, where its first does not. */
function startsLater(text: string, evidence: ChatRequest): boolean {
  const later = evidence.messages.slice(evidence.frontLength + 1).filter(({ role }) => role === 'user' || role === 'tool')
  const step = Math.max(1, Math.ceil(later.length / maxSought))
  return later.filter((_, i) => i % step === 0).some(({ slice }) =>
    textParts(evidence.body, slice).slice(0, 4).some((part) => part.trim().length > 40 && text.includes(part.trim().slice(0, 200))))
}
