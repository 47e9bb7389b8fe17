// One life of the engine, from a start to the next: its settings, cache, loop and counters.

import { randomUUID } from 'node:crypto'
import { chatTemplate, refusesSystemBehind } from './chat-template.ts'
import { Engine } from './engine.ts'
import { type Settings, simulatorVersion } from './options.ts'
import { PrefixCache } from './prefix-cache.ts'
import type { Renderer } from './prompt.ts'
import { qwen3Tokenizer } from './tokenizer.ts'

export class SimulatedEngine {
  readonly settings: Settings
  readonly renderer: Renderer
  readonly cache: PrefixCache
  readonly core: Engine
  /** Unix time in seconds. */
  readonly startedAt = Date.now() / 1000
  readonly fingerprint = `vllm-${simulatorVersion}-${randomUUID().slice(0, 8)}`
  readonly finished = new Map<string, number>()
  /** Replies asked of the script so far. */
  replies: number

  constructor(settings: Settings, replies: number) {
    const tokenizer = qwen3Tokenizer()
    this.settings = settings
    this.replies = replies
    const template = chatTemplate(settings.template(tokenizer.chatTemplate))
    this.renderer = { tokenizer, settings, template, takesSystemInFrontOnly: refusesSystemBehind(template) }
    this.cache = new PrefixCache(settings.blockSize, settings.cacheBlocks, settings.prefixCaching)
    this.core = new Engine(this.cache, settings)
  }
}
