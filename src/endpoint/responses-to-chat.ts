// The chat request that vLLM makes of a responses request, built of slices of its bytes.
// Sources: vLLM 0.32, vllm/entrypoints/openai/responses/utils.py (construct_input_messages, construct_tool_dicts) and
// protocol.py; vllm/tool_parsers/utils.py (get_function_tools). What it refuses, or what we cannot tell, is null.

import { array, member, object } from '../engine/prompt.ts'
import { readChatRequest, stringMember, topMembers } from '../wire/chat-request.ts'
import { bytesOf, elementsOf, isNull, memberNamed, membersOf, stringAt, type Member, type Slice } from '../wire/json-slices.ts'
import type { AsChat } from './endpoint.ts'

/** Its top-level members too; no key twice. */
export interface ResponsesAsChat extends AsChat {
  readonly members: readonly Member[]
}

/** @returns null where vLLM refuses the request, or where we cannot tell what it would make of it */
export function responsesAsChat(body: Buffer): ResponsesAsChat | null {
  const members = topMembers(body)
  if (members === null) return null
  const conversation = conversationOf(body, members)
  const tools = toolsOf(body, memberNamed(members, 'tools')?.value)
  const options = optionsOf(body, members)
  if (conversation === null || tools === null || options === null) return null
  const { messages, items, itemsEnd } = conversation
  const choice = tools.length === 0 ? null : toolChoiceOf(body, memberNamed(members, 'tool_choice')?.value)
  const chat = readChatRequest(object([
    member('messages', array(messages)), ...tools, ...(choice ? [member('tool_choice', choice)] : []), ...options,
  ]))
  return chat && { chat, items, itemsEnd, members }
}

interface Conversation {
  readonly messages: readonly Buffer[]
  readonly items: readonly Slice[]
  readonly itemsEnd: readonly number[]
}

function conversationOf(body: Buffer, members: readonly Member[]): Conversation | null {
  const input = memberNamed(members, 'input')?.value
  const front = instructionsOf(body, memberNamed(members, 'instructions')?.value)
  if (input === undefined || front === null) return null
  const frontEnds = front.map(() => 0)
  if (body[input.start] === quote) {
    return { messages: [...front, plainMessage('user', bytesOf(body, input))], items: [input], itemsEnd: [...frontEnds, 1] }
  }
  const items = elementsOf(body, input.start)
  const made = items && messagesOf(body, items)
  if (!items || !made) return null
  return { messages: [...front, ...made.map(written)], items, itemsEnd: [...frontEnds, ...made.map(({ end }) => end)] }
}

/** An empty text is none. */
function instructionsOf(body: Buffer, value: Slice | undefined): Buffer[] | null {
  if (value === undefined || isNull(body, value)) return []
  const text = stringAt(body, value)
  if (text === null) return null
  return text === '' ? [] : [plainMessage('system', bytesOf(body, value))]
}

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

