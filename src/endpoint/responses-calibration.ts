// Whether the responses endpoint prefills what the chat form of a request renders to, for the shapes of its items and
// tools: a response of one token that tells its prompt's ids, or the render endpoint where it does not.

import { createHash } from 'node:crypto'
import { isLater, later, readRendered, rendering, sameIds, type Asking, type Calibrated, type Calibration } from '../engine/calibration.ts'
import { member, object, type Prompt } from '../engine/prompt.ts'
import { ownMessages } from '../fork/build.ts'
import { option, stringMember } from '../wire/chat-request.ts'
import { bytesOf, elementsOf, membersOf, type Slice } from '../wire/json-slices.ts'
import type { ReadRequest } from './endpoint.ts'
import { promptIds } from './responses-reply.ts'
import { responsesAsChat } from './responses-to-chat.ts'
import { responsesOptions } from './responses-options.ts'
import { roleOf } from './role.ts'

/** What of a request decides how it is turned into chat, apart from its text. */
export function responsesShape(request: ReadRequest): string {
  return createHash('sha256').update(sample(request)).digest('base64url')
}

/** By the ids that a response of one token says it prefilled, else by the render endpoint: see Endpoint.calibrate. */
export async function calibrateResponses(request: ReadRequest, calibrated: Calibrated, ask: Asking): Promise<Calibration> {
  const members = sample(request)
  const chat = responsesAsChat(object([members]))?.chat
  if (!chat) return { state: 'uncalibrated' }
  const prompt: Prompt = { options: chat, messages: ownMessages(chat) }
  const wanted = await rendering(prompt, calibrated, ask)
  if (wanted === 'unanswered') return later
  if (wanted === null) return { state: 'uncalibrated' }
  // A server that hides the tools when none may be called renders another prompt then.
  for (const toolChoiceNone of [true, false]) {
    const choice = toolChoiceNone && chat.tools?.length ? [member('tool_choice', '"none"')] : []
    const ids = await prefilled([members, ...choice], ask)
    if (ids === 'unanswered' || ids === 'untold') return ids === 'untold' ? { state: 'unanswered', reason: 'token_ids_missing' } : later
    if (ids !== null && sameIds(ids, wanted)) return { ...calibrated, toolChoiceNone: toolChoiceNone && calibrated.toolChoiceNone }
    if (choice.length === 0) break
  }
  return { state: 'uncalibrated' }
}

/** The ids that are prefilled; null where the engine refuses. */
async function prefilled(members: readonly Buffer[], ask: Asking): Promise<Uint32Array | null | 'unanswered' | 'untold'> {
  const answer = await ask('/v1/responses', object([
    ...members, member('max_output_tokens', '1'), member('temperature', '0'), member('stream', 'false'), member('store', 'false'), member('enable_response_messages', 'true'),
  ]))
  // A gateway may hide the route.
  if (isLater(answer) || answer?.status === 404 || answer?.status === 405) return 'unanswered'
  if (answer?.status !== 200) return null
  const told = promptIds(answer.body)
  if (told) return told
  const rendered = await ask('/v1/responses/render', object([...members, member('max_output_tokens', '1')]))
  return (rendered?.status === 200 ? readRendered(rendered.body) : null) ?? 'untold'
}

/** The members of a small request with the request's shapes and options, none of its text. */
function sample(request: ReadRequest): Buffer {
  const { body, members } = request
  // A salt of one's own per user parts caches, not renderings.
  const options = members.filter(({ key }) => roleOf(responsesOptions, key) === 'prompt' && key !== 'cache_salt').map(({ whole }) => bytesOf(body, whole))
  const tools = sampleTools(request)
  const parts = [
    member('input', JSON.stringify(sampleItems(request))),
    ...(standsApart(request) ? [member('instructions', '"You calibrate."')] : []),
    ...(tools.length > 0 ? [member('tools', `[${tools.join(',')}]`)] : []),
    ...options,
  ]
  return Buffer.from(parts.map((part) => part.toString('utf8')).join(','))
}

/** Whether it has `instructions`. */
function standsApart({ itemsEnd }: ReadRequest): boolean {
  return itemsEnd[0] === 0
}

/** A small conversation of the types of item that the request has; it ends inside a tool loop where there are calls. */
function sampleItems(request: ReadRequest): object[] {
  const { body, items, chat } = request
  const types = new Set(items.map((item) => stringMember(body, item, 'type') ?? 'message'))
  const parts = (text: string, type = 'input_text'): object[] => [{ type, text }]
  const front = chat.frontLength > 0 && !standsApart(request) ? [{ type: 'message', role: chat.messages[0]!.role, content: parts('You calibrate.') }] : []
  const thinking = types.has('reasoning') ? [{ type: 'reasoning', summary: [], content: parts('First I look.', 'reasoning_text') }] : []
  const said = (text: string): object => ({ type: 'message', role: 'assistant', content: parts(text, 'output_text') })
  const user = (text: string): object => ({ type: 'message', role: 'user', content: parts(text) })
  const calls = [
    ...(types.has('function_call') ? [{ type: 'function_call', call_id: 'call00001', name: 'look', arguments: '{"at": "a b", "n": 1}' }] : []),
    ...(types.has('custom_tool_call') ? [{ type: 'custom_tool_call', call_id: 'call00002', name: 'write', input: 'a "b"\n' }] : []),
  ]
  const outputs = calls.map(({ type, call_id: id }) => ({ type: `${type}_output`, call_id: id, output: 'Found it.' }))
  const turns = calls.length > 0 ? [...thinking, said('Looking.'), ...calls, ...outputs] : [...thinking, said('Found it.'), user('Go on.')]
  return [...front, user('Look it up.'), ...turns]
}

/** One tool of each form that the request has, with what it says beside name and texts. */
function sampleTools({ body, ...request }: ReadRequest): string[] {
  const value = option({ body, ...request }, 'tools')
  const forms = new Map<string, string>()
  for (const tool of (value && elementsOf(body, value.start)) ?? []) {
    const written = sampleTool(body, tool)
    forms.set(written, written)
  }
  return [...forms.values()]
}

function sampleTool(body: Buffer, tool: Slice): string {
  const members = (membersOf(body, tool.start) ?? []).map(({ key, value }) => {
    const own = bytesOf(body, value).toString('utf8')
    if (key === 'name') return `"name":"look"`
    if (key === 'description') return `"description":${own === 'null' ? own : '"Looks it up."'}`
    if (key === 'parameters') return `"parameters":${own === 'null' ? own : sampleParameters}`
    if (key === 'tools') return `"tools":[${[...new Set((elementsOf(body, value.start) ?? []).map((inner) => sampleTool(body, inner)))].join(',')}]`
    return `${JSON.stringify(key)}:${own}`
  })
  return `{${members.join(',')}}`
}

const sampleParameters = JSON.stringify({
  type: 'object', properties: { at: { type: 'string', description: 'Where' }, n: { type: 'integer', description: 'How often' } }, required: ['at'], additionalProperties: false,
})
