// Conversations and the ways in which agents flatten them into one text, for tests of the alignment. All text is made
// here; every text holds words that occur nowhere else, so that a test sees where each of them went.

import fc from 'fast-check'
import type { Message } from './conversation.ts'

export interface Flattening {
  /** One text per part. */
  readonly parts: (messages: readonly Message[]) => string[]
  /** Results that the style shows: whole, cut behind so many characters, or not at all. */
  readonly results: 'whole' | 'cut' | 'blank' | 'none'
  readonly calls: boolean
  /** Its labels stand in no table: they show only where they come again. */
  readonly ownLabels?: boolean
}

/** Characters of a tool output that the cutting styles keep. */
const kept = 120

type Writer = (message: Message, index: number, name: (id: string) => string) => string[]

function style(write: Writer, results: Flattening['results'] = 'whole', calls = true, join = '\n\n'): Flattening {
  return {
    results,
    calls,
    parts: (messages) => {
      const names = new Map(messages.flatMap((message) => (message.tool_calls ?? []).map((call) => [call.id, call.function.name] as const)))
      return [messages.flatMap((message, i) => write(message, i, (id) => names.get(id) ?? 'unknown')).join(join)]
    },
  }
}

const cut = (text: string, mark: (left: number) => string, at = kept): string => (text.length > at ? text.slice(0, at) + mark(text.length - at) : text)
const xml = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
const ascii = (json: string): string => json.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Python's repr of a value. */
function repr(value: unknown): string {
  if (typeof value === 'string') {
    const inside = value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t')
    return value.includes("'") && !value.includes('"') ? `"${inside}"` : `'${inside.replaceAll("'", "\\'")}'`
  }
  if (Array.isArray(value)) return `[${value.map(repr).join(', ')}]`
  if (typeof value === 'object' && value !== null) return `{${Object.entries(value).map(([key, inner]) => `${repr(key)}: ${repr(inner)}`).join(', ')}}`
  return value === true ? 'True' : value === false ? 'False' : value === null ? 'None' : String(value)
}

const argsOf = (call: { function: { arguments: string } }): Record<string, unknown> => JSON.parse(call.function.arguments) as Record<string, unknown>

const keyed = (args: Record<string, unknown>): string => Object.entries(args).map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(', ')

/** Labels in brackets. */
function bracketed(options: {
  thinking?: boolean, results?: Flattening['results'], mark?: (left: number) => string, user?: (text: string) => string,
  call: (name: string, args: Record<string, unknown>) => string, many?: boolean, user_label?: string, bot?: string,
}): Flattening {
  const bot = options.bot ?? 'Assistant'
  return style((message) => {
    if (message.role === 'user') return [`[${options.user_label ?? 'User'}]: ${(options.user ?? ((text) => text))(message.content!)}`]
    if (message.role === 'tool') {
      const text = options.results === 'blank' ? '' : options.results === 'cut' ? cut(message.content!, options.mark!) : message.content!
      return [`[Tool result]: ${text}`]
    }
    const thinking = options.thinking && message.reasoning_content ? [`[${bot} reasoning]: ${message.reasoning_content}`] : []
    const text = message.content ? [`[${bot}]: ${message.content}`] : []
    const calls = (message.tool_calls ?? []).map((call) => options.call(call.function.name, argsOf(call)))
    const shown = options.many ? (calls.length > 0 ? [`[${bot} tool calls]: ${calls.join('; ')}`] : []) : calls.map((call) => `[${bot} tool call]: ${call}`)
    return [...thinking, ...text, ...shown]
  }, options.results)
}

