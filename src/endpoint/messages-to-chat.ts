// The chat request that vLLM makes of a messages request, built of slices of its bytes.
// Source: vLLM 0.32, vllm/entrypoints/anthropic/serving.py (to_chat_completion_request). What it refuses, or what we
// cannot tell, is null. `cache_control` means nothing to it.

import { array, member, object } from '../engine/prompt.ts'
import { readChatRequest, stringMember, topMembers } from '../wire/chat-request.ts'
import { bytesOf, elementsOf, isNull, memberNamed, membersOf, stringAt, stringNamed, type Member, type Slice } from '../wire/json-slices.ts'
import type { AsChat } from './endpoint.ts'

/** Its top-level members too; no key twice. */
export interface MessagesAsChat extends AsChat {
  readonly members: readonly Member[]
}

/** @returns null where vLLM refuses the request, or where we cannot tell what it would make of it */
export function messagesAsChat(body: Buffer): MessagesAsChat | null {
  const members = topMembers(body)
  if (members === null) return null
  const system = systemOf(body, memberNamed(members, 'system')?.value)
  const messagesAt = memberNamed(members, 'messages')?.value
  const items = messagesAt && elementsOf(body, messagesAt.start)
  const tools = toolsOf(body, memberNamed(members, 'tools')?.value)
  const options = optionsOf(body, members)
  if (system === null || !items || tools === null || options === null) return null
  const messages: Buffer[] = system === '' ? [] : [said('system', text(system))]
  const itemsEnd = messages.map(() => 0)
  for (const [i, item] of items.entries()) {
    const made = messagesOf(body, item)
    if (made === null) return null
    for (const message of made) {
      messages.push(message)
      itemsEnd.push(i + 1)
    }
  }
  const choice = toolChoiceOf(body, memberNamed(members, 'tool_choice')?.value)
  if (choice === null) return null
  const chat = readChatRequest(object([member('messages', array(messages)), ...tools, ...choice, ...options]))
  return chat && { chat, items, itemsEnd, members }
}

/** Claude Code's attribution line, another one in every session; vLLM leaves the block out. */
export const billing = 'x-anthropic-billing-header'

/** The system text: its blocks one behind the other. */
function systemOf(body: Buffer, value: Slice | undefined): string | null {
  if (value === undefined || isNull(body, value)) return ''
  if (body[value.start] === quote) return stringAt(body, value)
  return blockTexts(body, value)
}

/** The texts of blocks, attribution left out. */
function blockTexts(body: Buffer, list: Slice): string | null {
  const blocks = elementsOf(body, list.start)
  if (blocks === null) return null
  let joined = ''
  for (const block of blocks) {
    if (stringMember(body, block, 'type') !== 'text') return null
    const own = stringMember(body, block, 'text')
    if (own === null) return null
    if (!own.startsWith(billing)) joined += own
  }
  return joined
}

/** Whether two messages are the same chat messages: marks for a cache may have moved, a text may be its only block. */
export function sameMessage(a: Buffer, itemA: Slice, b: Buffer, itemB: Slice): boolean {
  const [ours, theirs] = [messagesOf(a, itemA), messagesOf(b, itemB)]
  return ours !== null && theirs !== null && ours.length === theirs.length && ours.every((message, i) => message.equals(theirs[i]!))
}

/** The chat messages of one message: results of tools come first, each a message of its own. */
function messagesOf(body: Buffer, item: Slice): Buffer[] | null {
  const role = stringMember(body, item, 'role')
  const content = memberNamed(membersOf(body, item.start) ?? [], 'content')?.value
  if (content === undefined) return null
  if (role === 'system') {
    // Some templates take system text in front only; vLLM moves it there then, which calibration finds out.
    const isText = body[content.start] === quote
    const own = isText ? stringAt(body, content) : blockTexts(body, content)
    if (own === null) return null
    return own === '' || (isText && own.startsWith(billing)) ? [] : [said('system', text(own))]
  }
  if (role !== 'user' && role !== 'assistant') return null
  if (body[content.start] === quote) return [said(role, bytesOf(body, content))]
  const blocks = elementsOf(body, content.start)
  return blocks && messagesOfBlocks(body, role, blocks)
}

