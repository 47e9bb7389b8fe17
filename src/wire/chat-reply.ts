// What a chat reply said in the end: finish, usage, errors, and, where asked, its text. Reads any split alike.

import { readUsage, type ReplyState } from './reply.ts'
import { isDone, type SseEvent } from './sse.ts'

/** The parts of vLLM's chat replies and chunks that are read; all of it may be missing. */
interface WireReply {
  choices?: (WireChoice | null)[] | null
  usage?: WireUsage | null
  error?: unknown
  prompt_token_ids?: unknown
}

interface WireChoice {
  index?: number
  finish_reason?: string | null
  delta?: WireMessage | null
  message?: WireMessage | null
}

interface WireMessage {
  content?: unknown
  reasoning?: unknown
  reasoning_content?: unknown
  tool_calls?: unknown
}

interface WireUsage {
  prompt_tokens?: unknown
  completion_tokens?: unknown
  prompt_tokens_details?: { cached_tokens?: unknown } | null
}

/** Adds what one event of a stream says. @returns whether it says something: text beyond white space, thinking, a call, a finish or an error */
export function addEvent(state: ReplyState, event: SseEvent): boolean {
  if (event.data === null || event.data.length === 0) return false
  if (isDone(event.data)) {
    state.done = true
    return false
  }
  return addReply(state, event.data)
}

/** Adds what a whole reply, or one chunk of a stream, says. @returns whether it says something */
export function addReply(state: ReplyState, json: Buffer): boolean {
  const reply = parsed(withoutPromptIds(json)) ?? parsed(json)
  if (reply === null || typeof reply !== 'object') return false
  if (reply.error !== undefined && reply.error !== null) {
    state.error = true
    return true
  }
  const { usage } = reply
  if (usage) state.usage = readUsage(usage.prompt_tokens, usage.completion_tokens, usage.prompt_tokens_details?.cached_tokens)
  let says = false
  for (const choice of Array.isArray(reply.choices) ? reply.choices : []) {
    if (choice === null || typeof choice !== 'object') continue
    if ((choice.index ?? 0) !== 0) {
      state.severalChoices = true
      continue
    }
    says = addMessage(state, choice.delta ?? choice.message ?? {}) || says
    if (typeof choice.finish_reason === 'string') {
      state.finish = choice.finish_reason
      says = true
    }
  }
  return says
}

function parsed(json: Buffer): WireReply | null {
  try {
    return JSON.parse(json.toString('utf8')) as WireReply | null
  } catch {
    return null
  }
}

const promptIds = Buffer.from('"prompt_token_ids":[')

/** Leaves out the ids of a long prompt, which are read from their bytes: as boxed numbers they cost more than all the rest. */
function withoutPromptIds(json: Buffer): Buffer {
  const at = json.indexOf(promptIds)
  const end = at < 0 ? -1 : json.indexOf(']', at)
  return end < 0 ? json : Buffer.concat([json.subarray(0, at + promptIds.length), json.subarray(end)])
}

function addMessage(state: ReplyState, message: WireMessage): boolean {
  const content = typeof message.content === 'string' ? message.content : ''
  // vLLM 0.11.1 to 0.15 writes the same thinking under both names.
  const thinking = [message.reasoning, message.reasoning_content].find((text) => typeof text === 'string' && text !== '')
  const calls = Array.isArray(message.tool_calls) && message.tool_calls.length > 0
  state.content += content
  if (typeof thinking === 'string') state.thinking += thinking
  state.toolCalls ||= calls
  return content.trim() !== '' || thinking !== undefined || calls
}
