// A chat request as vLLM reads it: its rules and refusals (vllm/entrypoints/openai/chat_completion/protocol.py).

import { boolean, idList, isObject, optionalBoolean, optionalInteger, optionalNumber, optionalObject, optionalString, quoted } from './body.ts'
import { badParameter, badRequest, invalidField } from './errors.ts'
import { dumpJson, type Json, type JsonObject, PythonFloat } from './python-json.ts'
import type { Settings } from './options.ts'

/** What chat and completions share. */
export interface GenerationOptions {
  readonly model: string | null
  readonly stream: boolean
  readonly includeUsage: boolean
  readonly continuousUsage: boolean
  readonly returnTokenIds: boolean
  readonly maxTokens: number | null
  readonly choices: number
  readonly stop: readonly string[]
  readonly ignoreEos: boolean
  readonly skipSpecialTokens: boolean
  readonly salt: string | null
  /** prompt_logprobs turn reading the cache off (vllm/sampling_params.py). */
  readonly readCache: boolean
  readonly requestId: string | null
}

export interface ChatOptions extends GenerationOptions {
  readonly addGenerationPrompt: boolean
  readonly continueFinalMessage: boolean
  readonly templateKwargs: ReadonlyMap<string, Json>
  readonly returnPromptText: boolean
  readonly includeReasoning: boolean
  readonly toolChoice: 'none' | 'auto' | 'required' | 'named'
  readonly hasTools: boolean
  /** kv_transfer_params.prompt_token_ids: taken in place of the rendered prompt. */
  readonly givenPrompt: number[] | null
  /** Keep the last (left) or first (right) so many prompt tokens. */
  readonly truncate: { readonly tokens: number, readonly side: 'left' | 'right' } | null
}

const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']
/** cache_salt: at most 128 characters, none of these (validate_cache_salt). */
const saltForbidden = /[@/\\\0]/

export function chatOptions(body: JsonObject, settings: Settings): ChatOptions {
  checkTools(body, settings)
  const shared = generationOptions(body, 'max_completion_tokens')
  const effort = optionalString(body, 'reasoning_effort')
  if (effort !== null && !efforts.includes(effort)) {
    throw invalidField('literal_error', 'reasoning_effort', "Input should be 'none', 'minimal', 'low', 'medium', 'high', 'xhigh' or 'max'", effort)
  }
  if (optionalInteger(body, 'thinking_token_budget') !== null && !settings.reasoningParser) {
    throw badRequest('thinking_token_budget is set but reasoning_config is not configured. Please set --reasoning-parser and/or '
      + '--reasoning-config to use thinking_token_budget.')
  }
  const template = templateOptions(body)
  const own = optionalObject(body, 'chat_template_kwargs')
  const kwargs = new Map<string, Json>([
    ...Object.entries(settings.chatTemplateKwargsDefault), ...withoutNull(template.templateKwargs),
  ])
  if (effort !== null) {
    kwargs.set('reasoning_effort', effort)
    if (own === null || !own.has('enable_thinking')) kwargs.set('enable_thinking', effort !== 'none')
  }
  const documents = body.get('documents') ?? null
  if (documents !== null) kwargs.set('documents', documents)
  return {
    ...shared,
    ...template,
    templateKwargs: kwargs,
    returnPromptText: optionalBoolean(body, 'return_prompt_text'),
    includeReasoning: boolean(body, 'include_reasoning', true),
    toolChoice: toolChoice(body),
    hasTools: Array.isArray(body.get('tools')),
    givenPrompt: givenPrompt(body),
    truncate: truncation(body),
  }
}

