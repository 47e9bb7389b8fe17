// Sends a chat and keeps all that comes back, with the time of the first text.

export interface ChatReply {
  readonly status: number
  readonly headers: Headers
  /** The JSON body, or the events of the stream in order, without [DONE]. */
  readonly parts: readonly any[]
  /** A stream ended with [DONE]; a body is always whole. */
  readonly whole: boolean
  readonly text: string
  /** Thinking, where a reasoning parser split it off. */
  readonly reasoning: string
  readonly finishReason: string | null
  readonly usage: { readonly prompt_tokens: number; readonly prompt_tokens_details: { readonly cached_tokens: number } } | null
  /** From sending the request to the first text; null without a stream. */
  readonly firstTokenMs: number | null
}

export async function sendChat(origin: string, body: Buffer): Promise<ChatReply> {
  const sentAt = performance.now()
  const response = await fetch(`${origin}/v1/chat/completions`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const streamed = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false
  const parts: any[] = []
  let whole = !streamed
  let firstTokenMs: number | null = null
  if (streamed) {
    for await (const data of eventsOf(response)) {
      if (data === '[DONE]') whole = true
      else parts.push(JSON.parse(data))
      if (firstTokenMs === null && parts.at(-1).choices?.[0]?.delta?.content) firstTokenMs = performance.now() - sentAt
    }
  } else {
    parts.push(await response.json())
  }
  const choices = parts.flatMap(part => part.choices ?? [])
  const said = choices.map(choice => choice.delta ?? choice.message)
  return {
    status: response.status,
    headers: response.headers,
    parts,
    whole,
    text: said.map(({ content }) => content ?? '').join(''),
    reasoning: said.map(({ reasoning }) => reasoning ?? '').join(''),
    finishReason: choices.findLast(choice => choice.finish_reason)?.finish_reason ?? null,
    usage: parts.findLast(part => part.usage)?.usage ?? null,
    firstTokenMs,
  }
}

async function* eventsOf(response: Response): AsyncGenerator<string> {
  let pending = ''
  for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
    const events = (pending + text).split('\n\n')
    pending = events.pop()!
    for (const event of events) if (event.startsWith('data: ')) yield event.slice('data: '.length)
  }
}
