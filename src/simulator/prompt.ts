// From a body to prompt ids. Chat and /tokenize share the rendering and differ where vLLM's differ.

import { boolean, optionalString } from './body.ts'
import type { RenderTemplate } from './chat-template.ts'
import { type ChatOptions, givenPrompt, templateOptions } from './chat-request.ts'
import { templateMessages, templateTools } from './conversation.ts'
import { badRequest } from './errors.ts'
import type { Settings } from './options.ts'
import type { JsonObject } from './python-json.ts'
import type { Tokenizer } from './tokenizer.ts'

export interface Renderer {
  readonly tokenizer: Tokenizer
  readonly template: RenderTemplate
  readonly settings: Settings
  /** The messages endpoint moves system text to the front then. */
  readonly takesSystemInFrontOnly: boolean
}

export interface RenderedPrompt {
  /** Null where ids were given and nothing was rendered. */
  readonly text: string | null
  readonly ids: readonly number[]
}

/** The prompt that chat prefills. */
export function chatPrompt(renderer: Renderer, body: JsonObject, options: ChatOptions): RenderedPrompt {
  const { settings, template } = renderer
  if (options.givenPrompt !== null) return { text: null, ids: options.givenPrompt }
  const dropsTools = options.toolChoice === 'none' && settings.excludeToolsWhenToolChoiceNone
  const text = settings.chatPrompt(template({
    messages: templateMessages(body.get('messages'), modelName(body, settings), settings.renamesReasoningContent),
    tools: dropsTools ? null : templateTools(body.get('tools')),
    addGenerationPrompt: options.addGenerationPrompt,
    continueFinalMessage: options.continueFinalMessage,
    kwargs: options.templateKwargs,
  }))
  const ids = encode(renderer.tokenizer, text)
  const { truncate } = options
  if (truncate === null || ids.length <= truncate.tokens) return { text, ids }
  return { text, ids: truncate.side === 'left' ? ids.slice(ids.length - truncate.tokens) : ids.slice(0, truncate.tokens) }
}

/** The prompt that /tokenize answers; it knows neither tool_choice nor reasoning_effort nor reasoning_content. */
export function tokenizePrompt(renderer: Renderer, body: JsonObject): RenderedPrompt {
  const { tokenizer, template, settings } = renderer
  if (!body.has('messages')) {
    const text = optionalString(body, 'prompt') ?? ''
    boolean(body, 'add_special_tokens', true)
    return { text, ids: encode(tokenizer, text) }
  }
  const given = givenPrompt(body)
  if (given !== null) return { text: null, ids: given }
  const options = templateOptions(body)
  const text = template({
    messages: templateMessages(body.get('messages'), modelName(body, settings), false),
    tools: templateTools(body.get('tools')),
    addGenerationPrompt: options.addGenerationPrompt,
    continueFinalMessage: options.continueFinalMessage,
    kwargs: options.templateKwargs,
  })
  return { text, ids: encode(tokenizer, text) }
}

/** @throws Refusal for lone surrogates, which the tokenizer of vLLM does not take */
export function encode(tokenizer: Tokenizer, text: string): number[] {
  if (!text.isWellFormed()) {
    throw badRequest('TextEncodeInput must be Union[TextInputSequence, Tuple[InputSequence, InputSequence]]')
  }
  return tokenizer.encode(text)
}

function modelName(body: JsonObject, settings: Settings): string {
  const model = body.get('model')
  return typeof model === 'string' ? model : settings.models[0] ?? ''
}