/** By the agents that were seen (agents.md): what stands for whom, how calls and outputs are written. */
export const flattenings: Readonly<Record<string, Flattening>> = {
  'brackets, JSON, thinking, cut': bracketed({ thinking: true, results: 'cut', mark: () => '\n[truncated]', call: (name, args) => `${name}(${JSON.stringify(args)})` }),
  'brackets, key="value", cut with a count': bracketed({ results: 'cut', many: true, mark: (left) => `\n\n[... ${left} more characters truncated]`, call: (name, args) => `${name}(${keyed(args)})` }),
  'brackets, tags around users, blank outputs': bracketed({ results: 'blank', many: true, bot: 'Bot', user: (text) => `<user_input mode="act">${text}</user_input>`, call: (name, args) => `${name}(${JSON.stringify(args)})` }),
  'brackets, pretty JSON': bracketed({ call: (name, args) => `${name}(${JSON.stringify(args, null, 2)})` }),
  'roles and colons, calls as [json]': style((message, _, name) => {
    if (message.role === 'user') return [`Human: ${message.content}`]
    if (message.role === 'tool') return [`Tool: ${name(message.tool_call_id!)}, ${message.content}`]
    const calls = (message.tool_calls ?? []).map((call) => ({ name: call.function.name, args: argsOf(call), type: 'tool_call', id: call.id }))
    return [`AI: ${message.content ?? ''}${calls.length > 0 ? `, ${JSON.stringify(calls)}` : ''}`]
  }, 'whole', true, '\n'),
  'XML, escaped': style((message, _) => {
    if (message.role === 'tool') return [`<message type="tool" tool_call_id="${message.tool_call_id}">${xml(message.content!)}</message>`]
    if (message.role === 'user') return [`<message type="human">${xml(message.content!)}</message>`]
    const calls = (message.tool_calls ?? []).map((call) => `\n  <tool_call id="${call.id}" name="${call.function.name}">${xml(JSON.stringify(argsOf(call)))}</tool_call>`)
    return [`<message type="ai">\n  <content>${xml(message.content ?? '')}</content>${calls.join('')}\n</message>`]
  }, 'whole', true, '\n'),
  'headings, name {json}': style((message, _, name) => {
    if (message.role === 'user') return [`### User\n${message.content}`]
    if (message.role === 'tool') return [`### Tool result: ${name(message.tool_call_id!)} (${message.tool_call_id})\n${message.content}`]
    return [['### Assistant', message.content ?? '', ...(message.tool_calls ?? []).map((call) => `[tool call ${call.id}] ${call.function.name} ${call.function.arguments}`)].filter((line) => line !== '').join('\n')]
  }),
  'a numbered list': style((message, i) => {
    if (message.role === 'user') return [`${i + 1}. [user] ${message.content}`]
    if (message.role === 'tool') return [`${i + 1}. [tool] function_result: ${message.content} [call_id=${message.tool_call_id}]`]
    const calls = (message.tool_calls ?? []).map((call) => `function_call ${call.function.name}(${call.function.arguments}) [call_id=${call.id}]`)
    return [`${i + 1}. [assistant] ${[message.content ?? '', ...calls].filter((text) => text !== '').join(' ')}`]
  }, 'whole', true, '\n'),
  'many parts, calls absent': {
    results: 'whole',
    calls: false,
    parts: (messages) => messages.flatMap((message, i) => [`## Message ${i + 1}\nRole: ${message.role}\nContent:\n`, ...(message.content ? [message.content] : [])]),
  },
  'events, calls without arguments, cut': style((message, _, name) => {
    if (message.role === 'user') return [`<EVENT>\nMessage from user\nuser: ${message.content}\n</EVENT>`]
    if (message.role === 'tool') return [`<EVENT>\nObservation: ${name(message.tool_call_id!)}\nResult: ${cut(message.content!, () => '...')}\n</EVENT>`]
    return [`<EVENT>\n${[`assistant: ${message.content ?? ''}`, ...(message.tool_calls ?? []).map((call) => `Action: ${call.function.name}`)].join('\n')}\n</EVENT>`]
  }, 'cut'),
  "Python's repr": style((message) => {
    if (message.role === 'user') return [`HumanMessage(content=${repr(message.content)}, additional_kwargs={}, response_metadata={}, id='3f2b8a10-5c1d-4e7f-9a0b-1c2d3e4f5a6b')`]
    if (message.role === 'tool') return [`ToolMessage(content=${repr(message.content)}, tool_call_id=${repr(message.tool_call_id)})`]
    return [`AIMessage(content=${repr(message.content ?? '')}, tool_calls=${repr((message.tool_calls ?? []).map((call) => ({ name: call.function.name, args: argsOf(call), id: call.id, type: 'tool_call' })))})`]
  }, 'whole', true, ', '),
  'JSON': { results: 'whole', calls: true, parts: (messages) => [JSON.stringify(messages)] },
  'pretty JSON': { results: 'whole', calls: true, parts: (messages) => [JSON.stringify(messages, null, 2)] },
  'JSON in ASCII': { results: 'whole', calls: true, parts: (messages) => [ascii(JSON.stringify(messages))] },
  'headings, outputs cut in the middle': style((message) => {
    if (message.role === 'user') return [`# USER\n${message.content}`]
    if (message.role === 'tool') {
      const text = message.content!
      return [`# TOOL\n${text.length > 2 * kept + 40 ? `${text.slice(0, kept)}\n... [${text.length - 2 * kept} characters omitted] ...\n${text.slice(-kept)}` : text}`]
    }
    return [['# ASSISTANT', message.content ?? '', ...(message.tool_calls ?? []).map((call) => `${call.function.name}: ${call.function.arguments}`)].filter((line) => line !== '').join('\n')]
  }, 'cut'),
  'labels of its own': {
    ...style((message, _, name) => {
      if (message.role === 'user') return [`Kundin: ${message.content}`]
      if (message.role === 'tool') return [`Antwort von ${name(message.tool_call_id!)}: ${message.content}`]
      return [...(message.content ? [`archivist: ${message.content}`] : []), ...(message.tool_calls ?? []).map((call) => `archivist benutzt: ${call.function.name}(${repr(argsOf(call))})`)]
    }, 'whole', true, '\n'),
    ownLabels: true,
  },
  'brackets, outputs cut at their beginning': style((message) => {
    if (message.role === 'user') return [`[User]: ${message.content}`]
    if (message.role === 'tool') return [`[Tool result]: ${message.content!.length > kept ? `[truncated]\n${message.content!.slice(-kept)}` : message.content}`]
    return [...(message.content ? [`[Assistant]: ${message.content}`] : []), ...(message.tool_calls ?? []).map((call) => `[Assistant tool call]: ${call.function.name}(${call.function.arguments})`)]
  }, 'cut'),
}

