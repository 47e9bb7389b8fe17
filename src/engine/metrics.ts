// What the engine's /metrics advertises about its cache (R5). Unreadable or missing counts as not advertised.

export interface CacheConfig {
  readonly prefixCaching: boolean
  /** Tokens per cache block: 16 on GPU, 128 on CPU, larger on hybrid models. */
  readonly blockSize: number
  /** Changes with every start of the engine; '' where it does not say (several API servers). */
  readonly start: string
}

/**
 * Reads `vllm:cache_config_info`, one line per engine (vllm/v1/metrics/loggers.py).
 * @returns null where there is no such line or no block size in it
 */
export function readCacheConfig(metrics: string): CacheConfig | null {
  const lines = metrics.split('\n').filter((line) => line.startsWith('vllm:cache_config_info{'))
  const sizes = lines.map((line) => Number(label(line, 'block_size')))
  if (lines.length === 0 || sizes.some((size) => !Number.isInteger(size) || size <= 0)) return null
  return {
    prefixCaching: lines.every((line) => label(line, 'enable_prefix_caching') === 'True'),
    // With several engines the largest block promises least.
    blockSize: Math.max(...sizes),
    start: /^process_start_time_seconds (\S+)/m.exec(metrics)?.[1] ?? '',
  }
}

function label(line: string, name: string): string | undefined {
  return new RegExp(`[{,]${name}="([^"]*)"`).exec(line)?.[1]
}
