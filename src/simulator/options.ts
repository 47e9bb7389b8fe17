// What a simulated engine can be told. Defaults are those of `vllm serve Qwen/Qwen3-…` with
// --enable-prompt-tokens-details and --enable-auto-tool-choice --tool-call-parser hermes.

import type { Fault, FaultRequest } from './faults.ts'
import type { Reply, ReplyRequest } from './reply.ts'

export interface SimulatorOptions {
  /** Port on 127.0.0.1; 0 picks a free one. */
  readonly port?: number
  /** --served-model-name: every name is the same model and shares its cache. */
  readonly model?: string | readonly string[]
  /** Window in tokens, prompt and reply together: --max-model-len. */
  readonly maxModelLen?: number
  /** Tokens of one cache block: 16 on GPU, 128 on CPU. */
  readonly blockSize?: number
  /** Blocks that the prefix cache may hold before it forgets: num_gpu_blocks. */
  readonly cacheBlocks?: number
  /** false: --no-enable-prefix-caching. */
  readonly prefixCaching?: boolean
  /** false: without --enable-prompt-tokens-details, `prompt_tokens_details` is null. */
  readonly promptTokensDetails?: boolean
  /** Uncached prompt tokens per second; the default prefills at once. */
  readonly prefillTokensPerSecond?: number
  /** Seconds per decoded token, however many replies share the step. */
  readonly decodeSecondsPerToken?: number
  /** --max-num-batched-tokens. */
  readonly maxBatchedTokens?: number
  /** --max-num-seqs. */
  readonly maxRunning?: number
  /** --api-key: guards /v1 alone, as vLLM does. */
  readonly apiKey?: string
  /** --enable-scale-out: serves /v1/chat/completions/render. */
  readonly scaleOut?: boolean
  /** --reasoning-parser qwen3. Without it a reply's `reasoning` stays in the text as a think block. */
  readonly reasoningParser?: boolean
  /** --enable-auto-tool-choice --tool-call-parser hermes. Without it chats with tools are refused. */
  readonly toolParser?: boolean
  /** --disable-log-stats: /metrics has no `vllm:` series. */
  readonly logStats?: boolean
  /** --exclude-tools-when-tool-choice-none: chat drops the tools then, /tokenize keeps them. */
  readonly excludeToolsWhenToolChoiceNone?: boolean
  /** --default-chat-template-kwargs as vLLM 0.14 to 0.17 had it: chat alone obeys, /tokenize does not. */
  readonly chatTemplateKwargsDefault?: Readonly<Record<string, string | number | boolean>>
  /** false: chat ignores `reasoning_content` as /tokenize does (vLLM 0.16 to 0.21). */
  readonly renamesReasoningContent?: boolean
  /** Changes the template of chat and /tokenize alike, as a new model snapshot would. */
  readonly template?: (original: string) => string
  /** Changes the text that chat alone renders, as harmony and Mistral do. */
  readonly chatPrompt?: (rendered: string) => string
  /** What the model says; by default one short sentence, ended by stop. */
  readonly reply?: (request: ReplyRequest) => Reply | Promise<Reply>
  /** Trouble on any route; undefined answers as usual. */
  readonly fault?: (request: FaultRequest) => Fault | undefined
  /** Keeps every request received in `simulator.requests`. */
  readonly record?: boolean
}

/** Options with every default filled in. */
export interface Settings extends Required<Omit<SimulatorOptions, 'model' | 'apiKey'>> {
  readonly models: readonly string[]
  readonly apiKey: string | null
}

export const simulatorModel = 'qwen3-simulated'
export const simulatorVersion = '0.32.0'

export function settings(options: SimulatorOptions): Settings {
  const { model = simulatorModel, apiKey, ...rest } = options
  return {
    port: 0,
    maxModelLen: 40_960,
    blockSize: 16,
    cacheBlocks: 16_384,
    prefixCaching: true,
    promptTokensDetails: true,
    prefillTokensPerSecond: Infinity,
    decodeSecondsPerToken: 0,
    maxBatchedTokens: 2048,
    maxRunning: 256,
    scaleOut: false,
    reasoningParser: false,
    toolParser: true,
    logStats: true,
    excludeToolsWhenToolChoiceNone: false,
    chatTemplateKwargsDefault: {},
    renamesReasoningContent: true,
    template: (original) => original,
    chatPrompt: (rendered) => rendered,
    reply: () => ({}),
    fault: () => undefined,
    record: false,
    ...Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)),
    models: typeof model === 'string' ? [model] : model,
    apiKey: apiKey ?? null,
  }
}
