// Tool calls written as text: with tool_choice "none" vLLM runs no parser and call syntax comes out as content.
// Summaries of coding sessions quote such markup, so only a well-formed call to one of the request's tools, at the
// beginning or the end of the text and outside code fences, counts. Reads forward only: no text makes it slow.

import { stringMember } from '../wire/chat-request.ts'
import { bytesOf, elementsOf, memberNamed, membersOf, skipSpace, valueEnd, type Slice } from '../wire/json-slices.ts'

/** A call that was read: the tool that it names, and where it ends. */
interface Call {
  readonly name: string
  readonly end: number
}

/** How a family writes one call. Sources: vLLM's tool_parsers. */
interface Family {
  readonly open: string
  /** @param at behind the opening mark. @returns null where what follows is no well-formed call */
  readonly read: (text: Buffer, at: number) => Call | null
}

const families: readonly Family[] = [
  { open: '<tool_call>', read: inToolCallTag },
  // qwen3_coder, step3, seed_oss: XML-like functions, with or without the outer tag
  { open: '<function=', read: (text, at) => tagged(text, at, '>', '</function>') },
  { open: '[TOOL_CALLS]', read: mistral },
  // minimax_m2, and Anthropic's form
  { open: '<invoke name="', read: (text, at) => tagged(text, at, '">', '</invoke>') },
  // kimi_k2: functions.NAME:0, a mark, the arguments
  { open: '<|tool_call_begin|>', read: (text, at) => named(text, at, '<|tool_call_end|>', (inside) => /^\s*(?:functions\.)?([^\s:<]+)/.exec(inside)?.[1]) },
  // deepseek_v3: the word function, a mark, NAME; deepseek_v31: NAME, a mark
  {
    open: '<｜tool▁call▁begin｜>',
    read: (text, at) => named(text, at, '<｜tool▁call▁end｜>', (inside) => /^\s*(?:function\s*<｜tool▁sep｜>)?\s*([^\s<]+)/u.exec(inside)?.[1]),
  },
  // llama3_json; the mark is looked for at the beginning of its first member
  { open: '{', read: (text, at) => jsonCall(text, at - 1) },
]

/** Marks around calls: passed over at the beginning and at the end. */
const openings = ['<minimax:tool_call>', '<function_calls>', '<seed:tool_call>', '<|tool_calls_section_begin|>', '<｜tool▁calls▁begin｜>', '<|python_tag|>'] as const
const closings = ['</tool_call>', '</minimax:tool_call>', '</function_calls>', '</seed:tool_call>', '<|tool_calls_section_end|>', '<｜tool▁calls▁end｜>'] as const

/** How many of the last marks are looked at for a call that ends the text: arguments may quote some. */
const lastMarks = 16

/**
 * @param visible the reply's text outside thinking
 * @param toolNames names of the request's tools
 */
export function hasToolMarkup(visible: string, toolNames: readonly string[]): boolean {
  if (toolNames.length === 0) return false
  const text = Buffer.from(visible.trim())
  const isCall = (call: Call | null): call is Call => call !== null && toolNames.includes(call.name)
  const begin = behindMark(text, 0, openings)
  return families.some(({ open, read }) => {
    if (startsAt(text, begin, open) && isCall(read(text, begin + Buffer.byteLength(open)))) return true
    return placesOf(text, open).some((at) => {
      const call = read(text, at + Buffer.byteLength(open))
      // An ending inside an open fence is a quotation.
      return isCall(call) && behindMark(text, call.end, closings) === text.length && !insideFence(text.toString('utf8', 0, at))
    })
  })
}

/** The last places of a mark. A brace is looked for in front of the member that names the tool. */
function placesOf(text: Buffer, open: string): number[] {
  const places: number[] = []
  const mark = open === '{' ? '"name"' : open
  for (let at = text.lastIndexOf(mark); at >= 0 && places.length < lastMarks; at = at === 0 ? -1 : text.lastIndexOf(mark, at - 1)) {
    places.push(open === '{' ? skipSpaceBack(text, at) - 1 : at)
  }
  return places.filter((at) => startsAt(text, at, open))
}

