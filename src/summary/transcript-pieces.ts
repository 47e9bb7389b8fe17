// Takes recorded messages apart into the pieces that a transcript may show: texts, thinking, calls, results.

import { elementsOf, isNull, memberNamed, membersOf, skipSpace, stringAt, type Slice } from '../wire/json-slices.ts'
import { readText, stringMember, textParts, type ChatRequest, type Message } from '../wire/chat-request.ts'
import { beginningOf } from './text-search.ts'
import { splitThinking } from './thinking.ts'

/** A piece of a recorded message that is looked for in a transcript. */
export interface Piece {
  readonly kind: 'text' | 'thinking' | 'call' | 'result'
  /** For a call: its name, then its argument values in order. Else the text alone. */
  readonly texts: readonly string[]
  /** Of a result: the call of its unit that it answers, if one does. */
  readonly answers: Piece | null
}

/** What stands or falls together: a tool group, or any other message. */
export interface Unit {
  /** Messages that it has, by their index: `to` exclusive. */
  readonly from: number
  readonly to: number
  readonly pieces: readonly Piece[]
  /** Words that label its pieces wherever they are printed: names and ids of calls, names of their arguments. */
  readonly labels: ReadonlySet<string>
}

/** The unit that begins with a message, its pieces in the order of the messages. */
export function unitAt(request: ChatRequest, from: number): Unit {
  const { messages } = request
  let to = from + 1
  if (messages[from]!.callIds.length > 0) while (messages[to]?.role === 'tool') to++
  const pieces: Piece[] = []
  const labels = new Set<string>()
  const calls: { id: string, piece: Piece }[] = []
  for (let i = from; i < to; i++) addPieces(request, messages[i]!, pieces, labels, calls)
  return { from, to, pieces, labels }
}

function addPieces(request: ChatRequest, message: Message, pieces: Piece[], labels: Set<string>, calls: { id: string, piece: Piece }[]): void {
  const { body } = request
  const { role, slice, answers } = message
  const add = (kind: Piece['kind'], text: string, of: Piece | null = null): void => {
    if (text.trim() !== '') pieces.push({ kind, texts: [text.trim()], answers: of })
  }
  if (role === 'tool') {
    for (const word of wordsOf(answers ?? '')) labels.add(word)
    add('result', readText(body, slice), calls.find(({ id }) => id !== '' && id === answers)?.piece ?? calls.find(({ id }) => id === '')?.piece ?? null)
    return
  }
  if (role === 'assistant') add('thinking', stringMember(body, slice, 'reasoning') ?? stringMember(body, slice, 'reasoning_content') ?? '')
  for (const text of textParts(body, slice)) {
    // Thinking that no parser took out of the text; a transcript may leave it out.
    const { visible, open } = role === 'assistant' ? splitThinking(text, true) : { visible: text, open: false }
    if (!open && visible !== text) add('thinking', text.slice(0, text.length - visible.length))
    add('text', open ? text : visible)
  }
  for (const [i, call] of callsOf(body, slice).entries()) {
    const definition = memberNamed(membersOf(body, call.start) ?? [], 'function')
    const name = definition && stringMember(body, definition.value, 'name')
    if (!definition || !name) continue
    const id = message.callIds[i] ?? ''
    const { values, words } = leaves(stringMember(body, definition.value, 'arguments') ?? '')
    const piece: Piece = { kind: 'call', texts: [name, ...values], answers: null }
    pieces.push(piece)
    calls.push({ id, piece })
    for (const word of [id, name, ...words].flatMap(wordsOf)) labels.add(word)
  }
}

/** The words of a text in lower case. */
export function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/\p{L}+/gu) ?? []
}

function callsOf(body: Buffer, message: Slice): Slice[] {
  const calls = memberNamed(membersOf(body, message.start) ?? [], 'tool_calls')
  return calls && !isNull(body, calls.value) ? elementsOf(body, calls.value.start) ?? [] : []
}

/** The names of all calls of a conversation. */
export function callNames({ body, messages }: ChatRequest): Set<string> {
  const calls = messages.filter(({ callIds }) => callIds.length > 0).flatMap(({ slice }) => callsOf(body, slice))
  return new Set(calls.flatMap((call) => {
    const definition = memberNamed(membersOf(body, call.start) ?? [], 'function')
    return (definition && stringMember(body, definition.value, 'name')) || []
  }))
}