export function generationOptions(body: JsonObject, newName: 'max_completion_tokens' | null): GenerationOptions {
  const stream = optionalBoolean(body, 'stream')
  const streamOptions = optionalObject(body, 'stream_options')
  if (streamOptions !== null && streamOptions.size > 0 && !stream) {
    throw badParameter('Stream options can only be defined when `stream=True`.', 'stream_options')
  }
  const promptLogprobs = optionalInteger(body, 'prompt_logprobs')
  if (promptLogprobs !== null && stream && (promptLogprobs > 0 || promptLogprobs === -1)) {
    throw badParameter('`prompt_logprobs` are not available when `stream=True`.', 'prompt_logprobs')
  }
  const choices = optionalInteger(body, 'n') ?? 1
  const temperature = optionalNumber(body, 'temperature')
  checkSampling(temperature, optionalNumber(body, 'top_p'))
  if (choices < 1) throw badRequest(`n must be at least 1, got ${choices}.`)
  if (choices > 1 && temperature === 0) throw badRequest(`n must be 1 when using greedy sampling, got ${choices}.`)
  return {
    model: optionalString(body, 'model'),
    stream,
    includeUsage: streamOptions !== null && optionalBoolean(streamOptions, 'include_usage'),
    continuousUsage: streamOptions !== null && optionalBoolean(streamOptions, 'include_usage')
      && optionalBoolean(streamOptions, 'continuous_usage_stats'),
    returnTokenIds: optionalBoolean(body, 'return_token_ids'),
    maxTokens: (newName === null ? null : optionalInteger(body, newName)) ?? optionalInteger(body, 'max_tokens'),
    choices,
    stop: stopStrings(body.get('stop') ?? []),
    ignoreEos: boolean(body, 'ignore_eos', false),
    skipSpecialTokens: boolean(body, 'skip_special_tokens', true),
    salt: cacheSalt(body),
    readCache: promptLogprobs === null,
    requestId: optionalString(body, 'request_id'),
  }
}

/** vllm/sampling_params.py _verify_args. */
function checkSampling(temperature: number | null, topP: number | null): void {
  const refuse = (name: string, rule: string, value: number): never => {
    const shown = dumpJson(new PythonFloat(value))
    throw badParameter(`${name} must be ${rule}, got ${shown}.`, name, shown)
  }
  if (temperature !== null && temperature < 0) refuse('temperature', 'non-negative', temperature)
  if (temperature !== null && temperature > 2) refuse('temperature', 'in [0, 2]', temperature)
  if (topP !== null && (topP <= 0 || topP > 1)) refuse('top_p', 'in (0, 1]', topP)
}

function stopStrings(stop: Json): string[] {
  const list = Array.isArray(stop) ? stop : [stop]
  const strings = list.filter((each) => typeof each === 'string')
  if (strings.length < list.length) throw invalidField('string_type', 'stop', 'Input should be a valid string', quoted(stop))
  return strings
}

/** The members that chat and /tokenize both have, with the same meaning. */
export function templateOptions(body: JsonObject): Pick<ChatOptions, 'addGenerationPrompt' | 'continueFinalMessage' | 'templateKwargs'> {
  const generationPrompt = body.get('add_generation_prompt')
  const continues = boolean(body, 'continue_final_message', false)
  if (continues && generationPrompt === true) {
    throw badRequest('Cannot set both `continue_final_message` and `add_generation_prompt` to True.')
  }
  const kwargs = optionalObject(body, 'chat_template_kwargs') ?? new Map<string, Json>()
  if ((body.get('chat_template') ?? null) !== null || (kwargs.get('chat_template') ?? null) !== null) {
    throw badRequest('Chat template is passed with request, but --trust-request-chat-template is not set. Refused request '
      + 'with untrusted chat template.')
  }
  return {
    addGenerationPrompt: boolean(body, 'add_generation_prompt', true),
    continueFinalMessage: continues,
    templateKwargs: withoutNull(kwargs),
  }
}

/** A null never overrides a default (merge_kwargs in vllm/renderers/params.py). */
function withoutNull(kwargs: ReadonlyMap<string, Json>): Map<string, Json> {
  return new Map(Array.from(kwargs).filter(([, value]) => value !== null))
}

/** Obeyed by chat and, undeclared, by /tokenize too. */
export function givenPrompt(body: JsonObject): number[] | null {
  const params = body.get('kv_transfer_params')
  return isObject(params) ? idList(params.get('prompt_token_ids')) : null
}

