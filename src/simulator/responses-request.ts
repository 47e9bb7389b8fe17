// A responses request as vLLM reads it: the chat that it makes of items and tools, and its refusals
// (vllm/entrypoints/openai/responses/protocol.py and utils.py).

import { boolean, isObject, optionalBoolean, optionalInteger, optionalObject, optionalString, quoted } from './body.ts'
import { type ChatOptions, chatOptions } from './chat-request.ts'
import { badParameter, errorObject, invalidField, Refusal } from './errors.ts'
import { jsonAnswer } from './answer.ts'
import type { Settings } from './options.ts'
import { dumpJson, type Json, type JsonObject } from './python-json.ts'

export interface ResponsesRequest {
  readonly options: ChatOptions
  /** The chat request that is rendered. */
  readonly chat: JsonObject
  /** Ids of prompt and reply, and their texts, come with the response. */
  readonly showsMessages: boolean
  /** Names of the tools that take free text. */
  readonly customTools: ReadonlySet<string>
  /** Namespace and name by the name that the model is shown. */
  readonly namespaced: ReadonlyMap<string, { readonly namespace: string, readonly name: string }>
}

/** Members that chat reads alike. */
const alike = ['model', 'stream', 'temperature', 'top_p', 'stop', 'ignore_eos', 'skip_special_tokens', 'cache_salt', 'request_id',
  'chat_template_kwargs', 'include_reasoning'] as const

export function responsesRequest(body: JsonObject, settings: Settings): ResponsesRequest {
  if ((body.get('prompt') ?? null) !== null) throw badParameter('prompt template is not supported', 'prompt')
  const named = tools(body)
  const choice = toolChoice(body, named.shown)
  const messages = [...instructions(body), ...inputMessages(body)]
  const limit = optionalInteger(body, 'max_output_tokens')
  if (limit !== null && limit > settings.maxModelLen) {
    throw badParameter(`max_output_tokens=${limit} cannot be greater than max_model_len=${settings.maxModelLen}. Please request fewer `
      + 'output tokens.', 'max_output_tokens', limit)
  }
  const chat: JsonObject = new Map<string, Json>([
    ['messages', messages],
    ...(named.shown.length > 0 ? [['tools', named.shown] as const, ['tool_choice', choice] as const] : []),
    ...alike.flatMap((key) => (body.has(key) ? [[key, body.get(key)!] as const] : [])),
    ['max_tokens', limit], ['reasoning_effort', effort(body)],
  ])
  refuseState(body)
  return {
    // No parser is needed here to offer tools.
    options: chatOptions(chat, { ...settings, toolParser: true }),
    chat, showsMessages: boolean(body, 'enable_response_messages', false), customTools: named.custom, namespaced: named.namespaced,
  }
}

/** Nothing is stored without VLLM_ENABLE_RESPONSES_API_STORE. */
function refuseState(body: JsonObject): void {
  if (optionalBoolean(body, 'background')) {
    throw new Refusal(jsonAnswer(400, errorObject('This vLLM engine does not support `store=True` and therefore does not support the background '
      + 'mode. To enable these features, set the environment variable `VLLM_ENABLE_RESPONSES_API_STORE=1` when launching the vLLM server.',
    'invalid_request_error', 'background', 400)))
  }
  const previous = optionalString(body, 'previous_response_id')
  if (previous !== null) throw unknownResponse(previous)
}

export function unknownResponse(id: string): Refusal {
  return new Refusal(jsonAnswer(404, errorObject(`Response with id '${id}' not found.`, 'invalid_request_error', 'response_id', 404)))
}

function effort(body: JsonObject): Json {
  return optionalObject(body, 'reasoning')?.get('effort') ?? null
}

function instructions(body: JsonObject): Json[] {
  const text = optionalString(body, 'instructions')
  return text === null || text === '' ? [] : [message('system', text)]
}

function message(role: string, content: Json): JsonObject {
  return new Map<string, Json>([['role', role], ['content', content]])
}

function inputMessages(body: JsonObject): Json[] {
  const input = body.get('input')
  if (input === undefined) throw invalidField('missing', 'input', 'Field required', quoted(body))
  if (typeof input === 'string') return [message('user', input)]
  if (!Array.isArray(input)) throw invalidField('string_type', 'input', 'Input should be a valid string', quoted(input))
  if (continues(input.at(-1))) throw badParameter('The simulator does not go on with an unfinished message.', 'input')
  const messages: JsonObject[] = []
  for (const [index, item] of input.entries()) addItem(messages, item, `input.${index}`)
  return messages
}

