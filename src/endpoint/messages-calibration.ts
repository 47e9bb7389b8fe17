// Whether the messages endpoint prefills what the chat form of a request renders to. Its replies tell no ids, so only the
// render endpoint can prove that. Where it is not there (vLLM from 0.29 on wants a flag for it), equal counts are all that
// is known: enough to say how warm a request is that goes out as it came, not to send another in its place.

import { createHash } from 'node:crypto'
import { isLater, later, readRendered, rendering, sameIds, type Asking, type Calibrated, type Calibration } from '../engine/calibration.ts'
import { member, object, type Prompt } from '../engine/prompt.ts'
import { ownMessages } from '../fork/build.ts'
import type { ChatRequest } from '../wire/chat-request.ts'
import { bytesOf, elementsOf, isNull, memberNamed, membersOf, type Slice } from '../wire/json-slices.ts'
import type { ReadRequest } from './endpoint.ts'
import { messagesOptions } from './messages-options.ts'
import { promptTokens } from './messages-reply.ts'
import { messagesAsChat } from './messages-to-chat.ts'
import { roleOf } from './role.ts'

/** What of a request decides how it is turned into chat, apart from its text. */
export function messagesShape(request: ReadRequest): string {
  return createHash('sha256').update(sample(request)).digest('base64url')
}

export async function calibrateMessages(request: ReadRequest, calibrated: Calibrated, ask: Asking): Promise<Calibration> {
  const members = sample(request)
  const chat = messagesAsChat(object([members]))?.chat
  if (!chat) return { state: 'uncalibrated' }
  const prompt: Prompt = { options: chat, messages: ownMessages(chat) }
  const wanted = await rendering(prompt, calibrated, ask)
  if (wanted === 'unanswered') return later
  if (wanted === null) return { state: 'uncalibrated' }

  const one = member('max_tokens', '1')
  for (const toolChoiceNone of [true, false]) {
    const choice = toolChoiceNone && chat.tools?.length ? [member('tool_choice', '{"type":"none"}')] : []
    const rendered = await ask('/v1/messages/render', object([members, ...choice, one]))
    if (rendered !== null && [403, 404, 405, 501].includes(rendered.status)) break
    if (isLater(rendered)) return later
    const ids = rendered?.status === 200 ? readRendered(rendered.body) : null
    if (ids !== null && sameIds(ids, wanted)) {
      return { ...calibrated, toolChoiceNone: toolChoiceNone && calibrated.toolChoiceNone }
    }
    if (choice.length === 0) return { state: 'uncalibrated' }
  }
  const answer = await ask('/v1/messages', object([members, one, member('temperature', '0'), member('stream', 'false')]))
  if (isLater(answer)) return later
  return answer?.status === 200 && countIn(answer.body) === wanted.length ? { ...calibrated, countedOnly: true } : { state: 'uncalibrated' }
}

function countIn(json: Buffer): number | null {
  try {
    return promptTokens((JSON.parse(json.toString('utf8')) as { usage: object }).usage)
  } catch {
    return null
  }
}

/** The members of a small request with the request's shapes and options, none of its text. */
function sample({ body, members, items, chat }: ReadRequest): Buffer {
  const types = new Set(items.flatMap((item) => {
    const content = memberNamed(membersOf(body, item.start) ?? [], 'content')?.value
    const role = memberNamed(membersOf(body, item.start) ?? [], 'role')?.value
    const blocks = content && body[content.start] === openBracket ? elementsOf(body, content.start) ?? [] : []
    return [
      ...(role && bytesOf(body, role).equals(systemRole) ? ['system'] : []),
      ...blocks.flatMap((block) => {
        const type = memberNamed(membersOf(body, block.start) ?? [], 'type')?.value
        return type ? [JSON.parse(bytesOf(body, type).toString('utf8')) as string] : []
      }),
    ]
  }))
  const text = (words: string): object[] => [{ type: 'text', text: words }]
  const thinking = types.has('thinking') ? [{ type: 'thinking', thinking: 'First I look.', signature: '' }] : []
  const inline = types.has('system') ? [{ role: 'system', content: 'It is late.' }] : []
  const turns = types.has('tool_use')
    ? [
        { role: 'assistant', content: [...thinking, ...text('Looking.'), { type: 'tool_use', id: 'call00001', name: 'look', input: { at: 'a b', n: 1 } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call00001', content: text('Found it.') }] },
      ]
    : [{ role: 'assistant', content: [...thinking, ...text('Found it.')] }, { role: 'user', content: 'Go on.' }]
  const parts: Buffer[] = [
    member('messages', JSON.stringify([{ role: 'user', content: text('Look it up.') }, ...inline, ...turns])),
    ...(chat.frontLength > 0 ? [member('system', JSON.stringify(text('You calibrate.')))] : []),
    ...(chat.tools ? [member('tools', JSON.stringify([{ ...sampleTool, ...switchesOf(chat, chat.tools) }]))] : []),
    ...members.filter(({ key }) => roleOf(messagesOptions, key) === 'prompt' && key !== 'cache_salt').map(({ whole }) => bytesOf(body, whole)),
  ]
  return Buffer.from(parts.map((part) => part.toString('utf8')).join(','))
}

const systemRole = Buffer.from('"system"')
const openBracket = 0x5b

/** What tools say beside their schema, which templates show or not. */
function switchesOf({ body }: ChatRequest, tools: readonly Slice[]): object {
  const given = (key: string): boolean => tools.some((tool) => {
    const described = memberNamed(membersOf(body, tool.start) ?? [], 'function')?.value
    const value = described && memberNamed(membersOf(body, described.start) ?? [], key)?.value
    return value !== undefined && !isNull(body, value)
  })
  return { ...(given('strict') ? { strict: true } : {}), ...(given('defer_loading') ? { defer_loading: true } : {}) }
}

const sampleTool = {
  name: 'look', description: 'Looks it up.',
  input_schema: { type: 'object', properties: { at: { type: 'string', description: 'Where' }, n: { type: 'integer', description: 'How often' } }, required: ['at'] },
}
