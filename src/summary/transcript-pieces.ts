// What of a recorded message a transcript can show, and the forms in which agents write it down.

import { elementsOf, isNull, memberNamed, membersOf, skipSpace, stringAt, type Slice } from '../wire/json-slices.ts'
import { readText, stringMember, textParts, type ChatRequest, type Message } from '../wire/chat-request.ts'

/** A piece of a recorded message that is looked for in a transcript. */
export interface Piece {
  readonly kind: 'text' | 'thinking' | 'call' | 'result'
  /** For a call: its name, then its argument values in order. Else the text alone. */
  readonly texts: readonly string[]
  /** Of a call, or of the call that a result answers. */
  readonly callId: string | null
  /** Words that label the piece wherever it is printed: a call's id and the names of its arguments. */
  readonly labels: readonly string[]
}

/** The pieces of a message that say something, in the order of the message. */
export function piecesOf(request: ChatRequest, message: Message): Piece[] {
  const { body } = request
  const { role, slice, answers } = message
  const pieces: Piece[] = []
  const add = (kind: Piece['kind'], text: string | null, callId: string | null = null): void => {
    if (text !== null && text.trim() !== '') pieces.push({ kind, texts: [text.trim()], callId, labels: callId ? wordsOf(callId) : [] })
  }
  if (role === 'assistant') add('thinking', thinkingOf(body, slice))
  if (role === 'tool') add('result', readText(body, slice), answers)
  else for (const text of textParts(body, slice)) add('text', text)
  for (const [i, call] of callsOf(body, slice).entries()) {
    const definition = memberNamed(membersOf(body, call.start) ?? [], 'function')
    const name = definition && stringMember(body, definition.value, 'name')
    if (!definition || !name) continue
    const { values, keys } = leaves(stringMember(body, definition.value, 'arguments') ?? '')
    const callId = message.callIds[i] ?? ''
    pieces.push({ kind: 'call', texts: [name, ...values], callId, labels: [callId, name, ...keys].flatMap(wordsOf) })
  }
  return pieces
}

/** The words of a text in lower case. */
export function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/\p{L}+/gu) ?? []
}

function thinkingOf(body: Buffer, message: Slice): string | null {
  return stringMember(body, message, 'reasoning') ?? stringMember(body, message, 'reasoning_content')
}

function callsOf(body: Buffer, message: Slice): Slice[] {
  const calls = memberNamed(membersOf(body, message.start) ?? [], 'tool_calls')
  return calls && !isNull(body, calls.value) ? elementsOf(body, calls.value.start) ?? [] : []
}

/** The texts and numbers in a call's arguments, in order: what every way to print them has in common. */
function leaves(args: string): { values: string[], keys: string[] } {
  const json = Buffer.from(args)
  const values: string[] = []
  const keys: string[] = []
  const visit = (slice: Slice): void => {
    const first = json[slice.start]
    if (first === 0x7b) {
      for (const { key, value } of membersOf(json, slice.start) ?? []) {
        keys.push(key)
        visit(value)
      }
    } else if (first === 0x5b) {
      for (const element of elementsOf(json, slice.start) ?? []) visit(element)
    } else {
      values.push((first === 0x22 ? stringAt(json, slice) : json.toString('latin1', slice.start, slice.end)) ?? '')
    }
  }
  const start = skipSpace(json, 0)
  if (json[start] === 0x7b) visit({ start, end: json.length })
  return { values: values.map((text) => text.trim()).filter((text) => text !== '' && !['true', 'false', 'null'].includes(text)), keys }
}

/** The same text as agents print it: as it is, inside a JSON string, with XML's marks escaped, as Python's repr. */
export const forms: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => JSON.stringify(text).slice(1, -1),
  (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
  (text) => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\t', '\\t').replaceAll("'", "\\'"),
]
