// A messages request as vLLM reads it: the chat that it makes of blocks and tools, and its refusals
// (vllm/entrypoints/anthropic/serving.py, to_chat_completion_request).

import { isObject, optionalString, quoted } from './body.ts'
import { type ChatOptions, chatOptions } from './chat-request.ts'
import { badParameter, invalidField } from './errors.ts'
import type { Renderer } from './prompt.ts'
import { dumpJson, type Json, type JsonObject } from './python-json.ts'

export interface MessagesRequest {
  readonly options: ChatOptions
  /** The chat request that is rendered. */
  readonly chat: JsonObject
}

/** Members that chat reads alike. */
const alike = ['model', 'stream', 'temperature', 'top_p', 'cache_salt', 'chat_template_kwargs', 'max_tokens'] as const

export function messagesRequest(body: JsonObject, { settings, takesSystemInFrontOnly }: Renderer): MessagesRequest {
  const messages = body.get('messages')
  if (messages === undefined) throw invalidField('missing', 'messages', 'Field required', quoted(body))
  if (!Array.isArray(messages)) throw invalidField('list_type', 'messages', 'Input should be a valid list', quoted(messages))
  if (!body.has('max_tokens')) throw invalidField('missing', 'max_tokens', 'Field required', quoted(body))
  const limit = body.get('max_tokens')
  if (typeof limit === 'number' && limit <= 0) throw invalidField('value_error', 'max_tokens', 'Value error, max_tokens must be positive', String(limit))
  const thinking = body.get('thinking')
  const budget = isObject(thinking) && thinking.get('type') === 'enabled' ? thinking.get('budget_tokens') : null
  if (typeof budget === 'number' && typeof limit === 'number' && budget >= limit) {
    throw invalidField('value_error', '', 'Value error, thinking.budget_tokens must be less than max_tokens', quoted(body))
  }
  const shown = tools(body)
  const choice = toolChoice(body)
  const stop = body.get('stop_sequences') ?? null
  const apart = system(body)
  const said = messages.flatMap((message, i) => chatMessages(message, `messages.${i}`))
  const chat: JsonObject = new Map<string, Json>([
    ['messages', takesSystemInFrontOnly ? merged(apart, said) : [...apart, ...said]],
    ...(shown.length > 0 ? [['tools', shown] as const, ['tool_choice', choice ?? 'auto'] as const] : []),
    ...alike.flatMap((key) => (body.has(key) ? [[key, body.get(key)!] as const] : [])),
    ...(stop === null ? [] : [['stop', stop] as const]),
    ['reasoning_effort', effort(body)],
    ...(budget == null ? [] : [['thinking_token_budget', budget] as const]),
  ])
  return { options: chatOptions(chat, settings), chat }
}

const billing = 'x-anthropic-billing-header'

function system(body: JsonObject): Json[] {
  const given = body.get('system') ?? null
  const text = given === null ? '' : typeof given === 'string' ? given : texts(given).filter((each) => !each.startsWith(billing)).join('')
  return text === '' ? [] : [message('system', text)]
}

/** System text from wherever it stands, in one message in front (_convert_system_message). */
function merged(apart: readonly Json[], said: readonly Json[]): Json[] {
  const isSystem = (each: Json): each is JsonObject => isObject(each) && each.get('role') === 'system'
  const all = [...apart, ...said].filter(isSystem).map((each) => String(each.get('content'))).join('')
  return [...(all === '' ? [] : [message('system', all)]), ...said.filter((each) => !isSystem(each))]
}

function texts(blocks: Json): string[] {
  return (Array.isArray(blocks) ? blocks : []).flatMap((block) => (isObject(block) && block.get('type') === 'text' ? [String(block.get('text') ?? '')] : []))
}

function message(role: string, content: Json): JsonObject {
  return new Map<string, Json>([['role', role], ['content', content]])
}

