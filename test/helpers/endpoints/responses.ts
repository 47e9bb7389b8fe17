// /v1/responses, as tests speak to it.

import { responses } from '../../../src/endpoint/responses.ts'
import { parts, type Message, type Spoken } from './spoken.ts'

/** Members that a response knows under another name, or not at all. */
const renamed = new Set(['messages', 'tools', 'tool_choice', 'max_tokens', 'max_completion_tokens', 'response_format', 'reasoning_effort', 'stream_options', 'return_token_ids', 'logprobs'])

export const spokenResponses: Spoken = {
  endpoint: responses,
  // vLLM calls a response completed whatever ended it but its limit, and a stream that fails breaks off. Cached tokens
  // are told whatever the server's flags.
  lacks: ['n', 'prompt_logprobs', 'max_completion_tokens', 'an aborted finish', 'an error event', 'unreported cached tokens'],
  write({ messages, tools, ...body }) {
    const [first] = messages
    const apart = first?.role === 'system' && typeof first.content === 'string' && first.content !== ''
    const limit = body['max_tokens'] ?? body['max_completion_tokens']
    const choice = body['tool_choice'] as { function?: { name: string } } | string | undefined
    const format = body['response_format'] as { type: string, json_schema?: object } | undefined
    return {
      ...Object.fromEntries(Object.entries(body).filter(([key]) => !renamed.has(key))),
      ...(apart ? { instructions: first.content } : {}),
      input: messages.slice(apart ? 1 : 0).flatMap(items),
      ...(tools ? { tools: tools.map(({ function: described }) => ({ type: 'function', ...described })) } : {}),
      ...(choice === undefined ? {} : { tool_choice: typeof choice === 'object' ? { type: 'function', name: choice.function?.name } : choice }),
      ...(limit === undefined ? {} : { max_output_tokens: limit }),
      ...(format === undefined ? {} : { text: { format: { type: format.type, ...format.json_schema } } }),
      ...(body['reasoning_effort'] === undefined ? {} : { reasoning: { effort: body['reasoning_effort'] } }),
      ...(body['return_token_ids'] === undefined ? {} : { enable_response_messages: body['return_token_ids'] }),
      ...(body['logprobs'] === true ? { include: ['message.output_text.logprobs'] } : {}),
    }
  },
  read(data) {
    const read = parts(data)
    const response = read.findLast((part) => part?.type?.startsWith('response.') && part.response?.status !== 'in_progress' && part.response)?.response ?? read.find((part) => part?.object === 'response')
    const deltas = (type: string): string => read.filter((part) => part?.type === type).map(({ delta }) => delta).join('')
    const texts = (type: string): string => (response?.output ?? []).filter((item: any) => item.type === type).flatMap((item: any) => item.content ?? []).map(({ text }: any) => text).join('')
    const streamed = read.some((part) => part?.type !== undefined)
    const calls = (response?.output ?? []).some(({ type }: any) => type.endsWith('_call'))
    const status = response?.status
    return {
      content: streamed ? deltas('response.output_text.delta') : texts('message'),
      thinking: streamed ? deltas('response.reasoning_text.delta') : texts('reasoning'),
      finish: status === 'completed' ? (calls ? 'tool_calls' : 'stop') : status === 'incomplete' ? 'length' : null,
      done: read.some((part) => part?.type === 'response.completed'),
      error: read.find((part) => part?.error)?.error ?? null,
    }
  },
  canned(texts) {
    const text = texts.join('')
    const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text, annotations: [] }] }
    const response = { id: 'resp_1', object: 'response', status: 'completed', output: [item], usage: null }
    const event = (type: string, members: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`
    return {
      whole: JSON.stringify(response),
      events: [
        event('response.created', { response: { ...response, status: 'in_progress', output: [] } }),
        event('response.output_item.added', { output_index: 0, item: { ...item, status: 'in_progress', content: [] } }),
        ...texts.map((delta) => event('response.output_text.delta', { item_id: 'msg_1', output_index: 0, content_index: 0, delta })),
        event('response.output_item.done', { output_index: 0, item }),
        event('response.completed', { response }),
      ],
      end: '',
    }
  },
  error: (code, message, type = 'summary_error') => ({ error: { message, type, param: null, code } }),
  errorEvent(code, message, before) {
    const { id, created_at, model } = before[0].response
    return {
      error: { message, type: 'summary_error', param: null, code },
      response: { id, created_at: created_at ?? null, model: model ?? null, object: 'response', status: 'failed', error: { code, message }, output: [], incomplete_details: null, usage: null },
      sequence_number: before.at(-1).sequence_number === undefined ? 0 : before.length, type: 'response.failed',
    }
  },
}

/** The items that vLLM makes this message of. */
function items({ role, content, reasoning, reasoning_content: old, tool_calls: calls = [], tool_call_id: id }: Message): object[] {
  if (role === 'tool') return [{ type: 'function_call_output', call_id: id, output: content ?? '' }]
  if (role !== 'assistant') return [{ type: 'message', role, content: Array.isArray(content) ? (content as any[]).map(part) : content ?? '' }]
  const thought = reasoning ?? old
  return [
    ...(thought === undefined ? [] : [{ type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: thought }] }]),
    ...(content === null ? [] : [{ type: 'message', role, content: [{ type: 'output_text', text: content, annotations: [] }] }]),
    ...calls.map(({ id: callId, function: { name, arguments: args } }) => ({ type: 'function_call', call_id: callId, name, arguments: args })),
  ]
}

function part({ type, text, image_url: image }: any): object {
  return type === 'text' ? { type: 'input_text', text } : { type: 'input_image', image_url: image.url }
}
