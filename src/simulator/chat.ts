// POST /v1/chat/completions: prompt, reply, and vLLM 0.32's JSON around them.

import { randomUUID } from 'node:crypto'
import { jsonAnswer, send } from './answer.ts'
import { errorObject } from './errors.ts'
import { startGeneration, type GenerationContext } from './generation.ts'
import { IncrementalText } from './incremental-text.ts'
import type { Settings } from './options.ts'
import type { ChatOptions } from './chat-request.ts'
import type { Reply } from './reply.ts'
import { parseReply, type ParserChoice, type ReplyDelta, ReplyStream } from './reply-parser.ts'
import { openEventStream } from './stream.ts'
import { finalUsageChunk, continuousUsage, type UsageNumbers, usageObject } from './usage.ts'

export interface ChatJob {
  readonly id: string
  readonly model: string
  readonly fingerprint: string
  readonly options: ChatOptions
  readonly prompt: readonly number[]
  readonly promptText: string | null
  readonly limit: number
  /** The role of the reply: assistant, or the last message's role without a generation prompt. */
  readonly role: string
  readonly reply: Reply
  readonly settings: Settings
}

/** vLLM's ids of tool calls (make_tool_call_id). */
export function toolCallId(): string {
  return `chatcmpl-tool-${randomUUID().replaceAll('-', '').slice(0, 16)}`
}

export function parserChoice(settings: Settings, options: ChatOptions): ParserChoice {
  return {
    reasoning: settings.reasoningParser && thinks(options),
    tools: settings.toolParser && options.hasTools && options.toolChoice !== 'none',
  }
}

function thinks(options: ChatOptions): boolean {
  return options.templateKwargs.get('enable_thinking') !== false
}

/** What is counted while one reply grows. */
interface Counted { completion: number, reasoning: number, text: string }

function usageNumbers(job: ChatJob, counted: readonly Counted[], cached: number): UsageNumbers {
  const { blockSize, promptTokensDetails, reasoningParser, prefixCaching } = job.settings
  const written = prefixCaching ? Math.floor(job.prompt.length / blockSize) * blockSize : 0
  const sum = (of: (each: Counted) => number): number => counted.reduce((total, each) => total + of(each), 0)
  return {
    prompt: job.prompt.length,
    completion: sum((each) => each.completion),
    cached: promptTokensDetails ? cached : null,
    created: promptTokensDetails ? Math.max(0, written - cached) : null,
    reasoning: reasoningParser ? sum((each) => each.reasoning) : null,
  }
}

export function answerChat(context: GenerationContext, job: ChatJob): void {
  if (job.options.stream) streamChat(context, job)
  else collectChat(context, job)
}

function collectChat(context: GenerationContext, job: ChatJob): void {
  const { options } = job
  const created = Math.floor(Date.now() / 1000)
  const choice = parserChoice(job.settings, options)
  const replies = Array.from({ length: options.choices }, () => ({
    text: new IncrementalText(context.tokenizer, options.skipSpecialTokens && !choice.tools),
    counted: { completion: 0, reasoning: 0, text: '' } as Counted,
    tokens: [] as number[], finish: '', stopReason: null as string | null,
  }))
  const run = startGeneration(context, sequences(job), options, job.reply, choice.reasoning, {
    tokens({ index, tokens, finish, stopReason }) {
      const reply = replies[index]!
      reply.tokens.push(...tokens)
      reply.counted.completion += tokens.length
      reply.counted.text += reply.text.push(tokens, finish !== null)
      if (finish !== null) Object.assign(reply, { finish, stopReason })
    },
    error: (message) => send(context.response, jsonAnswer(500, errorObject(message, 'InternalServerError', null, 500))),
    cut: () => context.response.destroy(),
    end() {
      const choices = replies.map((reply, index) => {
        const parsed = parseReply(reply.counted.text, choice, toolCallId)
        reply.counted.reasoning = parsed.reasoning === null ? 0 : context.tokenizer.encode(parsed.reasoning).length
        const called = parsed.toolCalls.length > 0
        return {
          index,
          message: {
            role: job.role, content: parsed.content, refusal: null, annotations: null, audio: null, function_call: null,
            ...(called ? { tool_calls: parsed.toolCalls } : {}),
            reasoning: options.includeReasoning ? parsed.reasoning : null,
          },
          logprobs: null,
          finish_reason: called && options.toolChoice !== 'named' ? 'tool_calls' : reply.finish,
          stop_reason: reply.stopReason,
          token_ids: options.returnTokenIds && options.includeReasoning ? reply.tokens : null,
          routed_experts: null,
        }
      })
      send(context.response, jsonAnswer(200, {
        id: job.id, object: 'chat.completion', created, model: job.model, choices, service_tier: null,
        system_fingerprint: job.fingerprint,
        usage: usageObject(usageNumbers(job, replies.map((reply) => reply.counted), run.cachedTokens())),
        prompt_logprobs: null, prompt_token_ids: options.returnTokenIds ? job.prompt : null, prompt_text: job.promptText,
        kv_transfer_params: null, ec_transfer_params: null, metrics: null,
      }))
    },
  })
}

