// Aligns a flattened transcript with the recorded messages, tool group by tool group, from the first. Claims only what
// it finds, in order and close together; what stands between is kept for the directive unless it is a label. Its time
// grows linearly with the text: every search looks at a bounded stretch behind the last match.

import type { ChatRequest } from '../wire/chat-request.ts'
import { earlierSummary } from './earlier-summary.ts'
import { LearnedLabels, learnLabels } from './learned-labels.ts'
import { indexWithin, isInsideWord, sharedEnd, sharedLength } from './text-search.ts'
import { isLabel, labelFollows, shapeOf, type Labels } from './transcript-labels.ts'
import { beginningsOf, forms, telling, unitAt, type Piece, type Unit } from './transcript-pieces.ts'

export interface Alignment {
  /** Where the first aligned message starts. */
  readonly start: number
  /** For every aligned message behind the system text: where its part of the transcript ends. */
  readonly ends: readonly number[]
  /** How many messages were found, those not counted of which a transcript shows nothing. */
  readonly found: number
  /** What stands between matches and is no label, with the number of messages aligned before it. */
  readonly extras: readonly { readonly text: string, readonly after: number }[]
}

/** Longest text between two matches, in characters: labels, notes of the agent's own, reasoning that was not recorded. */
const maxGap = 2000
/** The same for the values of a call together, whose name and order tell too. */
const tellingValues = 24
/** Longest text between a call's name and its values, in characters: the names of its arguments, braces, quotes. */
const maxInside = 200
/** Places that are tried for one piece. */
const maxPlaces = 8
/** Places that are tried for the first message, which may stand in the agent's instruction too. */
const maxStarts = 4
/** Pieces that may come before their turn: results between the calls of one message. */
const maxAhead = 16

/** @returns null where the conversation's beginning does not stand in the text */
export function align(transcript: string, evidence: ChatRequest): Alignment | null {
  const plain = alignWith(transcript, evidence, none)
  if (plain && plain.extras.length === 0 && plain.ends.length === evidence.messages.length - evidence.frontLength) return plain
  const learned = learnLabels(transcript, evidence)
  const better = learned.isEmpty ? null : alignWith(transcript, evidence, learned)
  return better && better.found >= (plain?.found ?? 0) ? better : plain
}

const none = new LearnedLabels([])

function alignWith(transcript: string, evidence: ChatRequest, learned: LearnedLabels): Alignment | null {
  const whole = alignBehind(transcript, evidence, 0, learned)
  if (whole) return whole
  const earlier = earlierSummary(transcript, evidence)
  const behind = earlier && alignBehind(transcript, evidence, earlier.lead, learned)
  // Where the summary is the transcript's first segment, the transcript skips what was said before it.
  const isSegment = earlier && behind && earlier.end <= behind.start && isLabel(transcript.slice(earlier.end, behind.start), { words: new Set(), learned })
  return isSegment ? null : behind
}

/** @param lead messages behind the system text that need not stand in the transcript */
function alignBehind(transcript: string, evidence: ChatRequest, lead: number, learned: LearnedLabels): Alignment | null {
  const firstIndex = evidence.frontLength + lead
  if (firstIndex >= evidence.messages.length) return null
  const { pieces, labels: words } = unitAt(evidence, firstIndex)
  const first = pieces.find(({ kind }) => kind === 'text') ?? (lead > 0 ? pieces[0] : undefined)
  if (!first) return null
  let best: Alignment | null = null
  let from = 0
  for (let attempt = 0; attempt < maxStarts; attempt++) {
    const found = matchOf(transcript, first, { from, limit: transcript.length, labels: { words, learned }, isFirst: true })
    if (!found) break
    const alignment = alignFrom(transcript, evidence, firstIndex, found.start, learned)
    if (!best || alignment.found > best.found) best = alignment
    from = found.start + 1
  }
  // A second message makes it the conversation's beginning, not words that occur again.
  if (!best || best.found < Math.min(2, evidence.messages.length - firstIndex)) return null
  return {
    ...best,
    ends: [...Array<number>(lead).fill(best.start), ...best.ends],
    extras: best.extras.map(({ text, after }) => ({ text, after: after + lead })),
  }
}

/** What was claimed of a unit, and whether its claim rests on results that the transcript leaves blank. */
interface Claim {
  readonly unit: Unit
  readonly end: number
  readonly found: boolean
  readonly blank: boolean
  readonly gaps: readonly Gap[]
}

/** What stands in front of a match. */
interface Gap {
  readonly text: string
  readonly shape: string
  readonly labels: Labels
}