function truncation(body: JsonObject): ChatOptions['truncate'] {
  const tokens = optionalInteger(body, 'truncate_prompt_tokens')
  if (tokens === null || tokens < 0) return null
  return { tokens, side: optionalString(body, 'truncation_side') === 'right' ? 'right' : 'left' }
}

function cacheSalt(body: JsonObject): string | null {
  const salt = body.get('cache_salt') ?? null
  if (salt === null) return null
  if (typeof salt !== 'string' || salt === '') {
    throw badParameter("Parameter 'cache_salt' must be a non-empty string if provided.", 'cache_salt')
  }
  if (salt.length > 128 || saltForbidden.test(salt)) {
    throw badParameter("Parameter 'cache_salt' must be at most 128 characters and must not contain '@', '/', '\\\\', or NUL.", 'cache_salt')
  }
  return salt
}

function toolChoice(body: JsonObject): ChatOptions['toolChoice'] {
  const choice = body.get('tool_choice') ?? null
  if (isObject(choice)) return 'named'
  if (choice === 'auto' || choice === 'required') return choice
  return choice === null && Array.isArray(body.get('tools')) ? 'auto' : 'none'
}

function checkTools(body: JsonObject, settings: Settings): void {
  const tools = body.get('tools') ?? null
  if (Array.isArray(tools) && tools.length === 0) {
    throw badParameter('`tools` must not be an empty array. Either provide at least one tool or omit the field entirely.', 'tools')
  }
  const choice = body.get('tool_choice') ?? null
  if (choice === 'none') return
  if (choice !== null) {
    if (tools === null) throw badParameter('When using `tool_choice`, `tools` must be set.', 'tool_choice')
    if (choice !== 'auto' && choice !== 'required' && !isObject(choice)) {
      throw badParameter(`Invalid value for \`tool_choice\`: ${quoted(choice)}! Only named tools, "none", "auto" or "required" `
        + 'are supported.', 'tool_choice')
    }
    if (isObject(choice)) checkNamedTool(choice, tools)
  }
  if (tools !== null && !settings.toolParser) {
    throw badRequest('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set')
  }
}

function checkNamedTool(choice: JsonObject, tools: Json): void {
  const wanted = functionName(choice)
  if (typeof wanted !== 'string' || wanted === '') {
    throw badParameter('Expected field `name` in `function` in `tool_choice`! Correct usage: `{"type": "function", "function": '
      + '{"name": "my_function"}}`', 'tool_choice.function.name')
  }
  if (!Array.isArray(tools) || !tools.some((tool) => functionName(tool) === wanted)) {
    throw badParameter('The tool specified in `tool_choice` does not match any of the specified `tools`', 'tool_choice')
  }
}

function functionName(holder: Json): Json | undefined {
  const named = isObject(holder) ? holder.get('function') : undefined
  return isObject(named) ? named.get('name') : undefined
}

/**
 * Tokens that a reply may have: what was asked for, silently cut to what the window leaves (vLLM 0.32, get_max_tokens).
 * @param isText a text prompt is counted no further than one token over the window, and the message says so
 * @throws Refusal for a prompt as long as the window, or a wish longer than the window
 */
export function replyLimit(prompt: number, wished: number | null, otherwise: number, window: number, isText: boolean): number {
  if (prompt > window) {
    const count = isText ? window + 1 : prompt
    throw badParameter(`This model's maximum context length is ${window} tokens. However, your prompt contains `
      + `${isText ? 'at least ' : ''}${count} input tokens, which exceeds this limit even without any output tokens. Please `
      + 'reduce the length of the input prompt.', 'input_tokens', count)
  }
  if (wished !== null && wished > window) {
    throw badParameter(`max_tokens=${wished} cannot be greater than max_model_len=${window}. Please request fewer output tokens.`,
      'max_tokens', wished)
  }
  const limit = Math.min(wished ?? otherwise, window - prompt)
  if (limit < 1) throw badParameter(`max_tokens must be at least 1, got ${limit}.`, 'max_tokens', limit)
  return limit
}