function streamChat(context: GenerationContext, job: ChatJob): void {
  const { options } = job
  const stream = openEventStream(context.response)
  const choice = parserChoice(job.settings, options)
  const base = { id: job.id, object: 'chat.completion.chunk', created: Math.floor(Date.now() / 1000), model: job.model }
  const replies = Array.from({ length: options.choices }, () => ({
    text: new IncrementalText(context.tokenizer, options.skipSpecialTokens && !choice.tools),
    parser: new ReplyStream(choice, toolCallId),
    counted: { completion: 0, reasoning: 0, text: '' } as Counted,
  }))
  const showsTokens = options.returnTokenIds && options.includeReasoning
  let begun = false

  const usage = (numbers: UsageNumbers): object => options.continuousUsage ? { usage: continuousUsage(numbers) } : {}

  /** vLLM sends the role only once the engine has given something: after prefill. */
  function begin(): void {
    if (begun) return
    begun = true
    for (const index of replies.keys()) {
      stream.send({
        ...base,
        choices: [{ index, delta: { role: job.role, content: '' }, logprobs: null, finish_reason: null }],
        ...usage(usageNumbers(job, [], 0)),
        prompt_token_ids: options.returnTokenIds ? job.prompt : null, prompt_text: job.promptText,
      })
    }
  }

  const run = startGeneration(context, sequences(job), options, job.reply, choice.reasoning, {
    tokens({ index, tokens, finish, stopReason }) {
      begin()
      const reply = replies[index]!
      const text = reply.text.push(tokens, finish !== null)
      const delta = visible(reply.parser.feed(text, finish !== null), options)
      reply.counted.completion += tokens.length
      if (delta?.reasoning !== undefined) reply.counted.reasoning += tokens.length
      if (delta === null && finish === null && !showsTokens) return
      const finished = finish === null ? {} : { stop_reason: stopReason }
      stream.send({
        ...base,
        choices: [{
          index, delta: delta ?? {}, logprobs: null,
          finish_reason: finish === 'stop' && reply.parser.called && options.toolChoice !== 'named' ? 'tool_calls' : finish,
          ...finished, token_ids: showsTokens ? tokens : null,
        }],
        ...usage(usageNumbers(job, [reply.counted], run.cachedTokens())),
        ...(finish !== null && !options.includeUsage ? { system_fingerprint: job.fingerprint } : {}),
      })
    },
    error: (message) => stream.fail(message),
    cut: () => stream.cut(),
    end() {
      if (options.includeUsage) {
        stream.send({
          ...base, choices: [],
          usage: finalUsageChunk(usageNumbers(job, replies.map((reply) => reply.counted), run.cachedTokens())),
          system_fingerprint: job.fingerprint,
        })
      }
      stream.done()
    },
  })
}

/** With include_reasoning false the thinking is generated and not shown. */
export function visible(delta: ReplyDelta | null, options: ChatOptions): ReplyDelta | null {
  if (delta === null || delta.reasoning === undefined || options.includeReasoning) return delta
  const { reasoning: _hidden, ...rest } = delta
  return Object.keys(rest).length === 0 ? null : rest
}

function sequences(job: ChatJob): { prompt: readonly number[], limit: number }[] {
  return Array.from({ length: job.options.choices }, () => ({ prompt: job.prompt, limit: job.limit }))
}
