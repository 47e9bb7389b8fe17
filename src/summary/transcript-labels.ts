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

const setOf = (words: string): ReadonlySet<string> => new Set(words.split(' '))

const roles = 'user human assistant ai bot model tool tools toolmessage aimessage humanmessage systemmessage system event action observation'
/** What names what a message or a tool says: what stands behind it in quotes or tags is no label. */
const contents = 'content contents text output input result results response thinking reasoning thought message messages'
const cuts = 'truncated cut omitted elided hidden'
const labelWords = setOf(`${roles} ${contents} ${cuts} call calls function name id uuid index from role type args arguments ` +
  'more characters chars bytes line lines tokens xml json mode act additional kwargs metadata status success')
const contentWords = setOf(`${roles} ${contents}`)
const cutWords = setOf(cuts)
/** What a tag has around the name of a call. */
const callTags = setOf('tool function action call calls event')
/** What the name of a call may stand behind. */
const namesCalls = setOf('tool tools call calls function action observation event name id type from')
/** What a tag or an object says of itself, and not of what was said. */
const attributes = /^(?:role|type|name|id|key|status|mode)$/

/** Longest gap that can be a label, in characters. */
const longestLabel = 400

/** Words in a row, with what joins them in a label. */
const wordRuns = /[\p{L}\p{N}_]+(?:[ \t.-]+[\p{L}\p{N}_]+)*/gu
const maxWordsInARow = 8

/** Whether a stretch of a transcript is made of labels alone. */
export function isLabel(gap: string, { words, learned }: Labels): boolean {
  if (gap.length > longestLabel) return false
  const plain = withoutEscapes(learned.without(gap))
  if (saysInSymbols(plain) || hasContent(plain)) return false
  return [...plain.matchAll(wordRuns)].every((run) => isLabelRun(plain, run, words))
}

/** What gaps between messages of the same kinds have in common. */
export function shapeOf(gap: string, { words }: Labels): string {
  return withoutEscapes(gap).replace(/[\p{L}\p{N}_-]+/gu, (word) => (wordsOf(word).every((part) => words.has(part)) ? '0' : word))
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

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&' }

/** Escaped line ends and quotes as what they are; times and long random ids away. */
function withoutEscapes(gap: string): string {
  return gap
    .replace(/\\+[nrt]/g, '\n')
    .replace(/&(lt|gt|amp|quot|apos|#x?[0-9a-f]+);/gi, (_, entity: string) => entities[entity.toLowerCase()] ?? '"')
    .replace(/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?/g, '')
    .replace(/\b(?:[a-z]+-+)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:-\d+)?\b/gi, '')
}

/** Symbols that rules, arrows and brackets are made of are marks; pictures, and what asks or calls out, are text. */
const symbols = /[\p{Extended_Pictographic}\p{Regional_Indicator}\p{Sc}]|[?!？！]|(?![$+<=>^`|~\u2190-\u21ff\u2500-\u25ff])\p{S}/gu

function saysInSymbols(plain: string): boolean {
  return [...plain.matchAll(symbols)].some(({ 0: symbol, index }) => {
    const before = plain.slice(Math.max(0, index - 16), index)
    const after = plain.slice(index + symbol.length, index + symbol.length + 16)
    if (/[?!]/.test(symbol)) return !(before.endsWith('<') || (symbol === '?' && after.startsWith('>')) || (symbol === '!' && after.startsWith('[')))
    // A picture in front of a label: `🤖 Assistant: `.
    return !(/(?:^|\n)[ \t#*[<(-]*$/.test(before) && /^[\p{M}\u200d]*[ \t]*\p{L}/u.test(after))
  })
}

/** `"content": "…"`, `content='…'`: what a message or a tool says, as a whole. */
const quoted = /([\p{L}_]+)(?:\\*["'])?\s*[:=]\s*(\\*["'])([^]*?)\2/gu

function hasContent(plain: string): boolean {
  if (!/["']/.test(plain)) return false
  return [...plain.matchAll(quoted)].some(([, key, , value]) => isContentKey(key!) && value!.trim() !== '' && !isCutMark(value!))
}

function isContentKey(key: string): boolean {
  return contentWords.has(wordsOf(key).at(-1)!)
}

/** `[output omitted]`, `... 12 more characters truncated`. */
function isCutMark(text: string): boolean {
  const words = wordsOf(text)
  return words.every((word) => labelWords.has(word)) && words.some((word) => cutWords.has(word))
}

function isLabelRun(text: string, run: RegExpExecArray, ofPieces: ReadonlySet<string>): boolean {
  const before = text.slice(Math.max(0, run.index - 64), run.index)
  const behind = text.slice(run.index + run[0].length, run.index + run[0].length + 8)
  const after = behind.trimStart()
  const words = wordsOf(run[0])
  // A number alone is a label only in front of a list's item.
  if (words.length === 0) return /(?:^|\n)\s*$/.test(before) && /^[.)]/.test(after)
  const known = words.length <= maxWordsInARow && words.every((word) => labelWords.has(word) || ofPieces.has(word))
  return known && !isSaid(before, behind, words, ofPieces) && (marksBehind.test(after) || marksBefore.test(before) || isLabelled(before, words, ofPieces))
}

/** What makes a label of the words around which it stands. */
const marksBehind = /^(?:[:=>\](){"'*,…]|\.\.|\\+["'])/
const marksBefore = /(?:[[\]<>({#*/"'=…]|["']\s*:|\.\.|--)\s*$/

/** Whether words are what quotes or tags hold, and not what names it. */
function isSaid(before: string, behind: string, words: readonly string[], ofPieces: ReadonlySet<string>): boolean {
  const areOfPieces = words.every((word) => ofPieces.has(word))
  if (/^\\*["']/.test(behind)) {
    if (/^\\*["']\s*[:=]/.test(behind) || words.some((word) => cutWords.has(word))) return false
    if (!/["']$/.test(before)) return true
    const key = keyBefore(before)
    return key === undefined ? !areOfPieces : isContentKey(key)
  }
  if (/["']$/.test(before)) {
    const key = keyBefore(before)
    return key !== undefined && isContentKey(key) && !/^\s*[:=>\])({]/.test(behind)
  }
  if (/>\s*$/.test(before) && /^\s*<\//.test(behind)) {
    const tag = wordsOf(/<([\p{L}_-]+)[^<>]*>\s*$/u.exec(before)?.[1] ?? '').at(-1) ?? ''
    return !attributes.test(tag) && !(areOfPieces && callTags.has(tag))
  }
  return false
}

/** The name of the value that opens at the end of a text. */
function keyBefore(before: string): string | undefined {
  return /([\p{L}_]+)(?:\\*["'])?\s*[:=]\s*\\*["']$/u.exec(before)?.[1]
}

/** `Role: user`, `Action: read_file`: a name behind a label of one word. */
function isLabelled(before: string, words: readonly string[], ofPieces: ReadonlySet<string>): boolean {
  const label = /([\p{L}_]+)\s*[:=]\s*$/u.exec(before)?.[1]
  if (label === undefined || !wordsOf(label).every((word) => labelWords.has(word))) return false
  return /^(?:role|type|name|id)$/i.test(label) || (words.every((word) => ofPieces.has(word)) && namesCalls.has(wordsOf(label).at(-1)!))
}

