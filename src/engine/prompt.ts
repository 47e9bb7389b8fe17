// Asks the engine how it renders a prompt: bodies for /tokenize and for the render endpoint, made of a request's own bytes.
// /tokenize is not the chat endpoint: what chat reads and /tokenize does not is mirrored here (see the table in mirrored).

import { chatOptions } from '../endpoint/chat-options.ts'
import { roleOf } from '../endpoint/role.ts'
import { bytesOf, isNull, memberNamed, membersOf, stringAt, type Slice } from '../wire/json-slices.ts'
import { option, readChatRequest, stringMember, stringOption, textInsides, type ChatRequest } from '../wire/chat-request.ts'

/** A prompt to be rendered: the options of one request with messages of any origin. */
export interface Prompt {
  readonly options: ChatRequest
  /** Each one a JSON object. */
  readonly messages: readonly Buffer[]
}

/** In what the engine's version makes /tokenize and chat differ; found by calibration, never from the version. */
export interface Dialect {
  /** Chat renames `reasoning_content` to `reasoning` (0.22 and later). */
  readonly renamesReasoning: boolean
  /** Chat sets `enable_thinking` by `reasoning_effort` (0.22 and later). */
  readonly effortSetsThinking: boolean
  /** The messages endpoint moves system text to the front: before a template that takes it nowhere else. */
  readonly systemInFront?: true
  /** What the messages endpoint says in place of the effort `none`: before a template that cannot do without thinking. */
  readonly leastEffort?: 'low'
}

/** A prompt as its endpoint makes it before this engine's template. */
export function asPrefilled({ options, messages }: Prompt, { systemInFront, leastEffort }: Dialect): Prompt {
  return {
    options: leastEffort && stringOption(options, 'reasoning_effort') === 'none' ? withEffort(options, leastEffort) : options,
    messages: systemInFront ? withSystemInFront(messages) : messages,
  }
}

function withEffort({ body, members }: ChatRequest, effort: string): ChatRequest {
  const others = members.filter(({ key }) => key !== 'reasoning_effort').map(({ whole }) => bytesOf(body, whole))
  return readChatRequest(object([...others, member('reasoning_effort', JSON.stringify(effort))]))!
}

/** One system message in front of all others, its texts one behind the other (vllm/entrypoints/anthropic/serving.py). */
function withSystemInFront(messages: readonly Buffer[]): readonly Buffer[] {
  const isSystem = messages.map((message) => message.includes('"system"') && stringMember(message, { start: 0, end: message.length }, 'role') === 'system')
  if (!isSystem.includes(true)) return messages
  const texts = messages.filter((_, i) => isSystem[i]).flatMap((message) => textInsides(message, { start: 0, end: message.length }) ?? [])
  const content = Buffer.concat([quotes, ...texts, quotes])
  return [object([member('role', '"system"'), member('content', content)]), ...messages.filter((_, i) => !isSystem[i])]
}

const quotes = Buffer.from('"')

/** Options that /tokenize reads itself (vllm/entrypoints/serve/tokenize/protocol.py). */
const tokenizeOptions = ['model', 'tools', 'chat_template', 'add_special_tokens', 'mm_processor_kwargs', 'media_io_kwargs'] as const

/** @param generationPrompt whether the rendering ends with the mark that opens the assistant's turn */
export function tokenizeBody(prompt: Prompt, dialect: Dialect, generationPrompt: boolean): Buffer {
  const { body } = prompt.options
  const members: Buffer[] = [messagesMember(prompt.messages.map((message) => dialect.renamesReasoning ? renameReasoning(message) : message))]
  for (const key of tokenizeOptions) {
    const value = option(prompt.options, key)
    if (value) members.push(member(key, bytesOf(body, value)))
  }
  const kwargs = mirrored(prompt.options, dialect)
  if (kwargs) members.push(member('chat_template_kwargs', kwargs))
  if (!generationPrompt) members.push(member('add_generation_prompt', 'false'))
  return object(members)
}

/** @param toolChoice what the chat request would carry, or null to keep the options' own */
export function renderBody(prompt: Prompt, generationPrompt: boolean, toolChoice: Buffer | null): Buffer {
  const members: Buffer[] = [messagesMember(prompt.messages), member('max_tokens', '1')]
  for (const { key, whole } of prompt.options.members) {
    if (key === 'tools' || roleOf(chatOptions, key) === 'prompt') members.push(bytesOf(prompt.options.body, whole))
  }
  const choice = toolChoice ?? ownToolChoice(prompt.options)
  if (choice) members.push(member('tool_choice', choice))
  if (!generationPrompt) members.push(member('add_generation_prompt', 'false'))
  return object(members)
}

/** A request's own `tool_choice`, or null. */
export function ownToolChoice(request: ChatRequest): Buffer | null {
  const value = option(request, 'tool_choice')
  return value ? bytesOf(request.body, value) : null
}

/** A member as JSON writes it. */
export function member(key: string, value: Buffer | string): Buffer {
  return Buffer.concat([Buffer.from(`${JSON.stringify(key)}:`), typeof value === 'string' ? Buffer.from(value) : value])
}

/** An object of members. */
export function object(members: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.from('{'), ...joined(members), Buffer.from('}')])
}

/** An array of values. */
export function array(values: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.from('['), ...joined(values), Buffer.from(']')])
}

function messagesMember(messages: readonly Buffer[]): Buffer {
  return member('messages', array(messages))
}

const comma = Buffer.from(',')

function joined(parts: readonly Buffer[]): Buffer[] {
  return parts.flatMap((part, i) => (i === 0 ? [part] : [comma, part]))
}

/**
 * `chat_template_kwargs` as chat makes them of its options: `reasoning_effort`, the `enable_thinking` it implies unless
 * the request says otherwise, and `documents` (chat_completion/protocol.py, build_chat_params).
 */
function mirrored(request: ChatRequest, dialect: Dialect): Buffer | null {
  const { body } = request
  const own = option(request, 'chat_template_kwargs')
  const effort = option(request, 'reasoning_effort')
  const documents = option(request, 'documents')
  if (!effort && !documents) return own ? bytesOf(body, own) : null
  const added: Buffer[] = []
  if (effort) {
    added.push(member('reasoning_effort', bytesOf(body, effort)))
    if (dialect.effortSetsThinking && !hasKey(body, own, 'enable_thinking')) {
      added.push(member('enable_thinking', stringAt(body, effort) === 'none' ? 'false' : 'true'))
    }
  }
  if (documents) added.push(member('documents', bytesOf(body, documents)))
  const kept = own ? (membersOf(body, own.start) ?? []).map(({ whole }) => bytesOf(body, whole)) : []
  return object([...kept, ...added])
}

function hasKey(body: Buffer, own: Slice | undefined, key: string): boolean {
  return own !== undefined && memberNamed(membersOf(body, own.start) ?? [], key) !== undefined
}

/** Adds what stands under `reasoning_content` under `reasoning` too, unless that has a value of its own. */
function renameReasoning(message: Buffer): Buffer {
  // A key may be written with escapes.
  if (!message.includes('"reasoning_content"') && !message.includes('\\u')) return message
  const members = membersOf(message, 0) ?? []
  const content = memberNamed(members, 'reasoning_content')
  const reasoning = memberNamed(members, 'reasoning')
  if (!content || (reasoning && !isNull(message, reasoning.value))) return message
  // The last of equal keys counts, so a null before it does no harm.
  const last = message.lastIndexOf('}')
  return Buffer.concat([message.subarray(0, last), Buffer.from(','), member('reasoning', bytesOf(message, content.value)), message.subarray(last)])
}
