// vLLM's usage objects. Keys differ by place: a non-streamed body has them all, the usage chunk leaves out nulls,
// continuous chunks carry no prompt details (vllm/entrypoints/openai/chat_completion/serving.py).

export interface UsageNumbers {
  readonly prompt: number
  readonly completion: number
  /** Null without --enable-prompt-tokens-details. */
  readonly cached: number | null
  /** Prompt tokens newly written to the cache; chat alone reports them. */
  readonly created: number | null
  /** Null without a reasoning parser. */
  readonly reasoning: number | null
}

function counts({ prompt, completion }: UsageNumbers): object {
  return { prompt_tokens: prompt, total_tokens: prompt + completion, completion_tokens: completion }
}

function completionDetails(reasoning: number | null): object | null {
  return reasoning === null ? null : { reasoning_tokens: reasoning }
}

export function usageObject(numbers: UsageNumbers): object {
  const { cached, created, reasoning } = numbers
  return {
    ...counts(numbers),
    prompt_tokens_details: cached === null ? null : { cached_tokens: cached, created_cache_tokens: created, multimodal_tokens: null },
    completion_tokens_details: completionDetails(reasoning),
  }
}

export function finalUsageChunk(numbers: UsageNumbers): object {
  const { cached, created, reasoning } = numbers
  return {
    ...counts(numbers),
    ...(cached === null ? {} : { prompt_tokens_details: { cached_tokens: cached, ...(created === null ? {} : { created_cache_tokens: created }) } }),
    ...(reasoning === null ? {} : { completion_tokens_details: completionDetails(reasoning) }),
  }
}

export function continuousUsage(numbers: UsageNumbers): object {
  return { ...counts(numbers), completion_tokens_details: completionDetails(numbers.reasoning) }
}
