// An agent's HTTP side: sends one streamed chat and keeps what a person would want to know of the reply.

import { addEvent } from '../wire/chat-reply.ts'
import { emptyReply, type Usage } from '../wire/reply.ts'
import { SseSplitter } from '../wire/sse.ts'

export interface ToolCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string, readonly arguments: string }
}

export interface ChatResult {
  readonly text: string
  readonly toolCalls: readonly ToolCall[]
  readonly finish: string | null
  readonly usage: Usage | null
  /** From sending to the first event that says something, in ms. */
  readonly firstTokenMs: number
  readonly totalMs: number
  /** Headers of the reply whose names begin with x-warmfork-. */
  readonly receipt: ReadonlyMap<string, string>
}

/**
 * @param url where the chat endpoint is, without its path
 * @throws Error where the reply is none
 */
export async function chat(url: string, body: object): Promise<ChatResult> {
  const sentAt = performance.now()
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true } }),
  })
  if (!response.ok) throw new Error(`the chat endpoint answered ${response.status}: ${await response.text()}`)
  const reply = emptyReply()
  const calls: ToolCall[] = []
  const splitter = new SseSplitter()
  let firstTokenMs: number | null = null
  for await (const chunk of response.body!) {
    for (const event of splitter.push(Buffer.from(chunk))) {
      if (addEvent(reply, event)) firstTokenMs ??= performance.now() - sentAt
      if (event.data) addCalls(calls, event.data)
    }
  }
  if (reply.error || firstTokenMs === null) throw new Error('the reply ended without an answer')
  return {
    text: reply.content,
    toolCalls: calls,
    finish: reply.finish,
    usage: reply.usage,
    firstTokenMs,
    totalMs: performance.now() - sentAt,
    receipt: new Map([...response.headers].filter(([name]) => name.startsWith('x-warmfork-'))),
  }
}

interface CallDelta {
  readonly index: number
  readonly id?: string
  readonly function?: { readonly name?: string, readonly arguments?: string }
}

function addCalls(calls: ToolCall[], data: Buffer): void {
  if (!data.includes('"tool_calls"')) return
  const { choices } = JSON.parse(data.toString('utf8')) as { choices: { delta: { tool_calls?: CallDelta[] } }[] }
  for (const { index, id, function: part } of choices[0]?.delta.tool_calls ?? []) {
    const before = calls[index]
    calls[index] = {
      id: before?.id ?? id ?? '',
      type: 'function',
      function: { name: before?.function.name ?? part?.name ?? '', arguments: (before?.function.arguments ?? '') + (part?.arguments ?? '') },
    }
  }
}
