// The body of a fork on the responses endpoint.

import { member, object } from '../engine/prompt.ts'
import { answerMembers, keptMembers, tokenLimit } from '../fork/build.ts'
import type { ForkParts, ForkSettings } from '../fork/parts.ts'
import { booleanOption, option, type WithMembers } from '../wire/chat-request.ts'
import { bytesOf } from '../wire/json-slices.ts'
import type { ReadRequest } from './endpoint.ts'

/** The fork's body; it asks for the messages too, whose token ids say what was prefilled. */
export function responsesForkBody(parts: ForkParts, settings: ForkSettings): Buffer {
  const evidence = withItems(parts.evidence)
  const { summary } = parts
  const hasTools = (evidence.chat.tools?.length ?? 0) > 0
  const own = option(evidence, 'tool_choice')
  const toolChoice = settings.toolChoiceNone && hasTools ? '"none"' : own && bytesOf(evidence.body, own)
  return object([
    ...keptMembers({ ...parts, evidence }),
    ...(toolChoice ? [member('tool_choice', toolChoice)] : []),
    ...answerMembers(summary),
    ...tokenLimit(summary, settings.maxTokens, ['max_output_tokens']),
    // The ids that were prefilled; taken out of the reply again.
    member('enable_response_messages', 'true'),
  ])
}

/** Whether a client asked for the messages, ids and all. */
export function asksForMessages(request: WithMembers): boolean {
  return booleanOption(request, 'enable_response_messages') === true
}

/** A text in place of items is written as the item that it is. */
function withItems(request: ReadRequest): ReadRequest {
  const { body, members, items } = request
  const input = option(request, 'input')
  if (input === undefined || body[input.start] !== 0x22) return request
  const item = object([member('role', '"user"'), member('content', bytesOf(body, items[0]!))])
  return { ...request, body: Buffer.concat([body, item]), members, items: [{ start: body.length, end: body.length + item.length }] }
}
