// Whether the engine's /tokenize tells the ids that its chat endpoint prefills, for one model and the shapes in use.
// A small conversation is rendered both ways; unequal ids mean no proof by /tokenize (DESIGN, Proof).

import { createHash } from 'node:crypto'
import { chatOptions } from '../endpoint/chat-options.ts'
import { roleOf } from '../endpoint/role.ts'
import { bytesOf } from '../wire/json-slices.ts'
import { readChatRequest, stringOption, type ChatRequest } from '../wire/chat-request.ts'
import { readTokenIds } from '../wire/token-ids.ts'
import type { Reason } from '../receipt/reasons.ts'
import type { Answer } from './client.ts'
import { asPrefilled, member, object, renderBody, tokenizeBody, type Dialect, type Prompt } from './prompt.ts'

export type Proof = 'tokenize' | 'render'

export interface Calibrated {
  readonly state: 'calibrated'
  readonly proof: Proof
  readonly dialect: Dialect
  /** Whether a fork may say `tool_choice: "none"` without changing its prompt. */
  readonly toolChoiceNone: boolean
  /** The endpoint tells no ids, only how many: enough for what goes out as it came, not for a fork (R6). */
  readonly countedOnly?: true
  readonly replyKeys: ReplyKeys
}

/** Keys of this engine's chat completions, in its order: versions have others. */
export interface ReplyKeys {
  readonly reply: readonly string[]
  readonly choice: readonly string[]
  /** With the names of a reply's thinking: `reasoning` since 0.16, `reasoning_content` or both before. */
  readonly message: readonly string[]
}

export type Calibration =
  | Calibrated
  /** Asked, and unequal. */
  | { readonly state: 'uncalibrated' }
  /** No answer in time, or none that tells ids: not unequal, to be asked again. */
  | { readonly state: 'unanswered', readonly reason: Unanswered }

type Unanswered = Extract<Reason, 'tokenize_unavailable' | 'token_ids_missing'>

export type Asking = (target: string, body: Buffer) => Promise<Answer | null>

/** What of a request decides how it is rendered, apart from its text: the shapes to calibrate. */
export function shapeOf(request: ChatRequest): string {
  const hash = createHash('sha256')
  for (const { key, whole } of request.members) {
    // A salt of one's own per user parts caches, not renderings.
    if (roleOf(chatOptions, key) === 'prompt' && key !== 'cache_salt') hash.update(bytesOf(request.body, whole))
  }
  return [stringOption(request, 'model') ?? '', ...traitsOf(request), hash.digest('base64url')].join(' ')
}

function traitsOf(request: ChatRequest): string[] {
  const { body } = request
  return [
    (request.tools?.length ?? 0) > 0 && 'tools',
    request.messages.some((message) => message.callIds.length > 0) && 'calls',
    body.includes('"reasoning"') && 'reasoning',
    body.includes('"reasoning_content"') && 'reasoning_content',
    request.frontLength > 0 && request.messages[0]!.role,
  ].filter((trait) => trait !== false)
}

/**
 * A small conversation with the request's shapes and options, none of its text.
 * It ends inside a tool loop where there are calls: there templates keep reasoning.
 */
export function sample(request: ChatRequest): Prompt {
  return sampleWith(request, traitsOf(request))
}

/** The same with thinking under both names: shows the marks that the template writes around it. */
export function thinkingSample(request: ChatRequest): Prompt {
  const { options, messages } = sampleWith(request, [...traitsOf(request), 'reasoning', 'reasoning_content'])
  // Behind a user's turn many templates drop it.
  const last = messages.at(-1)!.includes('"role":"user"') ? messages.slice(0, -1) : messages
  return { options, messages: last }
}

/** What the small conversations think. */
export const sampleThought = 'First I look.'

function sampleWith(request: ChatRequest, traits: readonly string[]): Prompt {
  const thinking = {
    ...(traits.includes('reasoning') ? { reasoning: sampleThought } : {}),
    ...(traits.includes('reasoning_content') ? { reasoning_content: sampleThought } : {}),
  }
  const front = request.frontLength > 0 ? [{ role: request.messages[0]!.role, content: 'You calibrate.' }] : []
  const turns = traits.includes('calls')
    ? [
        { role: 'user', content: 'Look it up.' },
        { role: 'assistant', content: 'Looking.', ...thinking, tool_calls: [{ id: 'call00001', type: 'function', function: { name: 'look', arguments: '{"at": "a b", "n": 1}' } }] },
        { role: 'tool', tool_call_id: 'call00001', content: 'Found it.' },
      ]
    : [
        { role: 'user', content: 'Look it up.' },
        { role: 'assistant', content: 'Found it.', ...thinking },
        { role: 'user', content: 'Go on.' },
      ]
  const tools = traits.includes('tools') || traits.includes('calls')
    ? [{ type: 'function', function: { name: 'look', description: 'Looks it up.', parameters: { type: 'object', properties: { at: { type: 'string', description: 'Where' }, n: { type: 'integer', description: 'How often' } } } } }]
    : null
  const options = request.members.filter(({ key }) => roleOf(chatOptions, key) === 'prompt').map(({ whole }) => bytesOf(request.body, whole))
  const messages = [...front, ...turns].map((message) => Buffer.from(JSON.stringify(message)))
  const body = object([member('messages', '[]'), ...options, ...(tools ? [member('tools', JSON.stringify(tools))] : [])])
  return { options: readChatRequest(body)!, messages }
}

export const later: Calibration = { state: 'unanswered', reason: 'tokenize_unavailable' }