function messagesOfBlocks(body: Buffer, role: 'user' | 'assistant', blocks: readonly Slice[]): Buffer[] | null {
  const results: Buffer[] = []
  const parts: Buffer[] = []
  const texts: Buffer[] = []
  const calls: Buffer[] = []
  let thinking: string | null = null
  for (const block of blocks) {
    switch (stringMember(body, block, 'type')) {
      case 'text': {
        const own = stringSlice(body, block, 'text')
        if (own === null) return null
        // vLLM leaves out a text that is empty.
        if (own.length === 2) break
        texts.push(own)
        parts.push(object([member('type', '"text"'), member('text', own)]))
        break
      }
      case 'image':
        // Not read here: requests with media are not forked.
        parts.push(Buffer.from('{"type":"image_url","image_url":{"url":"data:,"}}'))
        break
      case 'thinking': {
        const thought = stringMember(body, block, 'thinking')
        if (thought === null) return null
        thinking = (thinking ?? '') + thought
        break
      }
      case 'redacted_thinking':
      case 'tool_reference':
        break
      case 'tool_use': {
        const call = callOf(body, block)
        if (call === null) return null
        calls.push(call)
        break
      }
      case 'tool_result': {
        // An assistant's is printed as a Python object.
        const result = role === 'user' ? resultOf(body, block) : null
        if (result === null) return null
        results.push(result)
        break
      }
      default:
        return null
    }
  }
  // vLLM takes them of users too, and templates show them or not.
  if (role === 'user' && (calls.length > 0 || thinking !== null)) return null
  const content = parts.length === 0 ? [] : [member('content', parts.length === 1 && texts.length === 1 ? texts[0]! : array(parts))]
  if (role === 'user') return content.length === 0 ? results : [...results, object([member('role', '"user"'), ...content])]
  return [object([
    member('role', '"assistant"'), ...content,
    ...(thinking === null ? [] : [member('reasoning', text(thinking))]),
    ...(calls.length > 0 ? [member('tool_calls', array(calls))] : []),
  ])]
}

function callOf(body: Buffer, block: Slice): Buffer | null {
  const id = stringSlice(body, block, 'id')
  const name = stringSlice(body, block, 'name')
  const input = memberNamed(membersOf(body, block.start) ?? [], 'input')?.value
  // Without an id vLLM makes one of the time.
  if (!id || id.length === 2 || !name) return null
  if (input && !isNull(body, input) && body[input.start] !== openBrace) return null
  const args = input && !isNull(body, input) ? bytesOf(body, input).toString('utf8') : '{}'
  return object([member('id', id), member('type', '"function"'), member('function', object([member('name', name), member('arguments', text(args))]))])
}

function resultOf(body: Buffer, block: Slice): Buffer | null {
  const id = stringSlice(body, block, 'tool_use_id') ?? Buffer.from('""')
  const content = memberNamed(membersOf(body, block.start) ?? [], 'content')?.value
  const result = (own: Buffer): Buffer => object([member('role', '"tool"'), member('tool_call_id', id), member('content', own)])
  if (content === undefined || isNull(body, content)) return result(Buffer.from('""'))
  if (body[content.start] === quote) return result(bytesOf(body, content))
  const parts = elementsOf(body, content.start)
  if (parts === null) return null
  const lines: string[] = []
  for (const part of parts) {
    // Images and references to tools become messages of their own.
    if (stringMember(body, part, 'type') !== 'text') return null
    lines.push(stringMember(body, part, 'text') ?? '')
  }
  return result(text(lines.join('\n')))
}

function toolsOf(body: Buffer, value: Slice | undefined): Buffer[] | null {
  if (value === undefined || isNull(body, value)) return []
  const tools = elementsOf(body, value.start)
  if (tools === null) return null
  const made: Buffer[] = []
  for (const tool of tools) {
    const members = membersOf(body, tool.start)
    const type = stringMember(body, tool, 'type')
    const schema = members && memberNamed(members, 'input_schema')?.value
    // A tool of Anthropic's servers has no schema.
    if (!members || !schema || (type !== null && type !== 'custom')) return null
    const own = ['name', 'description', 'strict', 'defer_loading'].flatMap((key) => {
      const found = memberNamed(members, key)?.value
      return found ? [member(key, bytesOf(body, found))] : []
    })
    const parameters = schemaOf(body, schema)
    if (parameters === null) return null
    made.push(object([member('type', '"function"'), member('function', object([...own, member('parameters', parameters)]))]))
  }
  // An empty list is one too: templates may ask whether there is any.
  return [member('tools', array(made))]
}