function chatMessages(item: Json, location: string): Json[] {
  if (!isObject(item)) throw invalidField('model_attributes_type', location, 'Input should be a valid dictionary or object to extract fields from', quoted(item))
  const role = item.get('role')
  if (role !== 'user' && role !== 'assistant' && role !== 'system') throw invalidField('literal_error', `${location}.role`, "Input should be 'user', 'assistant' or 'system'", quoted(role))
  const content = item.get('content')
  if (content === undefined) throw invalidField('missing', `${location}.content`, 'Field required', quoted(item))
  if (role === 'system') {
    const text = typeof content === 'string' ? content : texts(content).filter((each) => !each.startsWith(billing)).join('')
    return text === '' || text.startsWith(billing) ? [] : [message('system', text)]
  }
  if (typeof content === 'string') return [message(role, content)]
  if (!Array.isArray(content)) throw invalidField('list_type', `${location}.content`, 'Input should be a valid list', quoted(content))
  const results: Json[] = []
  const parts: JsonObject[] = []
  const calls: Json[] = []
  const thoughts: string[] = []
  for (const block of content) {
    if (!isObject(block)) throw invalidField('model_attributes_type', `${location}.content`, 'Input should be a valid dictionary or object to extract fields from', quoted(block))
    switch (block.get('type')) {
      case 'text':
        if (block.get('text')) parts.push(new Map<string, Json>([['type', 'text'], ['text', String(block.get('text'))]]))
        break
      case 'thinking':
        thoughts.push(String(block.get('thinking') ?? ''))
        break
      case 'redacted_thinking':
      case 'tool_reference':
        break
      case 'tool_use':
        calls.push(call(block))
        break
      case 'tool_result': {
        const own = block.get('content') ?? ''
        results.push(new Map<string, Json>([['role', 'tool'], ['tool_call_id', String(block.get('tool_use_id') ?? '')], ['content', typeof own === 'string' ? own : texts(own).join('\n')]]))
        break
      }
      default: throw badParameter('The simulator reads text, thinking, tool_use and tool_result blocks only.', 'messages')
    }
  }
  const [first] = parts
  const said: readonly (readonly [string, Json])[] = first === undefined ? [] : [['content', parts.length === 1 ? first.get('text')! : parts]]
  if (role === 'user') return said.length === 0 ? results : [...results, new Map<string, Json>([['role', role], ...said])]
  return [...results, new Map<string, Json>([
    ['role', role], ...said,
    ...(thoughts.length > 0 ? [['reasoning', thoughts.join('')] as const] : []),
    ...(calls.length > 0 ? [['tool_calls', calls] as const] : []),
  ])]
}

function call(block: JsonObject): Json {
  const input = block.get('input') ?? null
  return new Map<string, Json>([
    ['id', String(block.get('id') ?? '')], ['type', 'function'],
    ['function', new Map<string, Json>([['name', String(block.get('name') ?? '')], ['arguments', input === null ? '{}' : dumpJson(input)]])],
  ])
}

function tools(body: JsonObject): Json[] {
  const given = body.get('tools') ?? null
  if (given === null) return []
  if (!Array.isArray(given)) throw invalidField('list_type', 'tools', 'Input should be a valid list', quoted(given))
  return given.map((tool, i) => {
    if (!isObject(tool) || !isObject(tool.get('input_schema'))) throw invalidField('missing', `tools.${i}.input_schema`, 'Field required', quoted(tool))
    const schema = tool.get('input_schema') as JsonObject
    const parameters = schema.has('type') ? schema : new Map<string, Json>([...schema, ['type', 'object']])
    return new Map<string, Json>([['type', 'function'], ['function', new Map<string, Json>([
      ['name', tool.get('name') ?? null], ['description', tool.get('description') ?? null], ['parameters', parameters],
      ...(['strict', 'defer_loading'] as const).flatMap((key) => ((tool.get(key) ?? null) === null ? [] : [[key, tool.get(key)!] as const])),
    ])]])
  })
}

function toolChoice(body: JsonObject): Json {
  const choice = body.get('tool_choice') ?? null
  if (!isObject(choice)) return null
  const type = choice.get('type')
  if (type === 'tool') return new Map<string, Json>([['type', 'function'], ['function', new Map<string, Json>([['name', choice.get('name') ?? null]])]])
  return type === 'any' ? 'required' : typeof type === 'string' ? type : null
}

function effort(body: JsonObject): Json {
  const thinking = body.get('thinking')
  if (isObject(thinking) && thinking.get('type') === 'disabled') return 'none'
  const config = body.get('output_config')
  return isObject(config) ? optionalString(config, 'effort') : null
}
