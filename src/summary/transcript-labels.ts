// What in a transcript is a label and says nothing: `[User]: `, `### Tool result: name (id)`, `</message>`, marks of a
// cut. Words alone make no label, they must stand as one; when in doubt it is text and is kept.

import type { LearnedLabels } from './learned-labels.ts'
import { wordsOf } from './transcript-pieces.ts'

/** What labels the pieces around a place, beside the words that label anything. */
export interface Labels {
  /** Names and ids of their calls, names of the arguments. */
  readonly words: ReadonlySet<string>
  /** What was learned of the transcript itself. */
  readonly learned: LearnedLabels
}

const labelWords = new Set(('user human assistant ai bot model tool tools toolmessage aimessage humanmessage systemmessage result results ' +
  'response output call calls function name id uuid index message messages from role content contents type args arguments input text thinking ' +
  'reasoning thought truncated cut more characters chars bytes omitted elided hidden line lines tokens system event action observation xml json ' +
  'mode act additional kwargs metadata status success').split(' '))

/** Longest gap that can be a label, in characters. */
const longestLabel = 400

/** Words in a row, with what joins them in a label. */
const wordRuns = /[\p{L}\p{N}_]+(?:[ \t.-]+[\p{L}\p{N}_]+)*/gu
const maxWordsInARow = 8

/** Whether a stretch of a transcript is made of labels alone. */
export function isLabel(gap: string, { words, learned }: Labels): boolean {
  if (gap.length > longestLabel) return false
  const plain = withoutEscapes(learned.without(gap))
  return [...plain.matchAll(wordRuns)].every((run) => isLabelRun(plain, run, words))
}

/** Whether what follows a position is white space and then a label: a text that ends there was cut, or is over. */
export function labelFollows(transcript: string, at: number, { words, learned }: Labels): boolean {
  const behind = transcript.slice(at, at + longestLabel)
  if (learned.leads(behind)) return true
  const plain = withoutEscapes(behind).trimStart()
  const line = plain.slice(0, plain.search(/\n|$/))
  const [run] = line.matchAll(wordRuns)
  return run === undefined ? !/[\p{L}\p{N}]/u.test(line) : isLabelRun(line, run, words)
}

/** Escaped line ends and quotes as what they are; times and long random ids away. */
function withoutEscapes(gap: string): string {
  return gap
    .replace(/(\\)+[nrt]/g, '\n')
    .replace(/&(?:lt|gt|amp|quot|apos|#x?[0-9a-f]+);/gi, '"')
    .replace(/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?/g, '')
    .replace(/\b(?:[a-z]+-+)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:-\d+)?\b/gi, '')
}

function isLabelRun(text: string, run: RegExpExecArray, ofPieces: ReadonlySet<string>): boolean {
  const before = text.slice(Math.max(0, run.index - 32), run.index)
  const after = text.slice(run.index + run[0].length, run.index + run[0].length + 4).trimStart()
  const words = wordsOf(run[0])
  // A number alone is a label only in front of a list's item.
  if (words.length === 0) return /(?:^|\n)\s*$/.test(before) && /^[.)]/.test(after)
  const known = words.length <= maxWordsInARow && words.every((word) => labelWords.has(word) || ofPieces.has(word))
  return known && (marksBehind.test(after) || marksBefore.test(before) || isLabelled(before, words, ofPieces))
}

/** What makes a label of the words around which it stands. */
const marksBehind = /^(?:[:=>\](){"'*,…]|\.\.)/
const marksBefore = /(?:[[\]<>({#*/"'=…]|["']\s*:|\.\.|--)\s*$/

/** `Role: user`, `Action: read_file`: a name behind a label of one word. */
function isLabelled(before: string, words: readonly string[], ofPieces: ReadonlySet<string>): boolean {
  const label = /([\p{L}_]+)\s*[:=]\s*$/u.exec(before)?.[1]
  if (label === undefined || !wordsOf(label).every((word) => labelWords.has(word))) return false
  return /^(?:role|type|name|id)$/i.test(label) || words.every((word) => ofPieces.has(word))
}
