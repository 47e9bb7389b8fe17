// A chat reply that we made ourselves of a completion, whole or one event of it: what the endpoints turn into their own.

export interface MadeReply {
  readonly id?: string
  readonly created?: number
  readonly model?: string
  readonly choices?: readonly MadeChoice[]
  readonly usage?: MadeUsage | null
  readonly error?: unknown
}

export interface MadeChoice {
  readonly delta?: MadeMessage
  readonly message?: MadeMessage
  readonly finish_reason?: string | null
  readonly stop_reason?: unknown
}

export interface MadeMessage {
  readonly content?: string | null
  readonly reasoning?: string | null
  readonly reasoning_content?: string | null
}

export interface MadeUsage {
  readonly prompt_tokens?: number
  readonly completion_tokens?: number
  readonly prompt_tokens_details?: { readonly cached_tokens?: number | null, readonly created_cache_tokens?: number | null } | null
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number | null } | null
}

/** @returns null where it is no JSON object */
export function readMadeReply(json: Buffer): MadeReply | null {
  try {
    const value = JSON.parse(json.toString('utf8')) as MadeReply | null
    return value !== null && typeof value === 'object' ? value : null
  } catch {
    return null
  }
}