function alignFrom(transcript: string, evidence: ChatRequest, firstIndex: number, start: number, learned: LearnedLabels): Alignment {
  const claims: Claim[] = []
  let at = start
  let words: ReadonlySet<string> = new Set()
  for (let index = firstIndex; index < evidence.messages.length;) {
    const unit = unitAt(evidence, index)
    const around: Labels = { words: new Set([...words, ...unit.labels]), learned }
    const match = matchUnit(transcript, unit, at, around)
    if (!match) break
    const { matched, end, gaps } = match
    // Where results are blank, nothing but labels stands between a call and what follows, and no result of another call.
    if (matched && claims.findLast(({ found }) => found)?.blank && (match.first === 'result' || !isLabel(gaps[0]!, plainly(around)))) break
    claims.push({ unit, end, found: matched, blank: match.blank, gaps: gaps.map((text) => ({ text, shape: shapeOf(text, around), labels: around })) })
    index = unit.to
    at = end
    words = matched ? unit.labels : around.words
  }
  dropUnproven(transcript, claims)
  const ends = claims.flatMap(({ unit, end }) => Array<number>(unit.to - unit.from).fill(end))
  const shapes = Map.groupBy(claims.flatMap(({ gaps }) => gaps), ({ shape }) => shape)
  const told = new Set<string>()
  const extras = claims.flatMap(({ unit, gaps }) => gaps.flatMap((gap) =>
    worthKeeping(gap, shapes.get(gap.shape)!.length > 1, told).map((text) => ({ text, after: unit.from - firstIndex }))))
  return { start, ends, found: claims.reduce((sum, { unit, found }) => sum + (found ? unit.to - unit.from : 0), 0), extras }
}

/** Without what was learned: what stands where a result should may come again and again, and say that it is withheld. */
function plainly({ words }: Labels): Labels {
  return { words, learned: none }
}

/** Words on several lines. */
const hasLines = /[\p{L}\p{N}].*\n[^]*[\p{L}\p{N}]/u

/**
 * What a gap says: nothing where it is a label, and a label of the agent's own is kept where it stands first. What has the
 * lines of several labels and stands in one place alone is a message that says what a label says.
 */
function worthKeeping({ text: gap, labels }: Gap, comesAgain: boolean, told: Set<string>): string[] {
  if (!isLabel(gap, labels) || (!comesAgain && hasLines.test(gap))) return [gap]
  if (isLabel(gap, plainly(labels))) return []
  const news = labels.learned.in(gap).filter((label) => !told.has(label))
  for (const label of news) told.add(label)
  return news
}

/** Nothing proves the last messages where nothing of them was found, nor blank results where something else follows. */
function dropUnproven(transcript: string, claims: Claim[]): void {
  const dropUnfound = (): void => {
    while (claims.length > 0 && !claims.at(-1)!.found) claims.pop()
  }
  dropUnfound()
  const last = claims.at(-1)
  if (!last?.blank || isLabel(transcript.slice(last.end), { words: last.unit.labels, learned: none })) return
  claims.pop()
  dropUnfound()
}

interface Match {
  readonly start: number
  readonly end: number
  /** What stands inside and is no part of the piece. */
  readonly inside: readonly string[]
}

/** Where a piece may start, and what may stand in front of it. */
interface Place {
  readonly from: number
  readonly limit: number
  /** What labels the pieces around. */
  readonly labels: Labels
  /** The first piece of all: anything may stand in front. */
  readonly isFirst?: boolean
}

/**
 * Takes the pieces of a unit in whatever order the transcript has them.
 * @returns null where the transcript skips it
 */
function matchUnit(transcript: string, unit: Unit, from: number, labels: Labels): { matched: boolean, first: Piece['kind'] | undefined, blank: boolean, end: number, gaps: string[] } | null {
  const gaps: string[] = []
  const taken = new Set<Piece>()
  /** Matches that telling text made: they stay while the position moves up to them. */
  const known = new Map<Piece, Match>()
  const left = [...unit.pieces]
  let end = from
  for (;;) {
    let next: { piece: Piece, match: Match } | null = null
    for (const piece of left.slice(0, maxAhead)) {
      const remembered = known.get(piece)
      const match = remembered && remembered.start >= end ? remembered : matchOf(transcript, piece, { from: end, limit: end + maxGap, labels })
      if (match && isTelling(piece)) known.set(piece, match)
      if (match && (!next || match.start < next.match.start)) next = { piece, match }
    }
    if (!next) break
    const { piece, match } = next
    gaps.push(transcript.slice(end, match.start), ...match.inside)
    end = match.end
    taken.add(piece)
    left.splice(left.indexOf(piece), 1)
  }
  const blank = left.some(({ kind }) => kind === 'result')
  const skips = left.some((piece) => piece.kind === 'text' ||
    // A call that is not shown is there by its result, a result that is not shown by its call.
    (piece.kind === 'result' && !(piece.answers && taken.has(piece.answers))))
  if (skips || (blank && gaps.slice(1).some((gap) => !isLabel(gap, plainly(labels))))) return null
  const [first] = taken
  return { matched: taken.size > 0, first: first?.kind, blank, end, gaps }
}

/** The first place where a piece stands, in whichever form. */
function matchOf(transcript: string, piece: Piece, place: Place): Match | null {
  if (piece.kind === 'call') return callAt(transcript, piece, place)
  const mayBeCut = piece.kind !== 'text'
  return textAt(transcript, piece, 0, mayBeCut, isTelling(piece) ? 'telling' : 'short', place)
}

