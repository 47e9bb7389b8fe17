// Which request option a fork takes from where (R2). One table; a member that nobody here knows shapes the prompt.
// Sources: vLLM's ChatCompletionRequest (vllm/entrypoints/openai/chat_completion/protocol.py, 0.10 to 0.32).

import { bytesOf, elementsOf, membersOf, memberNamed, skipSpace, stringAt, type Slice } from '../wire/json-slices.ts'
import { booleanOption, numberOption, option, stringMember, type ChatRequest } from '../wire/chat-request.ts'
import type { Reason } from '../receipt/reasons.ts'

type Role =
  /** Shapes only the answer: the summary request's value, or none. */
  | 'answer'
  /** vLLM ignores it: the summary request's value, or none. */
  | 'ignored'
  /** Decides which engine or rank answers: the evidence's value, or none. */
  | 'routing'
  /** Made anew for every request. */
  | 'per-request'
  /** Written by the plan itself. */
  | 'planned'

const roles: Readonly<Record<string, Role>> = {
  messages: 'planned', tools: 'planned', tool_choice: 'planned',
  stream: 'planned', stream_options: 'planned', return_token_ids: 'planned',
  max_tokens: 'planned', max_completion_tokens: 'planned',

  request_id: 'per-request',

  // Body fields that routers in front of vLLM take for affinity.
  session_id: 'routing', prompt_cache_key: 'routing',

  frequency_penalty: 'answer', presence_penalty: 'answer', repetition_penalty: 'answer', logit_bias: 'answer',
  logprobs: 'answer', top_logprobs: 'answer', logprob_token_ids: 'answer', n: 'answer', seed: 'answer', stop: 'answer',
  stop_token_ids: 'answer', stream_interval: 'answer', temperature: 'answer', top_p: 'answer', top_k: 'answer',
  min_p: 'answer', length_penalty: 'answer', use_beam_search: 'answer', min_tokens: 'answer', ignore_eos: 'answer',
  include_stop_str_in_output: 'answer', skip_special_tokens: 'answer', spaces_between_special_tokens: 'answer',
  allowed_token_ids: 'answer', bad_words: 'answer', structured_outputs: 'answer', guided_json: 'answer',
  guided_regex: 'answer', guided_decoding_backend: 'answer', guided_whitespace_pattern: 'answer', structural_tag: 'answer',
  echo: 'answer', best_of: 'answer', guided_choice: 'answer', guided_grammar: 'answer', parallel_tool_calls: 'answer',
  include_reasoning: 'answer', thinking_token_budget: 'answer', priority: 'answer',
  return_tokens_as_token_ids: 'answer', return_token_offsets: 'answer', return_prompt_text: 'answer',
  return_assistant_tokens_mask: 'answer', routed_experts_prompt_start: 'answer', repetition_detection: 'answer',
  watermarking: 'answer',

  metadata: 'ignored', user: 'ignored', store: 'ignored', service_tier: 'ignored', safety_identifier: 'ignored',
  client_metadata: 'ignored', verbosity: 'ignored', prompt_cache_retention: 'ignored',
}

/** Options whose difference has a reason of its own. */
const ownReasons: Readonly<Record<string, Reason>> = {
  model: 'model_changed',
  chat_template: 'template_changed',
  chat_template_kwargs: 'template_changed',
}

/** What makes a request unforkable when it is set, whichever of the two sets it. */
const unforkable = [
  'kv_transfer_params', 'ec_transfer_params', // vLLM takes the prompt's ids from them
  'prompt_logprobs', // disables reading the cache (vllm/sampling_params.py)
  'truncate_prompt_tokens', 'truncation_side', // cut the prompt on chat alone, not on /tokenize
  'functions', 'function_call', // the old form of tools, which vLLM ignores
] as const

/** Switches that must be off, or on, where they are given. */
const switches: Readonly<Record<string, boolean>> = {
  continue_final_message: false, // the last message is no complete one
  echo: false, use_beam_search: false,
  add_generation_prompt: true,
}

/** How many answers are generated. */
const choiceCounts = ['n', 'best_of'] as const

const tokenLimits = ['max_tokens', 'max_completion_tokens'] as const

/** How a member of a request goes into a fork. */
export function roleOf(key: string): Role | 'prompt' {
  return Object.hasOwn(roles, key) ? roles[key]! : 'prompt'
}

/**
 * Whether the summary request's options let a fork keep the evidence's.
 * @returns the reason against it, or null
 */
