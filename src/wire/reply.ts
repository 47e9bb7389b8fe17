// What is known of a reply, in the words of chat whatever the endpoint: what evidence, verdict and outcome are made from.

export interface Usage {
  readonly promptTokens: number | null
  readonly completionTokens: number | null
  /** As the engine reports it; null where it does not, or where the number is impossible. */
  readonly cachedTokens: number | null
}

/** What is known of a reply so far. */
export interface ReplyState {
  /** Of choice 0: `stop`, `tool_calls`, `length`, … */
  finish: string | null
  usage: Usage | null
  /** An error object came in place of a reply, or as an event. */
  error: boolean
  /** More than one choice answered. */
  severalChoices: boolean
  /** The stream's end mark came. */
  done: boolean
  content: string
  thinking: string
  toolCalls: boolean
}

/** A reply of which nothing has come yet. */
export function emptyReply(): ReplyState {
  return { finish: null, usage: null, error: false, severalChoices: false, done: false, content: '', thinking: '', toolCalls: false }
}

/** Usage of what an engine wrote; more cached than there was to cache is none. */
export function readUsage(prompt: unknown, completion: unknown, cached: unknown): Usage {
  const promptTokens = tokenCount(prompt)
  const cachedTokens = tokenCount(cached)
  return {
    promptTokens,
    completionTokens: tokenCount(completion),
    cachedTokens: cachedTokens !== null && promptTokens !== null && cachedTokens > promptTokens ? null : cachedTokens,
  }
}

/** A number of tokens as an engine writes it, or null where it is none. */
export function tokenCount(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null
}
