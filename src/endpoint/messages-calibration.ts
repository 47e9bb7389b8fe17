// Whether the messages endpoint prefills what the chat form of a request renders to. Its replies tell no ids. The render
// endpoint does, which vLLM from 0.29 on has with a flag only; so does the prefix cache: under a salt of its own a
// completion of those ids finds every block cached where a message prefilled the same ids, and none where it did not.
// Where neither is to be had, equal counts are all that is known: enough to say how warm a request is that goes out as
// it came, not to send another in its place.

import { createHash, randomUUID } from 'node:crypto'
import { isLater, later, readRendered, rendering, sameIds, type Asking, type Calibrated, type Calibration } from '../engine/calibration.ts'
import { member, object, type Dialect, type Prompt } from '../engine/prompt.ts'
import { ownMessages } from '../fork/build.ts'
import { stringMember, stringOption, type ChatRequest } from '../wire/chat-request.ts'
import { bytesOf, elementsOf, isNull, memberNamed, membersOf, type Member, type Slice } from '../wire/json-slices.ts'
import { tokenCount } from '../wire/reply.ts'
import type { ReadRequest } from './endpoint.ts'
import { messagesOptions } from './messages-options.ts'
import { promptTokens } from './messages-reply.ts'
import { billing, messagesAsChat } from './messages-to-chat.ts'
import { roleOf } from './role.ts'

/** What of a request decides how it is turned into chat, apart from its text. */
export function messagesShape(request: ReadRequest): string {
  return createHash('sha256').update(sample(request)).digest('base64url')
}

/**
 * By the render endpoint, else by the prefix cache, else by counts of tokens alone: see Endpoint.calibrate.
 * @param blockSize tokens of one cache block; without it the cache proves nothing
 */
export async function calibrateMessages(request: ReadRequest, calibrated: Calibrated, ask: Asking, blockSize: number | null = null): Promise<Calibration> {
  for (const dialect of dialects(request, calibrated.dialect)) {
    const calibration = await calibrateDialect(request, { ...calibrated, dialect }, ask, blockSize)
    if (calibration.state !== 'uncalibrated') return calibration
  }
  return { state: 'uncalibrated' }
}

/** What vLLM may make of the request before the template that this engine has; as it stands first. */
function dialects(request: ReadRequest, dialect: Dialect): Dialect[] {
  const { chat, itemsEnd } = request
  const hasInline = chat.messages.some(({ role }, i) => role === 'system' && itemsEnd[i] !== 0)
  const isDisabled = stringOption(chat, 'reasoning_effort') === 'none'
  const places: readonly Partial<Dialect>[] = hasInline ? [{}, { systemInFront: true }] : [{}]
  const efforts: readonly Partial<Dialect>[] = isDisabled ? [{}, { leastEffort: 'low' }] : [{}]
  return efforts.flatMap((effort) => places.map((place) => ({ ...dialect, ...place, ...effort })))
}

async function calibrateDialect(request: ReadRequest, calibrated: Calibrated, ask: Asking, blockSize: number | null): Promise<Calibration> {
  const short = await rendered(sample(request), calibrated, ask)
  if (short === null || short === 'unanswered') return short === null ? { state: 'uncalibrated' } : later
  const byRender = await calibrateByRender(short, calibrated, ask)
  if (byRender !== null) return byRender
  const answer = await ask('/v1/messages', object([short.members, oneToken, ...greedy]))
  if (isLater(answer)) return later
  if (answer?.status !== 200 || countIn(answer.body) !== short.ids.length) return { state: 'uncalibrated' }
  const byCache = blockSize === null ? null : await calibrateByCache(request, calibrated, ask, blockSize)
  return byCache ?? { ...calibrated, countedOnly: true }
}

/** A small request, and the ids of its chat form. */
interface Sample {
  readonly members: Buffer
  readonly ids: Uint32Array
  readonly hasTools: boolean
}

async function rendered(members: Buffer, calibrated: Calibrated, ask: Asking): Promise<Sample | null | 'unanswered'> {
  const chat = messagesAsChat(object([members]))?.chat
  const prompt: Prompt | null = chat ? { options: chat, messages: ownMessages(chat) } : null
  const ids = prompt && await rendering(prompt, calibrated, ask)
  return ids === null || ids === 'unanswered' ? ids : { members, ids, hasTools: (chat?.tools?.length ?? 0) > 0 }
}

const oneToken = member('max_tokens', '1')
const greedy = [member('temperature', '0'), member('stream', 'false')]

/** As a fork says it first; a server that hides the tools when none may be called renders another prompt then. */
function choices({ hasTools }: Sample): readonly { readonly toolChoiceNone: boolean, readonly members: readonly Buffer[] }[] {
  const none = { toolChoiceNone: true, members: hasTools ? [member('tool_choice', '{"type":"none"}')] : [] }
  return hasTools ? [none, { toolChoiceNone: false, members: [] }] : [none]
}

/** @returns null where the engine does not render */
async function calibrateByRender(short: Sample, calibrated: Calibrated, ask: Asking): Promise<Calibration | null> {
  for (const { toolChoiceNone, members } of choices(short)) {
    const answer = await ask('/v1/messages/render', object([short.members, ...members, oneToken]))
    if (answer !== null && [403, 404, 405, 501].includes(answer.status)) return null
    if (isLater(answer)) return later
    const ids = answer?.status === 200 ? readRendered(answer.body) : null
    if (ids !== null && sameIds(ids, short.ids)) return { ...calibrated, toolChoiceNone: toolChoiceNone && calibrated.toolChoiceNone }
  }
  return { state: 'uncalibrated' }
}