function continues(item: Json | undefined): boolean {
  return isObject(item) && ['message', 'reasoning'].includes(String(item.get('type') ?? 'message'))
    && ['in_progress', 'incomplete'].includes(String(item.get('status')))
}

function addItem(messages: JsonObject[], item: Json, location: string): void {
  if (!isObject(item)) throw invalidField('dict_type', location, 'Input should be a valid dictionary', quoted(item))
  const type = item.get('type') ?? 'message'
  switch (type) {
    case 'message': return addMessage(messages, item, location)
    case 'reasoning': return addThinking(messages, item)
    case 'function_call':
      return addCall(messages, item, callName(item, location), requiredString(item, 'arguments', location), location)
    case 'custom_tool_call':
      return addCall(messages, item, requiredString(item, 'name', location), dumpJson(new Map([['input', requiredString(item, 'input', location)]])), location)
    case 'function_call_output':
    case 'custom_tool_call_output':
      messages.push(new Map<string, Json>([...message('tool', content(item.get('output'), location)), ['tool_call_id', requiredString(item, 'call_id', location)]]))
      return
    default: throw badParameter(`Unsupported input item type: ${String(type)}`, 'input')
  }
}

function addMessage(messages: JsonObject[], item: JsonObject, location: string): void {
  const role = item.get('role')
  if (role === 'assistant') return intoTurn(messages, 'content', assistantText(item, location))
  if (role !== 'user' && role !== 'system' && role !== 'developer') {
    throw invalidField('literal_error', `${location}.role`, "Input should be 'user', 'assistant', 'system' or 'developer'", quoted(role))
  }
  messages.push(message(role, content(item.get('content'), location)))
}

/** Of several texts the first alone. */
function assistantText(item: JsonObject, location: string): string {
  const whole = item.get('content')
  if (typeof whole === 'string') return whole
  if (Array.isArray(whole) && whole.length === 0) throw new Refusal(jsonAnswer(500, errorObject('list index out of range', 'InternalServerError', null, 500)))
  const [first] = Array.isArray(whole) ? whole : []
  const text = isObject(first) && ['output_text', 'input_text'].includes(String(first.get('type'))) ? first.get('text') : undefined
  if (typeof text === 'string') return text
  throw invalidField('string_type', `${location}.content`, 'Input should be a valid string', quoted(whole))
}

function addThinking(messages: JsonObject[], item: JsonObject): void {
  if ((item.get('encrypted_content') ?? '') !== '') throw badParameter('Encrypted content is not supported.', 'input')
  const texts = ['content', 'summary'].map((key) => item.get(key)).find((list) => Array.isArray(list) && list.length > 0)
  const [first] = Array.isArray(texts) ? texts : []
  intoTurn(messages, 'reasoning', isObject(first) ? first.get('text') ?? '' : '')
}

/** What an assistant's message before does not have yet goes into it. */
function intoTurn(messages: JsonObject[], key: 'content' | 'reasoning', value: Json): void {
  const before = messages.at(-1)
  if (before?.get('role') === 'assistant' && !before.has(key)) before.set(key, value)
  else messages.push(new Map<string, Json>([['role', 'assistant'], [key, value]]))
}

function addCall(messages: JsonObject[], item: JsonObject, name: string, args: string, location: string): void {
  const call: JsonObject = new Map<string, Json>([
    ['id', requiredString(item, 'call_id', location)], ['type', 'function'],
    ['function', new Map<string, Json>([['name', name], ['arguments', args]])],
  ])
  const before = messages.at(-1)
  if (before?.get('role') !== 'assistant') messages.push(new Map<string, Json>([['role', 'assistant'], ['tool_calls', [call]]]))
  else before.set('tool_calls', [...(before.get('tool_calls') ?? []) as Json[], call])
}

function callName(item: JsonObject, location: string): string {
  const name = requiredString(item, 'name', location)
  const namespace = optionalString(item, 'namespace')
  return namespace ? `${namespace}__${name}` : name
}

function requiredString(item: JsonObject, key: string, location: string): string {
  const value = item.get(key)
  if (typeof value === 'string') return value
  throw invalidField('string_type', `${location}.${key}`, 'Input should be a valid string', quoted(value))
}

