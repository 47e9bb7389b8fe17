// What a response said, in chat's words: its status, output items, usage and errors; event by event what its items say.

import { stringMember } from '../wire/chat-request.ts'
import { bytesOf, elementsOf, isNull, memberNamed, membersOf, skipSpace, stringAt, type Member, type Slice } from '../wire/json-slices.ts'
import { readUsage, type ReplyState, type Usage } from '../wire/reply.ts'
import type { SseEvent } from '../wire/sse.ts'
import { readTokenIds } from '../wire/token-ids.ts'

/** Adds what one event of a stream says. @returns whether it says something: text beyond white space, thinking, a call, a finish or an error */
export function addEvent(state: ReplyState, event: SseEvent): boolean {
  const { data } = event
  const members = data && membersOf(data, skipSpace(data, 0))
  if (!data || !members) return false
  const text = (key: string): string => {
    const value = memberNamed(members, key)?.value
    return (value && stringAt(data, value)) ?? ''
  }
  switch (text('type')) {
    case 'response.output_text.delta':
    case 'response.refusal.delta':
      state.content += text('delta')
      return text('delta').trim() !== ''
    case 'response.reasoning_text.delta':
    case 'response.reasoning_summary_text.delta':
      state.thinking += text('delta')
      return text('delta') !== ''
    case 'response.output_item.added': {
      const item = memberNamed(members, 'item')?.value
      if (!item || !isCall(data, item)) return false
      state.toolCalls = true
      return true
    }
    case 'response.completed':
    case 'response.incomplete':
    case 'response.failed':
    case 'response.cancelled':
      return addEnd(state, data, members)
    case 'error':
      state.error = true
      return true
    default:
      return addError(state, data, members)
  }
}

/** Adds what a whole response says. */
export function addReply(state: ReplyState, json: Buffer): void {
  const members = membersOf(json, skipSpace(json, 0))
  if (members === null) return
  addFinish(state, json, members)
  for (const item of outputOf(json, members)) addItem(state, json, item)
}

/** Ids of the prompt, with which a response answers who asked for messages. */
export function promptIds(json: Buffer): Uint32Array | null {
  for (const { value } of messageLists(json).filter(({ key }) => key === 'input_messages')) {
    const [first, ...more] = elementsOf(json, value.start) ?? []
    const tokens = first && more.length === 0 ? memberNamed(membersOf(json, first.start) ?? [], 'tokens') : undefined
    // Read by its bytes, so the key is looked at as it is written.
    if (tokens) return readTokenIds(bytesOf(json, { start: tokens.whole.start, end: first!.end }), '"tokens":[')
  }
  return null
}

/** Where the messages stand that a response holds for who asked, in ascending order. */
export function messageLists(json: Buffer): Member[] {
  if (!json.includes('_messages"')) return []
  const top = membersOf(json, skipSpace(json, 0)) ?? []
  const response = memberNamed(top, 'response')
  const members = response ? membersOf(json, response.value.start) ?? [] : top
  return members.filter(({ key, value }) => (key === 'input_messages' || key === 'output_messages') && !isNull(json, value))
}

/** The last event repeats all that was said: its output counts only for what it called. */
function addEnd(state: ReplyState, data: Buffer, members: readonly Member[]): boolean {
  const response = memberNamed(members, 'response')?.value
  const inside = response && membersOf(data, response.start)
  if (!inside) return addError(state, data, members)
  addFinish(state, data, inside)
  addError(state, data, members)
  state.done = true
  return state.finish !== null || state.error
}

function addFinish(state: ReplyState, json: Buffer, members: readonly Member[]): void {
  if (addError(state, json, members)) return
  const usage = memberNamed(members, 'usage')?.value
  state.usage = (usage && usageIn(json, usage)) ?? state.usage
  state.toolCalls ||= outputOf(json, members).some((item) => isCall(json, item))
  const statusAt = memberNamed(members, 'status')?.value
  switch (statusAt && stringAt(json, statusAt)) {
    case 'completed':
      state.finish = state.toolCalls ? 'tool_calls' : 'stop'
      break
    case 'incomplete': {
      const details = memberNamed(members, 'incomplete_details')?.value
      const reason = details && stringMember(json, details, 'reason')
      state.finish = !reason || reason === 'max_output_tokens' ? 'length' : reason
      break
    }
    case 'cancelled':
      state.finish = 'abort'
      break
    case 'failed':
      state.error = true
  }
}

function addError(state: ReplyState, json: Buffer, members: readonly Member[]): boolean {
  const error = memberNamed(members, 'error')?.value
  if (!error || isNull(json, error)) return false
  state.error = true
  return true
}

function outputOf(json: Buffer, members: readonly Member[]): Slice[] {
  const output = memberNamed(members, 'output')?.value
  return (output && elementsOf(json, output.start)) ?? []
}

function addItem(state: ReplyState, json: Buffer, item: Slice): void {
  const members = membersOf(json, item.start) ?? []
  switch (stringMember(json, item, 'type')) {
    case 'message':
      state.content += textsOf(json, members, ['content'])
      break
    case 'reasoning':
      state.thinking += textsOf(json, members, ['content', 'summary'])
  }
}

function textsOf(json: Buffer, members: readonly Member[], keys: readonly string[]): string {
  const lists = keys.map((key) => memberNamed(members, key)?.value).flatMap((list) => (list && elementsOf(json, list.start)) ?? [])
  return lists.map((part) => stringMember(json, part, 'text') ?? stringMember(json, part, 'refusal') ?? '').join('')
}

/** Whatever the item calls: a function, free text, a tool of the server. */
function isCall(json: Buffer, item: Slice): boolean {
  return stringMember(json, item, 'type')?.endsWith('_call') === true
}

interface WireUsage {
  input_tokens?: unknown
  output_tokens?: unknown
  input_tokens_details?: { cached_tokens?: unknown } | null
}

function usageIn(json: Buffer, slice: Slice): Usage | null {
  try {
    const usage = JSON.parse(json.toString('utf8', slice.start, slice.end)) as WireUsage | null
    return usage && readUsage(usage.input_tokens, usage.output_tokens, usage.input_tokens_details?.cached_tokens)
  } catch {
    return null
  }
}