const odd = ['"quoted"', "it's", '<b>', 'a & b', 'é', '漢字', '👩‍👩‍👧', 'C:\\temp\\new', '{"k": [1, 2]}', '`code`', '[User]: hello', '</message>', '\\n']
const plain = ['the', 'cache', 'reads', 'every', 'record', 'twice', 'so', 'it', 'is', 'slow', 'now', 'and', 'then', 'stops']

let serial = 0

/** Words that no other text holds, among common and odd ones. */
function prose(words: fc.Arbitrary<number>): fc.Arbitrary<string> {
  return fc.tuple(words, fc.infiniteStream(fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...plain) }, { weight: 2, arbitrary: fc.constantFrom(...odd) }, { weight: 1, arbitrary: fc.constant('\n') }))).map(([count, stream]) => {
    const unique = `u${(serial++).toString(36)}x`
    return Array.from({ length: count }, (_, i) => (i % 5 === 0 ? `${unique}${i}` : stream.next().value!)).join(' ').replaceAll(' \n ', '\n')
  })
}

const shortProse = prose(fc.integer({ min: 1, max: 4 }))
const longProse = prose(fc.integer({ min: 12, max: 60 }))
const someProse = fc.oneof(shortProse, longProse)

const args = fc.oneof(
  fc.record({ path: shortProse.map((text) => text.split(/\s/)[0]!), first_line: fc.integer({ min: 1, max: 999 }) }),
  fc.record({ command: someProse, background: fc.boolean() }),
  fc.record({ path: fc.constantFrom('src/a.ts', 'src/b.ts'), old: someProse, new: someProse }),
)

interface Group { text: string, thinking: string, calls: { name: string, args: object, result: string }[] }

const group: fc.Arbitrary<Group> = fc.record({
  text: fc.oneof(fc.constant(''), someProse),
  thinking: fc.oneof(fc.constant(''), longProse),
  calls: fc.array(fc.record({ name: fc.constantFrom('read_file', 'run_command', 'edit', 'bash'), args, result: fc.oneof(longProse, shortProse) }), { minLength: 1, maxLength: 3 }),
})

/** Turns of a conversation behind its system text: a user's message, tool groups, an answer, and again. */
export const turns: fc.Arbitrary<Message[]> = fc.array(fc.record({ user: someProse, groups: fc.array(group, { maxLength: 4 }), answer: someProse }), { minLength: 1, maxLength: 3 }).map((rounds) => {
  let call = 0
  return rounds.flatMap((round): Message[] => [
    { role: 'user', content: round.user },
    ...round.groups.flatMap((each): Message[] => {
      const made = each.calls.map((one) => ({ ...one, id: `call_${call++}` }))
      return [
        {
          role: 'assistant', content: each.text,
          ...(each.thinking === '' ? {} : { reasoning_content: each.thinking }),
          tool_calls: made.map((one) => ({ id: one.id, type: 'function', function: { name: one.name, arguments: JSON.stringify(one.args) } })),
        },
        ...made.map((one): Message => ({ role: 'tool', tool_call_id: one.id, content: one.result })),
      ]
    }),
    { role: 'assistant', content: round.answer },
  ])
})

/** The words of a text that occur nowhere else. */
export function uniqueWords(text: string): string[] {
  return text.match(/u[0-9a-z]+x\d+/g) ?? []
}

/** Where tool groups end: lengths that cut none in two. */
export function groupEnds(messages: readonly Message[]): number[] {
  return messages.flatMap((_, i) => (messages[i + 1]?.role === 'tool' || messages[i]!.tool_calls !== undefined ? [] : [i + 1]))
}

/** Enough said for labels that no table knows to show what they are. */
export const introduction: readonly Message[] = [1, 2, 3].flatMap((round): Message[] => [
  { role: 'user', content: `Is the record number ${round} of the cache slow?` },
  {
    role: 'assistant', content: `Record ${round} is read now.`,
    tool_calls: ['read_file', 'bash'].map((name) => ({ id: `intro_${round}_${name}`, type: 'function', function: { name, arguments: JSON.stringify({ path: `records/number-${round}.txt` }) } })),
  },
  ...['read_file', 'bash'].map((name): Message => ({ role: 'tool', tool_call_id: `intro_${round}_${name}`, content: `${name} says ${round * 17} ms` })),
  { role: 'assistant', content: `It takes ${round * 17} ms.` },
])