/** Items of one assistant turn merge while what they bring is not there yet. */
function messagesOf(body: Buffer, items: readonly Slice[]): Made[] | null {
  const made: Made[] = []
  for (const [i, item] of items.entries()) {
    const part = partOf(body, item, i === items.length - 1)
    if (part === null) return null
    const before = made.at(-1)
    if (part.role === 'assistant' && before?.role === 'assistant' && merged(before, part)) before.end = i + 1
    else made.push({ role: part.role, content: part.content ?? null, reasoning: part.reasoning ?? null, calls: part.call ? [part.call] : [], answers: part.answers ?? null, end: i + 1 })
  }
  return made
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
  if (isLast && (type === 'message' || type === 'reasoning') && isUnfinished(textOf(body, members, 'status'))) return null
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
  const role = textOf(body, members, 'role')
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
  const type = textOf(body, members, 'type')
  return type === 'output_text' || type === 'input_text' ? stringSlice(body, members, 'text') : null
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
  switch (textOf(body, members, 'type')) {
    case 'input_text': {
      const text = stringSlice(body, members, 'text')
      return text && object([member('type', '"text"'), member('text', text)])
    }
    case 'input_image': {
      const url = stringSlice(body, members, 'image_url')
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
    const text = stringSlice(body, membersOf(body, parts[0]!.start) ?? [], 'text')
    return text && { role: 'assistant', reasoning: text }
  }
  return { role: 'assistant', reasoning: Buffer.from('""') }
}

function functionCallOf(body: Buffer, members: readonly Member[]): Part | null {
  const id = stringSlice(body, members, 'call_id')
  const name = stringSlice(body, members, 'name')
  const args = stringSlice(body, members, 'arguments')
  const namespace = memberNamed(members, 'namespace')?.value
  if (!id || !name || !args) return null
  if (namespace === undefined || isNull(body, namespace)) return callPart(id, name, args)
  const prefix = stringAt(body, namespace)
  if (prefix === null) return null
  return callPart(id, prefix === '' ? name : flatName(bytesOf(body, namespace), name), args)
}

/** vLLM shows the model a function with one text in place of a tool that takes free text. */
function customCallOf(body: Buffer, members: readonly Member[]): Part | null {
  const id = stringSlice(body, members, 'call_id')
  const name = stringSlice(body, members, 'name')
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

/** The `tools` member, or none where vLLM renders none; what the model is not shown is left out. */
function toolsOf(body: Buffer, value: Slice | undefined): Buffer[] | null {
  if (value === undefined) return []
  const tools = elementsOf(body, value.start)
  if (tools === null) return null
  if (tools.length === 0) return []
  const made: Buffer[] = []
  for (const tool of tools) {
    const shown = shownTools(body, tool)
    if (shown === null) return null
    made.push(...shown)
  }
  return [member('tools', array(made))]
}

function shownTools(body: Buffer, tool: Slice): Buffer[] | null {
  const members = membersOf(body, tool.start)
  const type = members && textOf(body, members, 'type')
  if (!members || type === null) return null
  switch (type) {
    case 'function': return functionTool(body, members, null)
    case 'custom': return customTool(body, members)
    case 'namespace': return namespacedTools(body, members)
    default: return []
  }
}

const functionMembers = ['description', 'parameters', 'strict', 'defer_loading']

function functionTool(body: Buffer, members: readonly Member[], namespace: Buffer | null): Buffer[] | null {
  const name = memberNamed(members, 'name')?.value
  if (name === undefined || body[name.start] !== quote) return null
  const known = functionMembers.flatMap((key) => {
    const value = memberNamed(members, key)?.value
    return value === undefined ? [] : [member(key, bytesOf(body, value))]
  })
  const own = bytesOf(body, name)
  return [toolOf([member('name', namespace ? flatName(namespace, own) : own), ...known])]
}

/** A grammar for its text is refused. */
function customTool(body: Buffer, members: readonly Member[]): Buffer[] | null {
  const name = memberNamed(members, 'name')?.value
  const description = memberNamed(members, 'description')?.value
  const format = memberNamed(members, 'format')?.value
  if (name === undefined || body[name.start] !== quote) return null
  if (format && !isNull(body, format) && stringMember(body, format, 'type') !== 'text') return null
  return [toolOf([
    member('name', bytesOf(body, name)), ...(description ? [member('description', bytesOf(body, description))] : []),
    member('parameters', JSON.stringify(freeText)),
  ])]
}

/** vllm/tool_parsers/utils.py custom_tool_parameters, key by key in its order. */
const freeText = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The freeform text payload for this tool.' } },
  required: ['input'],
  additionalProperties: false,
}

function namespacedTools(body: Buffer, members: readonly Member[]): Buffer[] | null {
  const namespace = memberNamed(members, 'name')?.value
  const list = memberNamed(members, 'tools')?.value
  const tools = list && elementsOf(body, list.start)
  if (namespace === undefined || body[namespace.start] !== quote || !tools) return null
  const made: Buffer[] = []
  for (const tool of tools) {
    const inner = membersOf(body, tool.start)
    const type = inner && textOf(body, inner, 'type')
    if (!inner || (type !== 'function' && type !== 'custom')) return null
    const shown = type === 'function' ? functionTool(body, inner, bytesOf(body, namespace)) : []
    if (shown === null) return null
    made.push(...shown)
  }
  return made
}

function toolOf(members: readonly Buffer[]): Buffer {
  return object([member('type', '"function"'), member('function', object(members))])
}

/** `auto`, `none` and `required` as they are, a named function as chat names it; anything else forces something. */
function toolChoiceOf(body: Buffer, value: Slice | undefined): Buffer | null {
  if (value === undefined || isNull(body, value)) return null
  const name = body[value.start] === quote ? null : stringSlice(body, membersOf(body, value.start) ?? [], 'name')
  return name ? toolOf([member('name', name)]) : bytesOf(body, value)
}

/** Members that chat has under the same name with the same meaning. */
const sameOptions: ReadonlySet<string> = new Set([
  'model', 'stream', 'temperature', 'top_p', 'top_k', 'min_p', 'presence_penalty', 'frequency_penalty', 'repetition_penalty',
  'logit_bias', 'seed', 'stop', 'stop_token_ids', 'ignore_eos', 'skip_special_tokens', 'include_stop_str_in_output',
  'structured_outputs', 'parallel_tool_calls', 'include_reasoning', 'priority', 'watermarking', 'cache_salt', 'vllm_xargs',
  'chat_template_kwargs', 'media_io_kwargs', 'mm_processor_kwargs', 'session_id', 'prompt_cache_key', 'metadata', 'user',
])

function optionsOf(body: Buffer, members: readonly Member[]): Buffer[] | null {
  const made: Buffer[] = []
  for (const { key, whole, value } of members) {
    if (sameOptions.has(key)) made.push(bytesOf(body, whole))
    if (isNull(body, value)) continue
    // It may cut the prompt.
    if (key === 'truncation' && stringAt(body, value) !== 'disabled') return null
    if (key === 'max_output_tokens') made.push(member('max_tokens', bytesOf(body, value)))
    if (key === 'reasoning') made.push(...effortOf(body, value))
    if (key === 'text') made.push(...grammarOf(body, value))
    if (key === 'include' && bytesOf(body, value).includes('"message.output_text.logprobs"')) made.push(member('logprobs', 'true'))
  }
  return made
}

function effortOf(body: Buffer, reasoning: Slice): Buffer[] {
  const effort = stringSlice(body, membersOf(body, reasoning.start) ?? [], 'effort')
  return effort ? [member('reasoning_effort', effort)] : []
}

/** vLLM makes a grammar of the format and shows nothing of it to the model (extract_structured_outputs). */
function grammarOf(body: Buffer, text: Slice): Buffer[] {
  const format = memberNamed(membersOf(body, text.start) ?? [], 'format')?.value
  const type = format && stringMember(body, format, 'type')
  if (!format || !type) return []
  if (type === 'json_object') return [member('structured_outputs', object([member('json_object', 'true')]))]
  const schema = type === 'json_schema' ? memberNamed(membersOf(body, format.start) ?? [], 'schema')?.value : undefined
  return schema ? [member('structured_outputs', object([member('json', bytesOf(body, schema))]))] : []
}

const quote = 0x22

function plainMessage(role: string, content: Buffer): Buffer {
  return object([member('role', JSON.stringify(role)), member('content', content)])
}

function textOf(body: Buffer, members: readonly Member[], key: string): string | null {
  const value = memberNamed(members, key)?.value
  return value ? stringAt(body, value) : null
}

/** The JSON string under a key, quotes and all. */
function stringSlice(body: Buffer, members: readonly Member[], key: string): Buffer | null {
  const value = memberNamed(members, key)?.value
  return value && body[value.start] === quote ? bytesOf(body, value) : null
}

/** flat_namespace_tool_name, of two JSON strings. */
function flatName(namespace: Buffer, name: Buffer): Buffer {
  return Buffer.concat([namespace.subarray(0, -1), Buffer.from('__'), name.subarray(1)])
}