/** A text, or parts as chat names them. */
function content(value: Json | undefined, location: string): Json {
  if (typeof value === 'string') return value
  if (!Array.isArray(value)) throw invalidField('string_type', `${location}.content`, 'Input should be a valid string', quoted(value))
  return value.map((part) => {
    const type = isObject(part) ? part.get('type') : undefined
    if (isObject(part) && type === 'input_text') return new Map<string, Json>([['type', 'text'], ['text', part.get('text') ?? null]])
    if (isObject(part) && type === 'input_image') return new Map<string, Json>([['type', 'image_url'], ['image_url', new Map([['url', part.get('image_url') ?? null]])]])
    throw invalidField('literal_error', `${location}.content`, "Input should be 'input_text'", quoted(type))
  })
}

interface Tools {
  readonly shown: Json[]
  readonly custom: Set<string>
  readonly namespaced: Map<string, { readonly namespace: string, readonly name: string }>
}

/** Functions, free-text tools as functions of one text, namespaced functions under a flat name; the others are not shown. */
function tools(body: JsonObject): Tools {
  const list = body.has('tools') ? body.get('tools') : []
  if (!Array.isArray(list)) throw invalidField('list_type', 'tools', 'Input should be a valid list', quoted(list))
  const made: Tools = { shown: [], custom: new Set(), namespaced: new Map() }
  for (const [index, tool] of list.entries()) {
    const location = `tools.${index}`
    if (!isObject(tool)) throw invalidField('dict_type', location, 'Input should be a valid dictionary', quoted(tool))
    if (tool.get('type') === 'function') made.shown.push(functionTool(tool, requiredString(tool, 'name', location)))
    else if (tool.get('type') === 'custom') made.shown.push(customTool(tool, made, location))
    else if (tool.get('type') === 'namespace') addNamespace(tool, made, location)
  }
  return made
}

function functionTool(tool: JsonObject, name: string): JsonObject {
  const known = ['description', 'parameters', 'strict', 'defer_loading'].flatMap((key) => (tool.has(key) ? [[key, tool.get(key)!] as const] : []))
  return new Map<string, Json>([['type', 'function'], ['function', new Map<string, Json>([['name', name], ...known])]])
}

function customTool(tool: JsonObject, made: Tools, location: string): JsonObject {
  const format = tool.get('format')
  if (isObject(format) && format.get('type') === 'grammar') {
    throw badParameter('Custom tools with a grammar format are not supported; only free-form text custom tools are accepted.', 'tools')
  }
  const name = requiredString(tool, 'name', location)
  made.custom.add(name)
  const text = new Map<string, Json>([['type', 'string'], ['description', 'The freeform text payload for this tool.']])
  const parameters = new Map<string, Json>([
    ['type', 'object'], ['properties', new Map<string, Json>([['input', text]])], ['required', ['input']], ['additionalProperties', false],
  ])
  return functionTool(new Map<string, Json>([['description', tool.get('description') ?? null], ['parameters', parameters]]), name)
}

function addNamespace(tool: JsonObject, made: Tools, location: string): void {
  const namespace = requiredString(tool, 'name', location)
  const inner = tool.get('tools')
  for (const each of Array.isArray(inner) ? inner : []) {
    if (!isObject(each) || each.get('type') !== 'function') continue
    const name = requiredString(each, 'name', location)
    made.namespaced.set(`${namespace}__${name}`, { namespace, name })
    made.shown.push(functionTool(each, `${namespace}__${name}`))
  }
}

/** As chat has it. */
function toolChoice(body: JsonObject, shown: readonly Json[]): Json {
  const choice = body.get('tool_choice') ?? 'auto'
  if (isObject(choice)) {
    const name = choice.get('name')
    if (!shown.some((tool) => isObject(tool) && (tool.get('function') as JsonObject).get('name') === name)) {
      throw badParameter("Tool choice 'function' not found in 'tools' parameter.", 'tool_choice')
    }
    return new Map<string, Json>([['type', 'function'], ['function', new Map<string, Json>([['name', name ?? null]])]])
  }
  if (choice === 'required' && shown.length === 0) {
    throw badParameter("Tool choice 'required' must be specified with 'tools' parameter.", 'tool_choice')
  }
  if (!['auto', 'none', 'required'].includes(String(choice))) {
    throw invalidField('literal_error', 'tool_choice', "Input should be 'none', 'auto' or 'required'", quoted(choice))
  }
  return choice
}