/** How the words of JSON are written elsewhere. */
const jsonWords: Readonly<Record<string, readonly string[]>> = { true: ['true'], false: ['false'], null: ['null', 'none'] }

/** The texts and numbers in a call's arguments, in order: what every way to print them has in common. */
function leaves(args: string): { values: string[], words: string[] } {
  const json = Buffer.from(args)
  const values: string[] = []
  const words: string[] = []
  const visit = (slice: Slice): void => {
    const first = json[slice.start]
    if (first === 0x7b) {
      for (const { key, value } of membersOf(json, slice.start) ?? []) {
        words.push(key)
        visit(value)
      }
    } else if (first === 0x5b) {
      for (const element of elementsOf(json, slice.start) ?? []) visit(element)
    } else {
      const text = ((first === 0x22 ? stringAt(json, slice) : json.toString('latin1', slice.start, slice.end)) ?? '').trim()
      if (first !== 0x22 && Object.hasOwn(jsonWords, text)) words.push(...jsonWords[text]!)
      else if (text !== '') values.push(text)
    }
  }
  const start = skipSpace(json, 0)
  if (json[start] === 0x7b) visit({ start, end: json.length })
  return { values, words }
}

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1)
const inXml = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
const plainAscii = (text: string): string => text.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Python's repr. It takes double quotes only for a text that holds single ones alone. */
function inRepr(text: string, whole: string): string {
  const lines = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t')
  return whole.includes("'") && !whole.includes('"') ? lines : lines.replaceAll("'", "\\'")
}

const pythonWords: Readonly<Record<string, string>> = { true: 'True', false: 'False', null: 'None' }

/** A result that is JSON, printed as the Python object that it was read into. */
function jsonInRepr(text: string): string {
  if (text[0] !== '{' && text[0] !== '[') return text
  // A beginning may end in the middle of an escape.
  const parts = /"((?:[^"\\]|\\.)*?)("|(?:\\(?:u[0-9a-fA-F]{0,3})?)?$)|([:,])\s*|\b(true|false|null)\b/gs
  return text.replace(parts, (_, inside: string | undefined, closing: string, separator: string | undefined, word: string) => {
    if (separator !== undefined) return `${separator} `
    if (inside === undefined) return pythonWords[word]!
    const said = unescaped(inside)
    const quote = said.includes("'") && !said.includes('"') ? '"' : "'"
    return `${quote}${inRepr(said, said)}${closing === '"' ? quote : ''}`
  })
}

function unescaped(inside: string): string {
  try {
    return JSON.parse(`"${inside}"`) as string
  } catch {
    return inside
  }
}

/**
 * The same text as agents print it: as it is, in a JSON string (twice where messages are printed as JSON, or in
 * ASCII as Python does), with XML's marks escaped, as Python's repr, read as JSON first or not.
 * @param whole the text that `text` is a part of
 */
export const forms: readonly ((text: string, whole: string) => string)[] = [
  (text) => text,
  (text) => inJson(text),
  (text) => inXml(text),
  inRepr,
  (text) => jsonInRepr(text),
  (text) => plainAscii(inJson(text)),
  (text) => plainAscii(inJson(inJson(text))),
  (text) => inJson(plainAscii(inJson(text))),
  (text) => inXml(text).replaceAll('"', '&quot;').replaceAll("'", '&#x27;'),
  (text) => inXml(text).replaceAll('"', '&quot;').replaceAll("'", '&#39;'),
  (text) => inXml(inJson(text)),
  (text) => inJson(inJson(text)),
  (text) => text.replaceAll('\r\n', '\n'),
]

/** How much of a text must match before its cut is believed, and how much stands for itself among other text, in characters. */
export const telling = 48

export type Beginnings = ReadonlyMap<string, readonly (typeof forms)[number][]>

const knownBeginnings = new WeakMap<Piece, Beginnings[]>()

/** How a text of a piece may begin, each with the forms that begin so. A piece is looked for several times. */
export function beginningsOf(piece: Piece, index: number): Beginnings {
  const known = knownBeginnings.get(piece) ?? []
  knownBeginnings.set(piece, known)
  return known[index] ??= beginnings(piece.texts[index]!)
}

function beginnings(text: string): Beginnings {
  const start = beginningOf(text, telling)
  const found = new Map<string, (typeof forms)[number][]>()
  for (const form of forms) {
    const beginning = form(start, text)
    const same = found.get(beginning)
    if (same) same.push(form)
    else found.set(beginning, [form])
  }
  return found
}
