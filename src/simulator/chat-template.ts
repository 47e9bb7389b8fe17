// The chat template, rendered as transformers' apply_chat_template does, called from vllm/renderers/hf.py.

import { badRequest } from './errors.ts'
import type { TemplateMessage } from './conversation.ts'
import { compileTemplate } from './python-template.ts'
import { type Json, PythonFloat } from './python-json.ts'

export interface TemplateInput {
  readonly messages: readonly TemplateMessage[]
  /** Tools as JSON texts, printed as they are. */
  readonly tools: readonly string[] | null
  readonly addGenerationPrompt: boolean
  readonly continueFinalMessage: boolean
  readonly kwargs: ReadonlyMap<string, Json>
}

export type RenderTemplate = (input: TemplateInput) => string

const continueTag = 'CONTINUE_FINAL_MESSAGE_TAG '

/** Names that apply_chat_template sets itself: vLLM drops these from a request's kwargs. */
const reserved: ReadonlySet<string> = new Set(['tools', 'add_generation_prompt', 'continue_final_message'])

export function chatTemplate(source: string): RenderTemplate {
  const render = compileTemplate(source, refuse)

  return (input) => {
    if (input.messages.length === 0) {
      throw badRequest('Cannot apply chat template to an empty conversation. Provide at least one message.')
    }
    if (input.continueFinalMessage && input.addGenerationPrompt) {
      throw badRequest('continue_final_message and add_generation_prompt are not compatible. Use continue_final_message when '
        + 'you want the model to continue the final message, and add_generation_prompt when you want to add a header that '
        + 'will prompt it to start a new assistant message instead.')
    }
    if (input.kwargs.has('messages')) {
      throw badRequest("jinja2.environment.Template.render() got multiple values for keyword argument 'messages'")
    }
    const messages = input.continueFinalMessage ? tagLast(input.messages) : input.messages
    const rendered = render({
      ...Object.fromEntries(Array.from(input.kwargs).filter(([name]) => !reserved.has(name)).map(([name, value]) => [name, plain(value)])),
      messages,
      tools: input.tools,
      add_generation_prompt: input.addGenerationPrompt,
    })
    return input.continueFinalMessage ? cutAtTag(rendered) : rendered
  }
}

/** Whether a template takes system text in front only, as vLLM tries it (anthropic/serving.py, _detect_merge_inline_system). */
export function refusesSystemBehind(template: RenderTemplate): boolean {
  const messages = ['system', 'user', 'system', 'user'].map((role) => ({ role, content: 't' }))
  try {
    template({ messages, tools: null, addGenerationPrompt: false, continueFinalMessage: false, kwargs: new Map() })
    return false
  } catch {
    return true
  }
}

/** What a template refuses is a 400 (renderers/hf.py, safe_apply_chat_template). */
function refuse(message: unknown): never {
  throw badRequest(String(message))
}

function tagLast(messages: readonly TemplateMessage[]): TemplateMessage[] {
  return messages.map((message, index) =>
    index === messages.length - 1 ? { ...message, content: message.content + continueTag } : message)
}

function cutAtTag(rendered: string): string {
  const at = rendered.lastIndexOf(continueTag.trim())
  if (at < 0) {
    throw badRequest('continue_final_message is set but the final message does not appear in the chat after applying the '
      + 'chat template!')
  }
  return rendered.startsWith(continueTag, at) ? rendered.slice(0, at) : rendered.slice(0, at).trimEnd()
}

function plain(value: Json): unknown {
  if (value instanceof PythonFloat) return value.value
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(plain)
  if (value instanceof Map) return Object.fromEntries(Array.from(value, ([name, member]) => [name, plain(member)]))
  return value
}
