// Aligns a flattened transcript with the recorded messages, one after the other, from the first. Claims only what it
// finds, in order and close together; what stands between is kept for the directive unless it is a label. Its time
// grows linearly with the text: every search looks at a bounded stretch behind the last match.

import type { ChatRequest } from '../wire/chat-request.ts'
import { forms, piecesOf, wordsOf, type Piece } from './transcript-pieces.ts'

export interface Alignment {
  /** For every aligned message behind the system text: where its part of the transcript ends. */
  readonly ends: readonly number[]
  /** Where the first aligned message starts. */
  readonly start: number
  /** What stands between matches and is no label, with the number of messages aligned before it. */
  readonly extras: readonly { readonly text: string, readonly after: number }[]
}

/** Longest text between two matches, in characters: labels, notes of the agent's own, a reminder. */
const maxGap = 2000
/** How much of a text must match before its cut is believed, in characters. */
const minBeginning = 48
/** Longest text between a call's name and its values, in characters: the names of its arguments, braces, quotes. */
const maxInside = 200
/** Occurrences of the first message that are tried. */
const maxStarts = 4

/** @returns null where the first recorded message stands nowhere in the text */
export function align(transcript: string, evidence: ChatRequest): Alignment | null {
  const messages = evidence.messages.slice(evidence.frontLength).map((message) => piecesOf(evidence, message))
  const first = messages[0]?.find(({ kind }) => kind === 'text')
  if (!first) return null
  let best: Alignment | null = null
  let from = 0
  for (let attempt = 0; attempt < maxStarts; attempt++) {
    const found = earliest(transcript, first, from, transcript.length)
    if (!found) break
    const alignment = alignFrom(transcript, messages, found.start)
    if (!best || alignment.ends.length > best.ends.length) best = alignment
    // A second message makes it the conversation's beginning, not a word that occurs again.
    if (best.ends.length > 1 || messages.length === 1) break
    from = found.start + 1
  }
  return best && best.ends.length > 0 ? best : null
}

interface Match {
  readonly start: number
  readonly end: number
  /** What stands inside and is no part of the piece. */
  readonly inside: readonly string[]
}

function alignFrom(transcript: string, messages: readonly (readonly Piece[])[], start: number): Alignment {
  const ends: number[] = []
  const extras: { text: string, after: number }[] = []
  let at = start
  /** Calls that the transcript does not show: their results must stand for them. */
  const unshown = new Set<string>()
  for (const pieces of messages) {
    const found = matchMessage(transcript, pieces, at)
    const missed = pieces.filter((piece) => !found.pieces.includes(piece))
    for (const { kind, callId } of missed) if (kind === 'call') unshown.add(callId!)
    const skipped = missed.some(({ kind, callId }) => kind === 'text' || (kind === 'result' && unshown.has(callId!)))
    if (skipped) break
    for (const text of found.extras) extras.push({ text, after: ends.length })
    at = found.end
    ends.push(at)
  }
  return { ends, start, extras }
}

/** Takes the pieces of a message in whatever order the transcript has them. */
function matchMessage(transcript: string, pieces: readonly Piece[], from: number): { pieces: Piece[], end: number, extras: string[] } {
  const matched: Piece[] = []
  const gaps: string[] = []
  let left = pieces
  let end = from
  for (;;) {
    const next = nearest(transcript, left, end)
    if (!next) break
    gaps.push(transcript.slice(end, next.match.start), ...next.match.inside)
    end = next.match.end
    matched.push(next.piece)
    left = left.filter((piece) => piece !== next.piece)
  }
  const labels = new Set(pieces.flatMap((piece) => piece.labels))
  return { pieces: matched, end, extras: gaps.filter((text) => !isLabel(text, labels)) }
}

/** Among the pieces that are left, the one that stands first behind a position. */
function nearest(transcript: string, pieces: readonly Piece[], at: number): { piece: Piece, match: Match } | null {
  let best: { piece: Piece, match: Match } | null = null
  for (const piece of pieces) {
    const match = earliest(transcript, piece, at, at + maxGap)
    if (match && (!best || match.start < best.match.start)) best = { piece, match }
  }
  return best
}

/** The first place where a piece stands, in whichever form. @param limit where it must have started */
function earliest(transcript: string, piece: Piece, from: number, limit: number): Match | null {
  if (piece.kind === 'call') return callAt(transcript, piece, from, limit)
  return textAt(transcript, piece.texts[0]!, piece.kind !== 'text', from, limit)
}

function textAt(transcript: string, text: string, mayBeCut: boolean, from: number, limit: number): Match | null {
  let best: Match | null = null
  let previous: string | null = null
  for (const form of forms) {
    const beginning = form(text.slice(0, minBeginning))
    if (beginning === previous) continue
    previous = beginning
    const start = indexWithin(transcript, beginning, from, limit)
    if (start < 0 || (best && best.start <= start)) continue
    const whole = form(text)
    if (transcript.startsWith(whole, start)) best = { start, end: start + whole.length, inside: [] }
    else if (mayBeCut && text.length > minBeginning) best = { start, end: start + sharedLength(transcript, start, whole), inside: [] }
  }
  return best
}

/** A call: its name as a word, and close behind it each of its values, at least their beginnings. */
function callAt(transcript: string, { texts }: Piece, from: number, limit: number): Match | null {
  const [name, ...values] = texts as [string, ...string[]]
  for (let start = indexWithin(transcript, name, from, limit); start >= 0; start = indexWithin(transcript, name, start + 1, limit)) {
    if (isWordCharacter(transcript[start - 1]) || isWordCharacter(transcript[start + name.length])) continue
    const inside: string[] = []
    let end = start + name.length
    const shown = values.every((value) => {
      const match = textAt(transcript, value, true, end, end + maxInside)
      if (!match) return false
      inside.push(transcript.slice(end, match.start))
      end = match.end
      return true
    })
    if (shown) return { start, end, inside }
  }
  return null
}

function isWordCharacter(character: string | undefined): boolean {
  return character !== undefined && /[\p{L}\p{N}_]/u.test(character)
}

/** indexOf that gives up behind a limit: what makes the whole linear. */
function indexWithin(text: string, sought: string, from: number, limit: number): number {
  if (limit >= text.length) return text.indexOf(sought, from)
  const found = text.slice(from, limit + sought.length).indexOf(sought)
  return found < 0 ? -1 : from + found
}

function sharedLength(text: string, at: number, other: string): number {
  let shared = 0
  for (let step = 1 << 12; step >= 1; step >>= 2) {
    while (shared + step <= other.length && text.startsWith(other.slice(shared, shared + step), at + shared)) shared += step
  }
  return shared
}

/** Words that label a transcript's segments and mark its cuts; a gap of nothing else says nothing. */
const labelWords = new Set(('user human assistant ai bot model tool tools result results response output call calls function name id ' +
  'message messages role content type args arguments input text thinking reasoning thought truncated more characters chars ' +
  'omitted lines tokens system event action observation xml json mode act plan of the').split(' '))

function isLabel(gap: string, ofPieces: ReadonlySet<string>): boolean {
  return gap.length <= 400 && wordsOf(gap).every((word) => labelWords.has(word) || ofPieces.has(word) || word.length === 1)
}
