// The chat request that vLLM makes of a responses request, built of slices of its bytes.
// Sources: vLLM 0.32, vllm/entrypoints/openai/responses/utils.py (construct_input_messages, construct_tool_dicts) and
// protocol.py; vllm/tool_parsers/utils.py (get_function_tools). What it refuses, or what we cannot tell, is null.

import { array, member, object } from '../engine/prompt.ts'
import { readChatRequest, topMembers } from '../wire/chat-request.ts'
import { bytesOf, elementsOf, isNull, memberNamed, stringAt, type Member, type Slice } from '../wire/json-slices.ts'
import type { AsChat } from './endpoint.ts'
import { messagesOf } from './responses-to-chat-messages.ts'
import { optionsOf } from './responses-to-chat-options.ts'
import { toolChoiceOf, toolsOf } from './responses-to-chat-tools.ts'

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
  return { messages: [...front, ...made.map(({ message }) => message)], items, itemsEnd: [...frontEnds, ...made.map(({ end }) => end)] }
}

/** An empty text is none. */
function instructionsOf(body: Buffer, value: Slice | undefined): Buffer[] | null {
  if (value === undefined || isNull(body, value)) return []
  const text = stringAt(body, value)
  if (text === null) return null
  return text === '' ? [] : [plainMessage('system', bytesOf(body, value))]
}

const quote = 0x22

function plainMessage(role: string, content: Buffer): Buffer {
  return object([member('role', JSON.stringify(role)), member('content', content)])
}
