// The chat messages that vLLM makes of the items of a responses request: those of one assistant turn become one.
// Sources: vLLM 0.32, vllm/entrypoints/openai/responses/utils.py (construct_input_messages). What it refuses, or what we
// cannot tell, is null.

import { array, member, object } from '../engine/prompt.ts'
import { bytesOf, elementsOf, isNull, memberNamed, membersOf, stringAt, stringNamed, textNamed, type Member, type Slice } from '../wire/json-slices.ts'
import { flatName } from './responses-to-chat-tools.ts'

/** A chat message as it is put together; the values are JSON. */
interface Made {
  readonly role: string
  content: Buffer | null
  reasoning: Buffer | null
  readonly calls: Buffer[]
  /** Of a tool message. */
  readonly answers: Buffer | null
  /** Items up to and with the last that it is made of. */
  end: number
}

/** What one item is: a message of its own, or a part of an assistant's turn. */
type Part = Partial<Pick<Made, 'content' | 'reasoning' | 'answers'>> & { readonly role: string, readonly call?: Buffer }

export interface MadeMessage {
  readonly message: Buffer
  /** Items up to and with the last that it is made of. */
  readonly end: number
}

/** Items of one assistant turn merge while what they bring is not there yet. */
export function messagesOf(body: Buffer, items: readonly Slice[]): MadeMessage[] | null {
  const made: Made[] = []
  for (const [i, item] of items.entries()) {
    const part = partOf(body, item, i === items.length - 1)
    if (part === null) return null
    const before = made.at(-1)
    if (part.role === 'assistant' && before?.role === 'assistant' && merged(before, part)) before.end = i + 1
    else made.push({ role: part.role, content: part.content ?? null, reasoning: part.reasoning ?? null, calls: part.call ? [part.call] : [], answers: part.answers ?? null, end: i + 1 })
  }
  return made.map((each) => ({ message: written(each), end: each.end }))
}

function merged(before: Made, { content, reasoning, call }: Part): boolean {
  if (call) before.calls.push(call)
  else if (reasoning && !before.reasoning) before.reasoning = reasoning
  else if (content && !before.content) before.content = content
  else return false
  return true
}

function written({ role, content, reasoning, calls, answers }: Made): Buffer {
  const parts = [opened[role]!]
  if (content) parts.push(contentKey, content)
  if (reasoning) parts.push(reasoningKey, reasoning)
  if (calls.length > 0) parts.push(callsKey, array(calls))
  if (answers) parts.push(answersKey, answers)
  return Buffer.concat([...parts, closed])
}

/** The beginning of a message of each role, and the keys behind it. */
const opened: Readonly<Record<string, Buffer>> = Object.fromEntries(['user', 'system', 'developer', 'assistant', 'tool'].map((role) => [role, Buffer.from(`{"role":"${role}"`)]))
const contentKey = Buffer.from(',"content":')
const reasoningKey = Buffer.from(',"reasoning":')
const callsKey = Buffer.from(',"tool_calls":')
const answersKey = Buffer.from(',"tool_call_id":')
const closed = Buffer.from('}')

function partOf(body: Buffer, item: Slice, isLast: boolean): Part | null {
  const members = membersOf(body, item.start)
  if (members === null) return null
  const typeAt = memberNamed(members, 'type')
  const type = typeAt ? stringAt(body, typeAt.value) : 'message'
  // vLLM goes on with an unfinished last item in place of answering it.
  if (isLast && (type === 'message' || type === 'reasoning') && isUnfinished(textNamed(body, members, 'status'))) return null
  switch (type) {
    case 'message': return messageOf(body, members)
    case 'reasoning': return reasoningOf(body, members)
    case 'function_call': return functionCallOf(body, members)
    case 'custom_tool_call': return customCallOf(body, members)
    case 'function_call_output':
    case 'custom_tool_call_output': return outputOf(body, members)
    default: return null
  }
}

function isUnfinished(status: string | null): boolean {
  return status === 'in_progress' || status === 'incomplete'
}

