// Which part of the evidence a structured summary request asks to have summarised, and what it brings beyond (R3).
// Covers nothing that the summary request does not hold byte for byte, and starts at the beginning or not at all.

import type { ReadRequest } from '../endpoint/endpoint.ts'
import { isCut } from '../endpoint/items.ts'
import { sameBytes, type Slice } from '../wire/json-slices.ts'
import { isFront, textInsides, type ChatRequest, type Message } from '../wire/chat-request.ts'
import type { Reason } from '../receipt/reasons.ts'
import { additionsToFirst } from './opening-message.ts'
import { endOfHead, hasOpenGroup } from './tool-groups.ts'

export interface Covered {
  readonly covered: true
  /** Leading messages of the evidence that the fork keeps, its system text included. */
  readonly headLength: number
  /** Messages of the summary request that follow the head as they came. */
  readonly following: readonly Message[]
  /** The summary request's trailing instruction, if it has one. */
  readonly instruction: Slice | null
  /** The summariser's own system messages, where they are not the conversation's. */
  readonly foreignFront: readonly Slice[]
  /** What its first message says beyond the recorded one's, as JSON writes it; null where they are the same. */
  readonly additions: readonly Buffer[] | null
  /** Its messages are the conversation's, written in another way; `text` tells them. */
  readonly isRetold: boolean
  /** Of a flattened request: its text without the head's part of the transcript; null for a structured one. */
  readonly text: string | null
  /** The same system text, tools and all messages of the evidence, and one directive: it may be warm as it is (R12). */
  readonly looksWarm: boolean
  /** Its directive stands in the evidence's last message, behind what that says: the same message goes on. */
  readonly goesOnInLast: boolean
  /** System text and tools are the conversation's: the request as it came may share a prefix too. */
  readonly sameStart: boolean
}

export type Coverage = Covered | { readonly covered: false, readonly reason: Reason }

/**
 * @param recorded the recorded main request
 * @param asked the summary request
 * @param foreignTool the agent's data file says that one tool of the summariser's own stands in place of the conversation's
 */
export function structuredCoverage(recorded: ReadRequest, asked: ReadRequest, foreignTool = false): Coverage {
  const evidence = recorded.chat
  const summary = asked.chat
  const sharedFront = sharedLead(evidence, 0, evidence.frontLength, summary, 0, summary.frontLength)
  const foreignFront = summary.messages.slice(sharedFront, summary.frontLength)
  const tools = compareTools(evidence, summary, foreignTool)
  if (tools === 'other') return { covered: false, reason: 'prefix_changed' }

  const turns = evidence.messages.length - evidence.frontLength
  const { run, additions } = sharedTurns(evidence, summary)
  if (run === 0) return { covered: false, reason: startsLater(evidence, summary) ? 'mid_range' : 'coverage_unproven' }

  // Where only the instruction follows, it is taken out of its item; what is to follow as it came begins with one.
  const moved = summary.frontLength - evidence.frontLength
  const canCut = (length: number): boolean => length + moved >= summary.messages.length - 1 || isCut(asked, length + moved)
  const headLength = endOfHead(recorded, evidence.frontLength + run, summary.messages[summary.frontLength + run], canCut)
  const headTurns = headLength - evidence.frontLength
  if (headTurns <= 0) return { covered: false, reason: 'incomplete_tool_group' }

  const rest = summary.messages.slice(summary.frontLength + headTurns)
  const last = rest.at(-1)
  const instruction = last && rest.length > run - headTurns && (last.role === 'user' || isFront(last.role)) ? last : null
  const following = instruction ? rest.slice(0, -1) : rest
  if (hasOpenGroup(following)) return { covered: false, reason: 'incomplete_tool_group' }

  const sameStart = foreignFront.length === 0 && sharedFront === evidence.frontLength && tools === 'same'
  const goesOnInLast = sameStart && run === turns - 1 && rest.length === 1 && additions === null && goesOn(evidence, summary)
  return {
    covered: true,
    headLength,
    following,
    instruction: instruction?.slice ?? null,
    foreignFront: foreignFront.map((message) => message.slice),
    additions,
    isRetold: false,
    text: null,
    looksWarm: goesOnInLast || (sameStart && run === turns && instruction !== null && additions === null),
    goesOnInLast,
    sameStart,
  }
}

/** Whether the summary's last message says what the evidence's last one says, and then more. */
function goesOn(evidence: ChatRequest, summary: ChatRequest): boolean {
  const [ours, theirs] = [evidence, summary].map(({ messages }) => messages.at(-1)!) as [Message, Message]
  const said = textInsides(evidence.body, ours.slice)
  const says = textInsides(summary.body, theirs.slice)
  return ours.role === 'user' && theirs.role === 'user' && said !== null && says !== null && said.length > 0 && said.length < says.length &&
    said.every((text, i) => text.equals(says[i]!))
}

/** How many turns two requests share from the first on: byte for byte, but for blocks of the agent's in the first. */
function sharedTurns(evidence: ChatRequest, summary: ChatRequest): { run: number, additions: readonly Buffer[] | null } {
  const shared = (from: number): number =>
    sharedLead(evidence, evidence.frontLength + from, evidence.messages.length, summary, summary.frontLength + from, summary.messages.length)
  const run = shared(0)
  if (run > 0) return { run, additions: null }
  const behind = shared(1)
  const additions = additionsToFirst(evidence, summary, behind)
  return additions ? { run: 1 + behind, additions } : { run: 0, additions: null }
}

/** How many messages two requests share from two positions on, byte for byte. */
function sharedLead(a: ChatRequest, from: number, to: number, b: ChatRequest, at: number, end: number): number {
  let shared = 0
  while (from + shared < to && at + shared < end &&
    sameBytes(a.body, a.messages[from + shared]!.slice, b.body, b.messages[at + shared]!.slice)) shared++
  return shared
}

/** Whether the summary's first turn stands somewhere behind the evidence's first. */
function startsLater(evidence: ChatRequest, summary: ChatRequest): boolean {
  const first = summary.messages[summary.frontLength]
  return first !== undefined &&
    evidence.messages.slice(evidence.frontLength + 1).some((message) => sameBytes(evidence.body, message.slice, summary.body, first.slice))
}

/** Left out and empty tools are inherited; others must be the conversation's, byte for byte and in order. */
export function compareTools(evidence: ChatRequest, summary: ChatRequest, foreignTool = false): 'same' | 'left-out' | 'other' {
  const ours = evidence.tools ?? []
  const theirs = summary.tools ?? []
  if (theirs.length === 0) return ours.length === 0 ? 'same' : 'left-out'
  const isOurs = (tool: Slice, their: Slice): boolean => sameBytes(evidence.body, tool, summary.body, their)
  if (ours.length === theirs.length && ours.every((tool, i) => isOurs(tool, theirs[i]!))) return 'same'
  return foreignTool && theirs.length === 1 && !ours.some((tool) => isOurs(tool, theirs[0]!)) ? 'left-out' : 'other'
}