/** Whether a piece stands for itself; any other must follow a label. */
function isTelling({ kind, texts }: Piece): boolean {
  return kind === 'call' ? texts.slice(1).reduce((sum, text) => sum + text.length, 0) >= tellingValues : texts[0]!.length >= telling
}

/** What a text is to its surroundings: it tells enough alone, it must follow a label, it is a value of a call. */
type Weight = 'telling' | 'short' | 'value'

/** @param index which text of the piece */
function textAt(transcript: string, piece: Piece, index: number, mayBeCut: boolean, weight: Weight, place: Place): Match | null {
  const text = piece.texts[index]!
  let best: Match | null = null
  for (const [beginning, written] of beginningsOf(piece, index)) {
    const limit = (): number => (best ? best.start - 1 : place.limit)
    let start = indexWithin(transcript, beginning, place.from, limit())
    for (let tries = 0; start >= 0 && tries < maxPlaces; tries++, start = indexWithin(transcript, beginning, start + 1, limit())) {
      const match = matchAt(transcript, text, written, start, mayBeCut && text.length > telling, place)
      if (!match || !isInPlace(transcript, match, weight, place)) continue
      best = match
      break
    }
  }
  if (best || !mayBeCut || weight !== 'telling') return best
  return endAt(transcript, text, place) ?? endAt(transcript, forms[1]!(text, text), place)
}

/** @param written forms that begin as the place does */
function matchAt(transcript: string, text: string, written: readonly (typeof forms)[number][], start: number, mayBeCut: boolean, { labels }: Place): Match | null {
  let cut = { whole: '', length: -1 }
  for (const form of written) {
    const whole = form(text, text)
    if (transcript.startsWith(whole, start)) return { start, end: start + whole.length, inside: [] }
    const length = mayBeCut ? sharedLength(transcript, start, whole) : -1
    if (length > cut.length) cut = { whole, length }
  }
  if (!mayBeCut) return null
  const end = start + cut.length
  // Cut in the middle: the end stands behind the mark.
  const rest = endAt(transcript, cut.whole.slice(cut.length), { from: end, limit: end + maxInside, labels })
  if (rest) return { start, end: rest.end, inside: [transcript.slice(end, rest.start)] }
  return labelFollows(transcript, end, labels) ? { start, end, inside: [] } : null
}

/** Where the end of a text stands whose beginning was cut off: a label in front of it, and of the text as much as matches. */
function endAt(transcript: string, whole: string, { from, limit, labels, isFirst }: Place): Match | null {
  if (whole.length < telling || isFirst) return null
  const ending = whole.slice(-telling)
  const found = indexWithin(transcript, ending, from, limit + whole.length)
  if (found < 0) return null
  const end = found + telling
  const start = Math.max(from, end - sharedEnd(transcript, end, whole))
  return start <= limit && isLabel(transcript.slice(from, start), labels) ? { start, end, inside: [] } : null
}

/** A short text says little: a label in front of it and a line's end behind it tell it from the same word elsewhere. */
function isInPlace(transcript: string, { start, end }: Match, weight: Weight, { from, labels, isFirst }: Place): boolean {
  if (isInsideWord(transcript, start) || isInsideWord(transcript, end)) return false
  if (weight !== 'short') return true
  return /(?:^|[\n:,>"'\])*=]|\\n)[ \t]*$/.test(transcript.slice(Math.max(0, start - 8), start)) &&
    (/^[ \t.]*(?:$|[\n<"'[\]})]|\\n|&lt;)/.test(transcript.slice(end, end + 8)) || labelFollows(transcript, end, labels)) &&
    (isFirst || isLabel(transcript.slice(from, start), labels))
}

/** A call: its name as a word, and close behind it each of its values, at least their beginnings, with labels between. */
function callAt(transcript: string, piece: Piece, { from, limit, labels, isFirst }: Place): Match | null {
  const [name, ...values] = piece.texts as [string, ...string[]]
  let start = indexWithin(transcript, name, from, limit)
  for (let tries = 0; start >= 0 && tries < maxPlaces; tries++, start = indexWithin(transcript, name, start + 1, limit)) {
    if (isInsideWord(transcript, start) || isInsideWord(transcript, start + name.length)) continue
    if (!isFirst && !isTelling(piece) && !isLabel(`${transcript.slice(from, start)}(`, labels)) return null
    const inside: string[] = []
    let end = start + name.length
    const shown = values.every((_, i) => {
      const match = textAt(transcript, piece, i + 1, true, 'value', { from: end, limit: end + maxInside, labels })
      if (!match) return false
      const before = transcript.slice(end, match.start)
      if (!isLabel(`(${before}`, labels)) return false
      end = match.end
      inside.push(before, ...match.inside)
      return true
    })
    if (shown) return { start, end, inside }
  }
  return null
}