function messageOf(body: Buffer, members: readonly Member[]): Part | null {
  const role = textNamed(body, members, 'role')
  const content = memberNamed(members, 'content')?.value
  if (content === undefined) return null
  if (role === 'assistant') {
    const text = body[content.start] === quote ? bytesOf(body, content) : firstText(body, content)
    return text && { role, content: text }
  }
  if (role !== 'user' && role !== 'system' && role !== 'developer') return null
  const read = contentOf(body, content)
  return read && { role, content: read }
}

/** Of an assistant's texts vLLM takes the first alone. */
function firstText(body: Buffer, content: Slice): Buffer | null {
  const first = elementsOf(body, content.start)?.[0]
  const members = first && membersOf(body, first.start)
  if (!members) return null
  const type = textNamed(body, members, 'type')
  return type === 'output_text' || type === 'input_text' ? stringNamed(body, members, 'text') : null
}

/** Text or parts as chat has them; null for what is neither text nor image. */
function contentOf(body: Buffer, content: Slice): Buffer | null {
  if (body[content.start] === quote) return bytesOf(body, content)
  const parts = elementsOf(body, content.start)
  const made = parts?.map((part) => partOfContent(body, part))
  return made && made.every((part) => part !== null) ? array(made) : null
}

function partOfContent(body: Buffer, part: Slice): Buffer | null {
  const members = membersOf(body, part.start)
  if (members === null) return null
  switch (textNamed(body, members, 'type')) {
    case 'input_text': {
      const text = stringNamed(body, members, 'text')
      return text && object([member('type', '"text"'), member('text', text)])
    }
    case 'input_image': {
      const url = stringNamed(body, members, 'image_url')
      return url && object([member('type', '"image_url"'), member('image_url', object([member('url', url)]))])
    }
    default: return null
  }
}

/** The first content, else the first summary, else nothing; vLLM refuses encrypted thinking. */
function reasoningOf(body: Buffer, members: readonly Member[]): Part | null {
  const encrypted = memberNamed(members, 'encrypted_content')?.value
  if (encrypted && !isNull(body, encrypted) && stringAt(body, encrypted) !== '') return null
  for (const key of ['content', 'summary']) {
    const list = memberNamed(members, key)?.value
    if (list === undefined || isNull(body, list)) continue
    const parts = elementsOf(body, list.start)
    if (parts === null) return null
    if (parts.length === 0) continue
    const text = stringNamed(body, membersOf(body, parts[0]!.start) ?? [], 'text')
    return text && { role: 'assistant', reasoning: text }
  }
  return { role: 'assistant', reasoning: Buffer.from('""') }
}

function functionCallOf(body: Buffer, members: readonly Member[]): Part | null {
  const id = stringNamed(body, members, 'call_id')
  const name = stringNamed(body, members, 'name')
  const args = stringNamed(body, members, 'arguments')
  const namespace = memberNamed(members, 'namespace')?.value
  if (!id || !name || !args) return null
  if (namespace === undefined || isNull(body, namespace)) return callPart(id, name, args)
  const prefix = stringAt(body, namespace)
  if (prefix === null) return null
  return callPart(id, prefix === '' ? name : flatName(bytesOf(body, namespace), name), args)
}

/** vLLM shows the model a function with one text in place of a tool that takes free text. */
function customCallOf(body: Buffer, members: readonly Member[]): Part | null {
  const id = stringNamed(body, members, 'call_id')
  const name = stringNamed(body, members, 'name')
  const inputAt = memberNamed(members, 'input')?.value
  const input = inputAt && stringAt(body, inputAt)
  if (!id || !name || typeof input !== 'string') return null
  return callPart(id, name, Buffer.from(JSON.stringify(`{"input": ${JSON.stringify(input)}}`)))
}

function callPart(id: Buffer, name: Buffer, args: Buffer): Part {
  const called = object([member('name', name), member('arguments', args)])
  return { role: 'assistant', call: object([member('id', id), member('type', '"function"'), member('function', called)]) }
}

function outputOf(body: Buffer, members: readonly Member[]): Part | null {
  const id = memberNamed(members, 'call_id')?.value
  const output = memberNamed(members, 'output')?.value
  const content = output && contentOf(body, output)
  return id && body[id.start] === quote && content ? { role: 'tool', content, answers: bytesOf(body, id) } : null
}

const quote = 0x22
