// Labels that no table knows, learned from the transcript itself: the name of the agent, a word of another language. What
// stands in front of several different messages of one kind, at the beginning of a line, is a label and no text.

import type { ChatRequest } from '../wire/chat-request.ts'
import { indexWithin } from './text-search.ts'
import { beginningsOf, callNames, telling, unitAt, type Piece } from './transcript-pieces.ts'

/** Messages that are looked at: a label shows early, and searches for what is not there take time. */
const maxUnits = 32
const maxPieces = 4
/** How far behind the last one a message is looked for, in characters. */
const reach = 128 * 1024
/** Places that are tried for one message. */
const maxPlaces = 4
/** Longest label, in characters. */
const longest = 80
/** Fewest different messages behind a label, and how many characters they must have together. */
const fewest = 2
const tellingTogether = telling

/** A label ends in a mark. */
const ending = /[:\]>)}*|=—-]["'`]?[ \t]*$/

/** Stands in a stretch for a label: what is around it does not become neighbours. */
const mark = '\u0000'

/** Stands in a label for the name of the call that a result answers: the name of any call of the conversation. */
const anyName = '\u0000'

export class LearnedLabels {
  readonly isEmpty: boolean
  /** Any of them, behind a line's end. */
  readonly #any: RegExp
  /** Each with what it looks like there. */
  readonly #each: readonly { readonly label: string, readonly looks: RegExp }[]

  /**
   * @param labels each from a line's beginning on
   * @param names of the conversation's calls
   */
  constructor(labels: readonly string[], names: ReadonlySet<string> = new Set()) {
    const oneOfThem = `(?:${[...names].sort((a, b) => b.length - a.length).map(inRegExp).join('|')})`
    const sources = labels.map((label) => inRegExp(label).replaceAll(anyName, () => oneOfThem))
    this.isEmpty = labels.length === 0
    this.#any = new RegExp(this.isEmpty ? '(?!)' : `(?<=\\n)(?:${[...sources].sort((a, b) => b.length - a.length).join('|')})`, 'gu')
    this.#each = labels.map((label, i) => ({ label: label.replaceAll(anyName, '…'), looks: new RegExp(`(?<=\\n)${sources[i]}`, 'u') }))
  }

  /** A stretch of a transcript with a mark in the place of each. */
  without(stretch: string): string {
    return this.isEmpty ? stretch : stretch.replace(this.#any, mark)
  }

  /** Those that stand in a stretch of a transcript. */
  in(stretch: string): string[] {
    return this.#each.filter(({ looks }) => looks.test(stretch)).map(({ label }) => label)
  }

  /** Whether the next line of a text begins with one. */
  leads(text: string): boolean {
    const line = this.isEmpty ? undefined : /^[ \t]*\n\s*/.exec(text)?.[0].length
    return line !== undefined && this.#each.some(({ looks }) => looks.exec(text)?.index === line)
  }
}

/** What stands in front of messages of one kind, and behind it. */
interface Candidate {
  readonly kind: string
  readonly label: string
  readonly texts: Set<string>
}

/** Learns the labels of a transcript: one for each kind of message, none where the messages of a kind have several. */
export function learnLabels(transcript: string, evidence: ChatRequest): LearnedLabels {
  const candidates = new Map<string, Candidate>()
  let at = 0
  let index = evidence.frontLength
  for (let unit = 0; unit < maxUnits && index < evidence.messages.length; unit++) {
    const { pieces, to } = unitAt(evidence, index)
    const { role } = evidence.messages[index]!
    for (const piece of pieces.slice(0, maxPieces)) {
      const place = placeOf(transcript, piece, at)
      if (!place) continue
      at = place.end
      const kind = `${role} ${piece.kind}`
      const label = piece.answers ? place.label.replace(asWord(piece.answers.texts[0]!), anyName) : place.label
      const key = `${kind}\n${label}`
      const candidate = candidates.get(key) ?? { kind, label, texts: new Set() }
      candidate.texts.add(piece.texts.join(' '))
      candidates.set(key, candidate)
    }
    index = to
  }
  const proven = [...candidates.values()].filter(({ texts }) => texts.size >= fewest && [...texts].reduce((sum, text) => sum + text.length, 0) >= tellingTogether)
  const labels = proven.filter(({ kind }) => [...candidates.values()].filter((other) => other.kind === kind).length === 1).map(({ label }) => label)
  return new LearnedLabels(labels, labels.some((label) => label.includes(anyName)) ? callNames(evidence) : undefined)
}

function inRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}

function asWord(text: string): RegExp {
  return new RegExp(`(?<![\\p{L}\\p{N}_])${inRegExp(text)}(?![\\p{L}\\p{N}_])`, 'u')
}

/** The first place where a piece stands behind what may be a label. */
function placeOf(transcript: string, piece: Piece, from: number): { label: string, end: number } | null {
  const [text] = piece.texts as [string]
  for (const beginning of beginningsOf(piece, 0).keys()) {
    let start = indexWithin(transcript, beginning, from, from + reach)
    for (let tries = 0; start >= 0 && tries < maxPlaces; tries++, start = indexWithin(transcript, beginning, start + 1, from + reach)) {
      const end = start + beginning.length
      // A short text alone on its line; a call's name with its values close behind.
      const stands = piece.kind === 'call' ? piece.texts.length > 1 && [...beginningsOf(piece, 1).keys()].some((value) => indexWithin(transcript, value, end, end + longest) >= 0)
        : text.length > telling || /^[ \t]*(?:\n|$)/.test(transcript.slice(end, end + 8))
      const label = stands ? labelBefore(transcript, start) : null
      if (label !== null) return { label, end }
    }
  }
  return null
}

/** The line in front of a position, or the one above where that is empty; null where it cannot be a label. */
function labelBefore(transcript: string, at: number): string | null {
  const line = transcript.lastIndexOf('\n', at - 1) + 1
  const isAbove = transcript.slice(line, at).trim() === ''
  const from = isAbove && line > 0 ? transcript.lastIndexOf('\n', line - 2) + 1 : line
  const label = transcript.slice(from, at)
  if (label.length > longest || !/\p{L}/u.test(label)) return null
  return ending.test(label.trimEnd()) || (isAbove && /^\s*[#*<[(=-]/.test(label)) ? label : null
}
