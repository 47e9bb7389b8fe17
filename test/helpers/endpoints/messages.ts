// /v1/messages, as tests speak to it.

import { messages } from '../../../src/endpoint/messages.ts'
import { parts, type Message, type Spoken } from './spoken.ts'

/** Members that a message knows under another name, or not at all. */
const renamed = new Set(['messages', 'tools', 'tool_choice', 'max_tokens', 'max_completion_tokens', 'response_format', 'reasoning_effort', 'stream_options', 'return_token_ids', 'logprobs', 'stop', 'seed'])

export const spokenMessages: Spoken = {
  endpoint: messages,
  engine: { scaleOut: true },
  dropsEmptyTexts: true,
  // Nothing tells token ids here, and a stream that fails says so in its own words.
  lacks: ['n', 'prompt_logprobs', 'max_completion_tokens', 'logprobs', 'return_token_ids', 'seed', 'an aborted finish', 'told prompt ids', 'no limit', 'mm_processor_kwargs', 'include_reasoning'],
  write({ messages: said, tools, ...body }) {
    const [first] = said
    const apart = first?.role === 'system' && typeof first.content === 'string' && first.content !== ''
    const choice = body['tool_choice'] as { function?: { name: string } } | string | undefined
    const format = body['response_format'] as { type: string } | undefined
    const effort = body['reasoning_effort']
    return {
      ...Object.fromEntries(Object.entries(body).filter(([key]) => !renamed.has(key))),
      max_tokens: body['max_tokens'] ?? body['max_completion_tokens'] ?? 2_000,
      ...(apart ? { system: first.content } : {}),
      messages: grouped(said.slice(apart ? 1 : 0)),
      ...(tools ? { tools: tools.map(({ function: { name, description, parameters } }) => ({ name, description, input_schema: parameters })) } : {}),
      ...(choice === undefined ? {} : { tool_choice: typeof choice === 'object' ? { type: 'tool', name: choice.function?.name } : { type: choice === 'required' ? 'any' : choice } }),
      ...(format === undefined && effort === undefined ? {} : { output_config: { ...(format ? { format } : {}), ...(effort ? { effort } : {}) } }),
      ...(body['stop'] === undefined ? {} : { stop_sequences: [body['stop']].flat() }),
    }
  },
  read(data) {
    const read = parts(data)
    const whole = read.find((part) => part?.type === 'message')
    const deltas = (type: string, key: string): string => read.filter((part) => part?.delta?.type === type).map(({ delta }) => delta[key]).join('')
    const texts = (type: string, key: string): string => (whole?.content ?? []).filter((block: any) => block.type === type).map((block: any) => block[key]).join('')
    const reason = whole?.stop_reason ?? read.find((part) => part?.type === 'message_delta')?.delta.stop_reason ?? null
    const finishes: Record<string, string> = { end_turn: 'stop', stop_sequence: 'stop', tool_use: 'tool_calls', max_tokens: 'length' }
    return {
      content: whole ? texts('text', 'text') : deltas('text_delta', 'text'),
      thinking: whole ? texts('thinking', 'thinking') : deltas('thinking_delta', 'thinking'),
      finish: reason === null ? null : finishes[reason] ?? reason,
      done: read.some((part) => part?.type === 'message_stop'),
      error: read.find((part) => part?.error)?.error ?? null,
    }
  },
  canned(texts) {
    const message = { id: 'msg_1', type: 'message', role: 'assistant', content: [{ type: 'text', text: texts.join('') }], model: 'm', stop_reason: 'end_turn', stop_sequence: null }
    const event = (type: string, members: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`
    return {
      whole: JSON.stringify(message),
      events: [
        event('message_start', { message: { ...message, content: [], stop_reason: null } }),
        event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
        ...texts.map((text) => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })),
        event('content_block_stop', { index: 0 }),
        event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null } }),
      ],
      end: event('message_stop', {}),
    }
  },
  error: (code, message, type = 'summary_error') => ({ type: 'error', error: { type, message, code } }),
  errorEvent: (code, message) => ({ type: 'error', error: { type: 'summary_error', message, code } }),
}

/** Results of tools that follow one another stand in one message. */
function grouped(said: readonly Message[]): object[] {
  const written: { role: string, content: any }[] = []
  for (const [i, { role, content, reasoning, reasoning_content: old, tool_calls: calls = [], tool_call_id: id }] of said.entries()) {
    if (role === 'tool') {
      const result = { type: 'tool_result', tool_use_id: id, content: content ?? '' }
      if (said[i - 1]?.role === 'tool') written.at(-1)!.content.push(result)
      else written.push({ role: 'user', content: [result] })
      continue
    }
    const thought = reasoning ?? old
    if (role !== 'assistant' || (thought === undefined && calls.length === 0)) {
      written.push({ role: role === 'developer' ? 'system' : role, content: Array.isArray(content) ? (content as any[]).map(block) : content ?? '' })
      continue
    }
    written.push({ role, content: [
      ...(thought === undefined ? [] : [{ type: 'thinking', thinking: thought, signature: 's' }]),
      ...(content === null ? [] : [{ type: 'text', text: content }]),
      ...calls.map(({ id: callId, function: { name, arguments: args } }) => ({ type: 'tool_use', id: callId, name, input: input(args) })),
    ] })
  }
  return written
}

function block({ type, text, image_url: image }: any): object {
  return type === 'text' ? { type, text } : { type: 'image', source: { type: 'url', url: image.url } }
}

/** An input is an object here; what is none stays what it is. */
function input(args: string): unknown {
  try {
    return JSON.parse(args)
  } catch {
    return args
  }
}
