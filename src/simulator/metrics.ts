// GET /metrics in Prometheus' text format, the series that a reader of vLLM 0.32 relies on
// (vllm/v1/metrics/loggers.py; labels of cache_config_info are str() of CacheConfig's attributes).

import type { Answer } from './answer.ts'
import type { EngineCounters } from './engine.ts'
import type { Settings } from './options.ts'

export interface MetricsInput {
  readonly settings: Settings
  readonly counters: EngineCounters
  /** Unix time of the last (re)start, in seconds. */
  readonly startedAt: number
  readonly cachedBlocks: number
  /** Requests ended, by finish reason. */
  readonly finished: ReadonlyMap<string, number>
}

export function metricsAnswer(input: MetricsInput): Answer {
  const lines = [...family('process_start_time_seconds', 'gauge', 'Start time of the process since unix epoch in seconds.',
    [['', input.startedAt]])]
  if (input.settings.logStats) lines.push(...engineSeries(input))
  return {
    status: 200, headers: { 'content-type': 'text/plain; version=1.0.0; charset=utf-8' }, body: `${lines.join('\n')}\n`,
  }
}

function engineSeries({ settings, counters, startedAt, cachedBlocks, finished }: MetricsInput): string[] {
  const model = settings.models[0] ?? ''
  const labels = `{engine="0",model_name="${model}"}`
  const gauge = (name: string, help: string, value: number): string[] => family(`vllm:${name}`, 'gauge', help, [[labels, value]])
  const counter = (name: string, help: string, value: number): string[] => [
    ...family(`vllm:${name}_total`, 'counter', help, [[labels, value]]),
    ...family(`vllm:${name}_created`, 'gauge', help, [[labels, startedAt]]),
  ]
  const computed = counters.promptTokens - counters.prefixHits
  return [
    ...gauge('num_requests_running', 'Number of requests in model execution batches.', counters.running),
    ...gauge('num_requests_waiting', 'Number of requests waiting to be processed.', counters.waiting),
    ...gauge('kv_cache_usage_perc', 'KV-cache usage. 1 means 100 percent usage.', cachedBlocks / settings.cacheBlocks),
    ...counter('prefix_cache_queries', 'Prefix cache queries, in terms of number of queried tokens.', counters.prefixQueries),
    ...counter('prefix_cache_hits', 'Prefix cache hits, in terms of number of cached tokens.', counters.prefixHits),
    ...counter('prompt_tokens', 'Number of prefill tokens processed.', counters.promptTokens),
    ...family('vllm:prompt_tokens_by_source_total', 'counter', 'Number of prompt tokens by source.', [
      [`{engine="0",model_name="${model}",source="local_compute"}`, computed],
      [`{engine="0",model_name="${model}",source="local_cache_hit"}`, counters.prefixHits],
      [`{engine="0",model_name="${model}",source="external_kv_transfer"}`, 0],
    ]),
    ...counter('prompt_tokens_cached', 'Number of cached prompt tokens (local + external).', counters.prefixHits),
    ...counter('generation_tokens', 'Number of generation tokens processed.', counters.generationTokens),
    ...family('vllm:request_success_total', 'counter', 'Count of successfully processed requests.',
      ['stop', 'length', 'abort', 'error', 'repetition'].map((reason) =>
        [`{engine="0",finished_reason="${reason}",model_name="${model}"}`, finished.get(reason) ?? 0])),
    ...family('vllm:cache_config_info', 'gauge', 'Information of the LLMEngine CacheConfig', [[cacheConfigLabels(settings), 1]]),
  ]
}

function cacheConfigLabels({ blockSize, cacheBlocks, prefixCaching }: Settings): string {
  const labels = {
    _block_size_resolved: 'True', block_size: blockSize, cache_dtype: 'auto', effective_attention_block_size: blockSize,
    enable_prefix_caching: prefixCaching ? 'True' : 'False', engine: 0, gpu_memory_utilization: 0.92,
    hash_block_size: 'None', is_attention_free: 'False', kv_cache_size_tokens: cacheBlocks * blockSize,
    mamba_block_size: 'None', mamba_cache_mode: 'none', num_gpu_blocks: cacheBlocks, num_gpu_blocks_override: 'None',
    prefix_cache_retention_interval: 0, prefix_caching_hash_algo: 'sha256', prefix_match_unit: 'None',
    sliding_window: 'None', swa_bounded_replay: 'True', user_specified_block_size: 'False',
  }
  return `{${Object.entries(labels).map(([name, value]) => `${name}="${value}"`).join(',')}}`
}

function family(name: string, type: string, help: string, samples: readonly (readonly [string, number])[]): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...samples.map(([labels, value]) => `${name}${labels} ${pythonNumber(value)}`)]
}

/** prometheus_client prints every value as a Python float. */
function pythonNumber(value: number): string {
  return Number.isInteger(value) && Math.abs(value) < 1e6 ? `${value}.0` : value.toExponential()
}