export function optionsAgainstFork(evidence: ChatRequest, summary: ChatRequest): Reason | null {
  if (isUnforkable(evidence) || isUnforkable(summary) || forcesTool(summary) || hasRefusedLimit(summary)) return 'unforkable_options'
  for (const { key } of summary.members) {
    if (roleOf(key) !== 'prompt') continue
    const theirs = option(summary, key)
    if (theirs === undefined) continue
    const ours = option(evidence, key)
    if (ours !== undefined && sameValue(evidence.body, ours, summary.body, theirs)) continue
    return Object.hasOwn(ownReasons, key) ? ownReasons[key]! : 'options_changed'
  }
  // A reply format that only the conversation has would shape the summary; some renderers put it into the prompt.
  if (option(evidence, 'response_format') !== undefined && option(summary, 'response_format') === undefined) return 'options_changed'
  if (hasMedia(evidence) || hasMedia(summary)) return 'media_unsupported'
  if (hasBrokenArguments(evidence) || hasBrokenArguments(summary)) return 'unforkable_options'
  return null
}

function isUnforkable(request: ChatRequest): boolean {
  return unforkable.some((key) => isUnforkableValue(request, key)) ||
    Object.entries(switches).some(([key, wanted]) => option(request, key) !== undefined && booleanOption(request, key) !== wanted) ||
    choiceCounts.some((key) => option(request, key) !== undefined && numberOption(request, key) !== 1)
}

function isUnforkableValue(request: ChatRequest, key: string): boolean {
  const value = option(request, key)
  return value !== undefined && request.body[value.start] !== 0x66 // false
}

/** A token limit that the engine refuses: in a fork it would look like a refusal of the fork. */
function hasRefusedLimit(request: ChatRequest): boolean {
  return tokenLimits.some((key) => {
    const limit = numberOption(request, key)
    return option(request, key) !== undefined && (limit === null || !Number.isInteger(limit) || limit < 1)
  })
}

/** A tool that the request forces is its answer's form: the wanted reply is a tool call. */
export function forcesTool(request: ChatRequest): boolean {
  const value = option(request, 'tool_choice')
  if (value === undefined) return false
  const choice = stringAt(request.body, value)
  return choice !== 'auto' && choice !== 'none'
}

/** Same bytes, or the same but for white space between them. */
function sameValue(a: Buffer, x: Slice, b: Buffer, y: Slice): boolean {
  const left = bytesOf(a, x)
  const right = bytesOf(b, y)
  return left.equals(right) || sameButSpace(left, right)
}

function sameButSpace(a: Buffer, b: Buffer): boolean {
  let inString = false
  for (let i = 0, j = 0; ; i++, j++) {
    if (!inString) {
      i = skipSpace(a, i)
      j = skipSpace(b, j)
    }
    if (i >= a.length || j >= b.length) return i >= a.length && j >= b.length
    if (a[i] !== b[j]) return false
    if (a[i] === quote) inString = !inString
    else if (a[i] === backslash && a[++i] !== b[++j]) return false
  }
}

const quote = 0x22
const backslash = 0x5c

/** Content parts other than text: images, sounds, files, and kinds that nobody here knows. */
function hasMedia({ body, messages }: ChatRequest): boolean {
  return messages.some(({ slice }) => {
    const content = memberNamed(membersOf(body, slice.start) ?? [], 'content')
    if (!content || body[content.value.start] !== openBracket) return false
    return (elementsOf(body, content.value.start) ?? []).some((part) => !isText(body, part))
  })
}

/** Content parts that vLLM reads as text (chat_utils.py); a string is one too, whatever it says. */
const textParts = ['text', 'input_text', 'output_text', 'refusal', 'thinking'] as const

function isText(body: Buffer, part: Slice): boolean {
  if (body[part.start] === quote) return true
  const type = stringMember(body, part, 'type')
  return textParts.some((text) => text === type)
}

const openBracket = 0x5b

/** vLLM 0.28 refuses arguments that are no JSON, 0.32 renders them as {}: what was prefilled is not to be known. */
function hasBrokenArguments(request: ChatRequest): boolean {
  return request.messages.some((message) => message.callIds.length > 0 && callsOf(request, message.slice).some((call) => {
    const functionAt = memberNamed(membersOf(request.body, call.start) ?? [], 'function')
    const text = functionAt && stringMember(request.body, functionAt.value, 'arguments')
    return typeof text !== 'string' || !isJsonObject(text)
  }))
}

function callsOf(request: ChatRequest, message: Slice): Slice[] {
  const calls = memberNamed(membersOf(request.body, message.start) ?? [], 'tool_calls')
  return calls ? elementsOf(request.body, calls.value.start) ?? [] : []
}

function isJsonObject(text: string): boolean {
  // vLLM reads an empty text and "null" as {} (chat_utils.py).
  if (text === '' || text === 'null') return true
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}