/** hermes, qwen: JSON in a tag. glm4_moe: name, then keys and values. qwen3_coder: a function in the tag. */
function inToolCallTag(text: Buffer, at: number): Call | null {
  const close = '</tool_call>'
  const from = skipSpace(text, at)
  const call = text[from] === openBrace
    ? jsonCall(text, from)
    : startsAt(text, from, '<function=') ? tagged(text, from + 10, '>', '</function>') : null
  if (call) {
    const end = skipSpace(text, call.end)
    return startsAt(text, end, close) ? { name: call.name, end: end + close.length } : null
  }
  return text[from] === openBrace ? null : named(text, from, close, (inside) => /^([^\s<]+)\s*(?:<arg_key>|$)/.exec(inside)?.[1])
}

/** mistral: an array of calls, or a name, an id perhaps, and the arguments. */
function mistral(text: Buffer, at: number): Call | null {
  const from = skipSpace(text, at)
  if (text[from] === openBracket) {
    const [first] = elementsOf(text, from) ?? []
    const name = first && stringMember(text, first, 'name')
    return name ? { name, end: valueEnd(text, from) } : null
  }
  const brace = text.indexOf('{', from)
  if (brace < 0) return null
  const name = /^([^\s[{]+)(?:\[CALL_ID\][^\s[{]*)?\s*(?:\[ARGS\])?\s*$/.exec(text.toString('utf8', from, Math.min(brace, from + 256)))?.[1]
  const end = valueEnd(text, brace)
  return name && end > 0 ? { name, end } : null
}

/** An object with the tool's name and its arguments. */
function jsonCall(text: Buffer, at: number): Call | null {
  const end = valueEnd(text, at)
  if (end < 0) return null
  const object: Slice = { start: at, end }
  const members = membersOf(text, at) ?? []
  const name = stringMember(text, object, 'name')
  const given = memberNamed(members, 'arguments') ?? memberNamed(members, 'parameters')
  return name && given ? { name, end } : null
}

/** A name up to a mark, and anything up to the closing tag. */
function tagged(text: Buffer, at: number, nameEnd: string, close: string): Call | null {
  const to = text.indexOf(nameEnd, at)
  const end = to < 0 ? -1 : text.indexOf(close, to)
  return end < 0 ? null : { name: text.toString('utf8', at, Math.min(to, at + 256)), end: end + close.length }
}

/** Anything up to the closing mark, with the name at its beginning. */
function named(text: Buffer, at: number, close: string, nameOf: (inside: string) => string | undefined): Call | null {
  const to = text.indexOf(close, at)
  const name = to < 0 ? undefined : nameOf(bytesOf(text, { start: at, end: Math.min(to, at + 256) }).toString('utf8'))
  return name === undefined ? null : { name, end: to + Buffer.byteLength(close) }
}

/** Behind white space and marks of a kind, and the white space behind them. */
function behindMark(text: Buffer, at: number, marks: readonly string[]): number {
  const from = skipSpace(text, at)
  const mark = marks.find((each) => startsAt(text, from, each))
  return mark === undefined ? from : skipSpace(text, from + Buffer.byteLength(mark))
}

function startsAt(text: Buffer, at: number, mark: string): boolean {
  if (at < 0) return false
  const bytes = Buffer.from(mark)
  return text.subarray(at, at + bytes.length).equals(bytes)
}

function skipSpaceBack(text: Buffer, at: number): number {
  while (at > 0 && [0x20, 0x0a, 0x0d, 0x09].includes(text[at - 1]!)) at--
  return at
}

/** Whether what follows this text stands in a fenced code block. */
function insideFence(before: string): boolean {
  let fence: string | null = null
  for (const line of before.split('\n')) {
    const mark = /^[ \t]*(```|~~~)/.exec(line)?.[1] ?? null
    if (mark !== null) fence = fence === null ? mark : fence === mark ? null : fence
  }
  return fence !== null
}

const openBrace = 0x7b
const openBracket = 0x5b
