// A structured summary request that writes the conversation's messages in another way (calls as text, results under
// another role, parts for a string), told as one labelled text: then it is aligned like any transcript.

import { elementsOf, isNull, memberNamed, membersOf, type Slice } from '../wire/json-slices.ts'
import { isFront, readText, stringMember, type ChatRequest, type Message } from '../wire/chat-request.ts'

/** Whether messages hold more than what somebody asks: then they are the conversation, and no transcript of it. */
export function isTold(turns: readonly Message[]): boolean {
  return turns.some(({ role }) => role !== 'user' && !isFront(role))
}

/** Members that are told, and those that say nothing of their own. */
const toldMembers: ReadonlySet<string> = new Set(['role', 'content', 'reasoning', 'reasoning_content', 'tool_calls', 'tool_call_id'])

/** Whether telling messages leaves nothing out: no name of a speaker, no refusal, no call that is none of a function. */
export function tellsAll({ body }: ChatRequest, turns: readonly Message[]): boolean {
  return turns.every(({ role, slice }) => {
    const members = membersOf(body, slice.start) ?? []
    const calls = memberNamed(members, 'tool_calls')
    const isTold = (key: string): boolean => toldMembers.has(key) || (key === 'name' && role === 'tool')
    return members.every(({ key, value }) => isTold(key) || isNull(body, value)) &&
      (!calls || isNull(body, calls.value) || (elementsOf(body, calls.value.start) ?? []).every((call) => (stringMember(body, call, 'type') ?? 'function') === 'function'))
  })
}

/** One text for each message, with a label in front. The last one, where it may ask for something, has none. */
export function retell({ body }: ChatRequest, turns: readonly Message[]): string[] {
  return turns.flatMap(({ role, slice }, i) => {
    const calls = callsOf(body, slice)
    const said = readText(body, slice)
    // A result that was emptied on purpose is told, or it would count as one that the style leaves blank.
    const text = said.trim() === '' && calls.length === 0 ? '(empty)' : said
    if (i === turns.length - 1 && (role === 'user' || isFront(role))) return [said]
    if (role === 'tool') return [`[Tool result]: ${text}`]
    const thinking = stringMember(body, slice, 'reasoning') ?? stringMember(body, slice, 'reasoning_content') ?? ''
    return [
      ...(thinking === '' ? [] : [`[${role} reasoning]: ${thinking}`]),
      ...(text === '' ? [] : [`[${role}]: ${text}`]),
      ...calls.map((call) => `[${role} tool call]: ${call}`),
    ]
  })
}

function callsOf(body: Buffer, message: Slice): string[] {
  const calls = memberNamed(membersOf(body, message.start) ?? [], 'tool_calls')
  if (!calls || isNull(body, calls.value)) return []
  return (elementsOf(body, calls.value.start) ?? []).map((call) => {
    const definition = memberNamed(membersOf(body, call.start) ?? [], 'function')
    const part = (key: string): string => (definition && stringMember(body, definition.value, key)) ?? ''
    return `${part('name')}(${part('arguments')})`
  })
}
