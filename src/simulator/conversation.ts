// From the wire's messages and tools to those that the chat template sees, as vLLM's
// vllm/renderers/chat_utils.py and ChatCompletionToolsParam make them.

import { badRequest, invalidField } from './errors.ts'
import { isObject, optionalBoolean, optionalObject, optionalString, quoted } from './body.ts'
import { dumpJson, JsonError, type Json, type JsonObject, parseJson } from './python-json.ts'

export interface TemplateToolCall {
  readonly id: string
  readonly type: string
  /** Arguments as Python would print them: the template puts a string in as it is. */
  readonly function: { readonly name: string, readonly arguments: string }
}

export interface TemplateMessage {
  readonly role: string
  content: string
  readonly name?: string
  readonly tool_call_id?: string
  readonly reasoning?: string
  readonly reasoning_content?: string
  readonly tool_calls?: readonly TemplateToolCall[]
}

/** Roles whose content may be null (vllm's message types; missing content is accepted on all). */
const nullContentRoles: ReadonlySet<string> = new Set(['assistant', 'function'])

/** Kinds of content parts that carry text, with the member that holds it. */
const textParts: ReadonlyMap<string, string> = new Map([['text', 'text'], ['refusal', 'refusal'], ['thinking', 'thinking']])
const mediaParts: ReadonlySet<string> = new Set([
  'image_url', 'input_audio', 'audio_url', 'video_url', 'image_embeds', 'audio_embeds', 'video_embeds',
])

const billingHeader = 'x-anthropic-billing-header'

/**
 * @param renameReasoningContent chat reads `reasoning_content` where `reasoning` is missing or null; /tokenize ignores it
 * @throws Refusal for what vLLM answers 400
 */
export function templateMessages(
  messages: Json | undefined, model: string, renameReasoningContent: boolean,
): TemplateMessage[] {
  if (messages === undefined) throw invalidField('missing', 'messages', 'Field required', '<dict of 1 items>')
  if (!Array.isArray(messages)) throw invalidField('list_type', 'messages', 'Input should be a valid list', quoted(messages))
  const converted = messages.map((message, index) => templateMessage(message, index, model, renameReasoningContent))
  return converted.some((message) => message.role === 'developer') ? developersToSystem(converted) : converted
}

function templateMessage(message: Json, index: number, model: string, rename: boolean): TemplateMessage {
  const location = `messages.${index}`
  if (!isObject(message)) throw invalidField('dict_type', location, 'Input should be a valid dictionary', quoted(message))
  const role = message.get('role')
  if (typeof role !== 'string') throw invalidField('string_type', `${location}.role`, 'Input should be a valid string', quoted(role))
  const out: { -readonly [K in keyof TemplateMessage]: TemplateMessage[K] } = {
    role, content: messageContent(message, role, location, model),
  }
  if (role === 'assistant') {
    const calls = toolCalls(message.get('tool_calls'), location)
    if (calls !== null) out.tool_calls = calls
    const named = message.get('reasoning') ?? null
    const reasoning = named ?? (rename ? message.get('reasoning_content') ?? null : null)
    if (reasoning !== null) {
      if (typeof reasoning !== 'string') {
        throw invalidField('string_type', `${location}.reasoning`, 'Input should be a valid string', quoted(reasoning))
      }
      out.reasoning = out.reasoning_content = reasoning
    }
  }
  const callId = message.get('tool_call_id')
  if (role === 'tool' && typeof callId === 'string') out.tool_call_id = callId
  const name = message.get('name')
  if (typeof name === 'string') out.name = name
  return out
}

function messageContent(message: JsonObject, role: string, location: string, model: string): string {
  const content = message.get('content')
  if (content === undefined) return ''
  if (content === null) {
    if (nullContentRoles.has(role)) return ''
    throw invalidField('string_type', `${location}.content`, 'Input should be a valid string', 'None')
  }
  if (typeof content !== 'string' && !Array.isArray(content)) {
    throw invalidField('string_type', `${location}.content`, 'Input should be a valid string', quoted(content))
  }
  const parts = typeof content === 'string' ? [content] : content.map((part) => partText(part, location, model))
  return (role === 'system' ? withoutBillingHeader(parts) : parts).join('\n')
}

function partText(part: Json, location: string, model: string): string {
  const type = isObject(part) ? part.get('type') : undefined
  if (!isObject(part) || typeof type !== 'string') {
    throw invalidField('missing', `${location}.content`, 'Field required', quoted(part))
  }
  if (mediaParts.has(type)) throw badRequest(`${model} is not a multimodal model`)
  const member = textParts.get(type)
  const text = member === undefined ? undefined : part.get(member)
  if (typeof text === 'string') return text
  throw invalidField('literal_error', `${location}.content`, "Input should be 'text'", type)
}

