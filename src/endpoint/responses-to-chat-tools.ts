// The tools and the tool choice that vLLM makes of those of a responses request, and what it calls them.
// Sources: vLLM 0.32, vllm/entrypoints/openai/responses/utils.py (construct_tool_dicts); vllm/tool_parsers/utils.py
// (get_function_tools). What it refuses, or what we cannot tell, is null.

import { array, member, object } from '../engine/prompt.ts'
import { stringMember } from '../wire/chat-request.ts'
import { bytesOf, elementsOf, isNull, memberNamed, membersOf, stringNamed, textNamed, type Member, type Slice } from '../wire/json-slices.ts'

/** The `tools` member, or none where vLLM renders none; what the model is not shown is left out. */
export function toolsOf(body: Buffer, value: Slice | undefined): Buffer[] | null {
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
  const type = members && textNamed(body, members, 'type')
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
    const type = inner && textNamed(body, inner, 'type')
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
export function toolChoiceOf(body: Buffer, value: Slice | undefined): Buffer | null {
  if (value === undefined || isNull(body, value)) return null
  const name = body[value.start] === quote ? null : stringNamed(body, membersOf(body, value.start) ?? [], 'name')
  return name ? toolOf([member('name', name)]) : bytesOf(body, value)
}

/** flat_namespace_tool_name, of two JSON strings. */
export function flatName(namespace: Buffer, name: Buffer): Buffer {
  return Buffer.concat([namespace.subarray(0, -1), Buffer.from('__'), name.subarray(1)])
}

const quote = 0x22