/** @returns null where the cache shows nothing: it is not told, it keeps nothing, or another engine answers */
async function calibrateByCache(request: ReadRequest, calibrated: Calibrated, ask: Asking, blockSize: number): Promise<Calibration | null> {
  const long = await fullBlocks(request, calibrated, ask, blockSize)
  if (long === null) return null
  for (const { toolChoiceNone, members } of choices(long)) {
    const salt = member('cache_salt', JSON.stringify(`${calibrationSalt}${randomUUID()}`))
    const message = await ask('/v1/messages', object([long.members, ...members, oneToken, ...greedy, salt]))
    if (message?.status !== 200) return null
    const { length } = long.ids
    const model = stringOption(request, 'model') ?? ''
    // One id more: of a prompt that is cached whole vLLM computes the last block anew.
    const completion = await ask('/v1/completions', object([
      member('model', JSON.stringify(model)), member('prompt', JSON.stringify([...long.ids, long.ids[0]])), oneToken, ...greedy, salt,
    ]))
    const cached = completion?.status === 200 ? cachedIn(completion.body) : null
    if (countIn(message.body) === length && cached === length) return { ...calibrated, toolChoiceNone: toolChoiceNone && calibrated.toolChoiceNone }
  }
  return null
}

/** What the salts of calibrations begin with. */
export const calibrationSalt = 'warmfork-calibration-'

/** The small request with so much filled in that its ids are whole blocks: its end is compared then, too. */
async function fullBlocks(request: ReadRequest, calibrated: Calibrated, ask: Asking, blockSize: number): Promise<Sample | null> {
  for (let filled = 0, tries = 0; tries < maxFillings; tries++) {
    const found = await rendered(sample(request, ' a'.repeat(filled)), calibrated, ask)
    if (found === null || found === 'unanswered') return null
    const over = found.ids.length % blockSize
    if (over === 0) return found
    filled += blockSize - over
  }
  return null
}

/** The first try tells how much is missing, the second mostly fits. */
const maxFillings = 4

function cachedIn(json: Buffer): number | null {
  try {
    return tokenCount((JSON.parse(json.toString('utf8')) as { usage: { prompt_tokens_details?: { cached_tokens?: unknown } | null } }).usage.prompt_tokens_details?.cached_tokens)
  } catch {
    return null
  }
}

function countIn(json: Buffer): number | null {
  try {
    return promptTokens((JSON.parse(json.toString('utf8')) as { usage: object }).usage)
  } catch {
    return null
  }
}

/**
 * The members of a small request with the request's shapes and options, none of its text.
 * @param filling makes it longer
 */
function sample({ body, members, items, chat }: ReadRequest, filling = ''): Buffer {
  const types = new Set(items.flatMap((item) => typesIn(body, item)))
  const texts = (...words: readonly string[]): object[] => words.map((text) => ({ type: 'text', text }))
  const thinking = types.has('thinking') ? [{ type: 'thinking', thinking: 'First I look.', signature: '' }] : []
  const inline = types.has('system') ? [{ role: 'system', content: 'It is late.' }] : []
  const turns = types.has('tool_use')
    ? [
        { role: 'assistant', content: [...thinking, ...texts('Looking.'), { type: 'tool_use', id: 'call00001', name: 'look', input: { at: 'a b', n: 1 } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call00001', content: texts('Found it.', 'And more.') }] },
      ]
    : [{ role: 'assistant', content: [...thinking, ...texts('Found it.')] }, { role: 'user', content: 'Go on.' }]
  const parts: Buffer[] = [
    member('messages', JSON.stringify([{ role: 'user', content: texts('Look it up.', `Take your time.${filling}`) }, ...inline, ...turns])),
    ...(chat.frontLength > 0 ? [member('system', JSON.stringify(texts(...(hasBilling(body, members) ? [`${billing}: a=1;`] : []), 'You calibrate.', ' Be brief.')))] : []),
    ...(chat.tools ? [member('tools', JSON.stringify(chat.tools.length === 0 ? [] : [{ ...sampleTool, ...switchesOf(chat, chat.tools) }]))] : []),
    ...members.filter(({ key, value }) => roleOf(messagesOptions, key) === 'prompt' && key !== 'cache_salt' &&
      // A budget of thinking shapes no prompt, and vLLM refuses one that is over the limit of tokens.
      (key !== 'thinking' || stringMember(body, value, 'type') === 'disabled')).map(({ whole }) => bytesOf(body, whole)),
  ]
  return Buffer.from(parts.map((part) => part.toString('utf8')).join(','))
}

/** The types of a message's blocks, and `system` for an inline one. */
function typesIn(body: Buffer, item: Slice): string[] {
  const content = memberNamed(membersOf(body, item.start) ?? [], 'content')?.value
  const blocks = content && body[content.start] === openBracket ? elementsOf(body, content.start) ?? [] : []
  return [
    ...(stringMember(body, item, 'role') === 'system' ? ['system'] : []),
    ...blocks.flatMap((block) => stringMember(body, block, 'type') ?? []),
  ]
}

/** Whether its system text has an attribution line, which not every version of vLLM leaves out. */
function hasBilling(body: Buffer, members: readonly Member[]): boolean {
  const system = memberNamed(members, 'system')?.value
  const blocks = system && body[system.start] === openBracket ? elementsOf(body, system.start) ?? [] : []
  return blocks.some((block) => stringMember(body, block, 'text')?.startsWith(billing))
}

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