/** vLLM drops Claude Code's ever-changing attribution line from system texts (_strip_claude_code_billing_header). */
function withoutBillingHeader(texts: readonly string[]): string[] {
  return texts.flatMap((text) => {
    if (!text.startsWith(billingHeader)) return [text]
    const lineEnd = text.indexOf('\n')
    const rest = lineEnd < 0 ? '' : text.slice(lineEnd + 1)
    return rest === '' ? [] : [rest]
  })
}

function toolCalls(calls: Json | undefined, location: string): TemplateToolCall[] | null {
  if (calls === undefined || calls === null) return null
  if (!Array.isArray(calls)) throw invalidField('list_type', `${location}.tool_calls`, 'Input should be a valid list', quoted(calls))
  if (calls.length === 0) return null
  return calls.map((call, index) => {
    const at = `${location}.tool_calls.${index}`
    const called = isObject(call) ? call.get('function') : undefined
    if (!isObject(call) || !isObject(called)) throw invalidField('missing', `${at}.function`, 'Field required', quoted(call))
    const name = called.get('name')
    if (typeof name !== 'string') throw invalidField('string_type', `${at}.function.name`, 'Input should be a valid string', quoted(name))
    const text = called.get('arguments')
    if (typeof text !== 'string') {
      throw invalidField('string_type', `${at}.function.arguments`, 'Input should be a valid string', quoted(text))
    }
    const id = call.get('id')
    if (typeof id !== 'string') throw invalidField('missing', `${at}.id`, 'Field required', quoted(call))
    if (call.get('type') !== 'function') throw invalidField('missing', `${at}.type`, 'Field required', quoted(call))
    return {
      id,
      type: 'function',
      function: { name, arguments: dumpJson(argumentsObject(text)) },
    }
  })
}

/** vLLM 0.32 renders whatever is no JSON object as `{}`, silently (_postprocess_messages). */
function argumentsObject(text: string): JsonObject {
  try {
    const parsed = parseJson(text)
    return isObject(parsed) ? parsed : new Map()
  } catch (error) {
    if (error instanceof JsonError) return new Map()
    throw error
  }
}

/** For templates without a developer role: developer becomes system, and all system texts move to the front. */
function developersToSystem(messages: readonly TemplateMessage[]): TemplateMessage[] {
  const converted = messages.map((message) => message.role === 'developer' ? { ...message, role: 'system' } : message)
  const systems = converted.filter((message) => message.role === 'system')
  if (systems.length === 1 && converted[0]?.role === 'system') return converted
  const content = systems.map((message) => message.content).filter((text) => text !== '').join('\n\n')
  return [{ role: 'system', content }, ...converted.filter((message) => message.role !== 'system')]
}

/** Every tool as the template's `tojson` prints it: rebuilt from the members that vLLM knows, in vLLM's order. */
export function templateTools(tools: Json | undefined): string[] | null {
  if (tools === undefined || tools === null) return null
  if (!Array.isArray(tools)) throw invalidField('list_type', 'tools', 'Input should be a valid list', quoted(tools))
  return tools.map((tool, index) => dumpJson(templateTool(tool, index)))
}

function templateTool(tool: Json, index: number): JsonObject {
  const described = isObject(tool) ? tool.get('function') : undefined
  if (!isObject(tool) || !isObject(described)) throw invalidField('missing', `tools.${index}.function`, 'Field required', quoted(tool))
  const name = described.get('name')
  if (typeof name !== 'string') throw invalidField('missing', `tools.${index}.function.name`, 'Field required', quoted(described))
  const type = tool.get('type') ?? 'function'
  if (type !== 'function') throw invalidField('literal_error', `tools.${index}.type`, "Input should be 'function'", quoted(type))
  const description = optionalString(described, 'description')
  const rebuilt: JsonObject = new Map<string, Json>([
    ['name', name],
    ['description', description],
    ['parameters', optionalObject(described, 'parameters')],
  ])
  if ((described.get('strict') ?? null) !== null) rebuilt.set('strict', optionalBoolean(described, 'strict'))
  const outer = (tool.get('defer_loading') ?? null) === null ? null : optionalBoolean(tool, 'defer_loading')
  const inner = (described.get('defer_loading') ?? null) === null ? outer : optionalBoolean(described, 'defer_loading')
  if (inner !== null) rebuilt.set('defer_loading', inner)
  return new Map<string, Json>([
    ['type', 'function'], ['function', rebuilt], ...(outer === null ? [] : [['defer_loading', outer] as const]),
  ])
}