/** Calibrates one shape: one or two chats of one token, and a few small renderings. */
export async function calibrate(request: ChatRequest, ask: Asking): Promise<Calibration> {
  const prompt = sample(request)
  const hasTools = prompt.options.tools !== null
  const first = await chat(prompt, hasTools ? 'none' : null, ask)
  if (first === 'unanswered') return later
  // A server that hides the tools when none may be called renders another prompt then.
  const second = hasTools ? await chat(prompt, null, ask) : first
  if (second === 'unanswered') return later
  const chatted = second ?? first
  if (chatted === null) return { state: 'uncalibrated' }
  const toolChoiceNone = first !== null && (second === null || sameIds(first.ids, second.ids))
  const { replyKeys } = chatted

  let untold: Calibration | null = null
  for (const dialect of dialects(prompt)) {
    const answer = await ask('/tokenize', tokenizeBody(prompt, dialect, true))
    // The route is not there, or a gateway hides it or guards it: the render endpoint may still be open.
    const isHidden = answer !== null && [401, 403, 404, 405].includes(answer.status)
    if (isHidden) untold = later
    else if (isLater(answer)) return later
    const ids = answer?.status === 200 ? readTokenIds(answer.body, '"tokens":[') : null
    if (ids !== null && sameIds(ids, chatted.ids)) return { state: 'calibrated', proof: 'tokenize', dialect, toolChoiceNone, replyKeys }
    if (ids === null && answer?.status === 200) untold = { state: 'unanswered', reason: 'token_ids_missing' }
  }
  const rendered = await ask('/v1/chat/completions/render', renderBody(prompt, true, toolChoiceNone && hasTools ? Buffer.from('"none"') : null))
  // Switched off it answers 403 since 0.29, and 404 or 405 where it never was.
  if (isLater(rendered) && rendered?.status !== 403) return later
  const ids = rendered?.status === 200 ? readRendered(rendered.body) : null
  if (ids === null || !sameIds(ids, chatted.ids)) return untold ?? { state: 'uncalibrated' }
  return { state: 'calibrated', proof: 'render', dialect: { renamesReasoning: false, effortSetsThinking: false }, toolChoiceNone, replyKeys }
}

/** The ids that a proof tells for a prompt; null where it cannot, or not now. */
export async function rendering(prompt: Prompt, { proof, dialect }: Calibrated, ask: Asking): Promise<Uint32Array | null | 'unanswered'> {
  const made = asPrefilled(prompt, dialect)
  const answer = proof === 'tokenize'
    ? await ask('/tokenize', tokenizeBody(made, dialect, true))
    : await ask('/v1/chat/completions/render', renderBody(made, true, null))
  if (isLater(answer)) return 'unanswered'
  if (answer?.status !== 200) return null
  return proof === 'tokenize' ? readTokenIds(answer.body, '"tokens":[') : readRendered(answer.body)
}

/** Ids of a render answer: an object since 0.18, a list before (serve/render/serving.py). */
export function readRendered(answer: Buffer): Uint32Array | null {
  return readTokenIds(answer, '"token_ids":[') ?? readTokenIds(answer, '"prompt_token_ids":[')
}

interface Chatted {
  readonly ids: Uint32Array
  readonly replyKeys: ReplyKeys
}

/** The ids that the chat endpoint prefills; null where it refuses or does not tell. */
async function chat(prompt: Prompt, toolChoice: 'none' | null, ask: Asking): Promise<Chatted | null | 'unanswered'> {
  const { options, messages } = prompt
  const answer = await ask('/v1/chat/completions', object([
    member('messages', Buffer.concat([Buffer.from('['), Buffer.from(messages.map((message) => message.toString('utf8')).join(',')), Buffer.from(']')])),
    ...options.members.filter(({ key }) => key !== 'messages').map(({ whole }) => bytesOf(options.body, whole)),
    ...(toolChoice ? [member('tool_choice', JSON.stringify(toolChoice))] : []),
    member('max_tokens', '1'), member('temperature', '0'), member('stream', 'false'), member('return_token_ids', 'true'),
  ]))
  if (isLater(answer)) return 'unanswered'
  const ids = answer?.status === 200 ? readTokenIds(answer.body, '"prompt_token_ids":[') : null
  return ids && { ids, replyKeys: readReplyKeys(answer!.body) }
}

function readReplyKeys(json: Buffer): ReplyKeys {
  try {
    const reply = JSON.parse(json.toString('utf8')) as { choices: { message: object }[] }
    const [choice] = reply.choices
    return { reply: Object.keys(reply), choice: Object.keys(choice!), message: Object.keys(choice!.message) }
  } catch {
    return { reply: ['id', 'object', 'created', 'model', 'choices', 'usage'], choice: ['index', 'message', 'finish_reason'], message: ['role', 'content'] }
  }
}

/** No answer, or one that says nothing about the prompt: the engine is busy, starting, or wants another credential. */
export function isLater(answer: Answer | null): boolean {
  return answer === null || answer.status >= 500 || [401, 403, 408, 429].includes(answer.status)
}

/** The dialects that can make a difference for this prompt, the newest engine's first. */
function dialects(prompt: Prompt): Dialect[] {
  const names = prompt.messages.some((message) => message.includes('"reasoning_content"')) ? [true, false] : [true]
  const efforts = prompt.options.members.some(({ key }) => key === 'reasoning_effort') ? [true, false] : [true]
  return names.flatMap((renamesReasoning) => efforts.map((effortSetsThinking) => ({ renamesReasoning, effortSetsThinking })))
}

/** Whether two prompts are the same token ids. */
export function sameIds(a: Uint32Array, b: Uint32Array): boolean {
  return a.length === b.length && a.every((id, i) => id === b[i])
}