/** A schema without a type is given one, behind what it has. */
function schemaOf(body: Buffer, schema: Slice): Buffer | null {
  const members = body[schema.start] === openBrace ? membersOf(body, schema.start) : null
  if (members === null) return null
  return memberNamed(members, 'type') ? bytesOf(body, schema) : object([...members.map(({ whole }) => bytesOf(body, whole)), member('type', '"object"')])
}

/** The members that say which tool may be called; null for one that nobody knows. */
function toolChoiceOf(body: Buffer, value: Slice | undefined): Buffer[] | null {
  if (value === undefined || isNull(body, value)) return []
  switch (stringMember(body, value, 'type')) {
    case 'auto': return [member('tool_choice', '"auto"')]
    case 'any': return [member('tool_choice', '"required"')]
    case 'none': return [member('tool_choice', '"none"')]
    case 'tool': {
      const name = stringSlice(body, value, 'name')
      return name && [member('tool_choice', object([member('type', '"function"'), member('function', object([member('name', name)]))]))]
    }
    default: return null
  }
}

/** Members that chat has under the same name with the same meaning. */
const sameOptions: ReadonlySet<string> = new Set(['model', 'stream', 'temperature', 'top_p', 'top_k', 'watermarking', 'cache_salt', 'vllm_xargs', 'chat_template_kwargs', 'max_tokens', 'metadata'])

function optionsOf(body: Buffer, members: readonly Member[]): Buffer[] | null {
  const made: Buffer[] = []
  let effort: string | null = null
  let isDisabled = false
  for (const { key, whole, value } of members) {
    if (sameOptions.has(key)) made.push(bytesOf(body, whole))
    if (isNull(body, value)) continue
    if (key === 'stop_sequences') {
      if (elementsOf(body, value.start) === null) return null
      made.push(member('stop', bytesOf(body, value)))
    }
    if (key === 'output_config') {
      const format = memberNamed(membersOf(body, value.start) ?? [], 'format')?.value
      if (format && !isNull(body, format)) made.push(...formatOf(body, format))
      const given = stringMember(body, value, 'effort')
      if (given !== null && !efforts.has(given)) return null
      effort = given
    }
    if (key === 'thinking') {
      const type = stringMember(body, value, 'type')
      if (type === null || !thinkingTypes.has(type)) return null
      isDisabled = type === 'disabled'
      const budget = budgetOf(body, value)
      if (type === 'enabled' && budget === null) return null
      if (budget !== null) made.push(member('thinking_token_budget', bytesOf(body, budget)))
    }
  }
  // Where the template knows no "none", vLLM says "low"; calibration sees the difference.
  if (isDisabled) effort = 'none'
  return effort === null ? made : [...made, member('reasoning_effort', JSON.stringify(effort))]
}

/** Some renderers put it into the prompt; an empty schema is none. */
function formatOf(body: Buffer, format: Slice): Buffer[] {
  const schema = memberNamed(membersOf(body, format.start) ?? [], 'schema')?.value
  if (!schema || isNull(body, schema) || membersOf(body, schema.start)?.length === 0) return []
  const described = object([member('name', '"json_schema"'), member('schema', bytesOf(body, schema))])
  return [member('response_format', object([member('type', '"json_schema"'), member('json_schema', described)]))]
}

/** How many tokens a request may think, where it says so; vLLM refuses as many as the whole reply may have. */
export function budgetOf(body: Buffer, thinking: Slice): Slice | null {
  if (stringMember(body, thinking, 'type') !== 'enabled') return null
  return memberNamed(membersOf(body, thinking.start) ?? [], 'budget_tokens')?.value ?? null
}

const efforts: ReadonlySet<string> = new Set(['low', 'medium', 'high', 'xhigh', 'max'])
const thinkingTypes: ReadonlySet<string> = new Set(['enabled', 'adaptive', 'disabled'])

const quote = 0x22
const openBrace = 0x7b

function said(role: string, content: Buffer): Buffer {
  return object([member('role', JSON.stringify(role)), member('content', content)])
}

function text(of: string): Buffer {
  return Buffer.from(JSON.stringify(of))
}

/** The JSON string under a key of an object, quotes and all. */
function stringSlice(body: Buffer, of: Slice, key: string): Buffer | null {
  return stringNamed(body, membersOf(body, of.start) ?? [], key)
}
