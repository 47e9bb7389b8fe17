// POST /v1/completions: raw text in and out, no parser (vllm/entrypoints/openai/completion/serving.py).

import { jsonAnswer, send } from './answer.ts'
import { idList, quoted } from './body.ts'
import { type GenerationOptions, generationOptions } from './chat-request.ts'
import { badParameter, badRequest, errorObject, invalidField } from './errors.ts'
import { type GenerationContext, startGeneration } from './generation.ts'
import { IncrementalText } from './incremental-text.ts'
import type { Settings } from './options.ts'
import { encode, type RenderedPrompt } from './prompt.ts'
import type { Json, JsonObject } from './python-json.ts'
import type { Reply } from './reply.ts'
import { openEventStream } from './stream.ts'
import type { Tokenizer } from './tokenizer.ts'
import { continuousUsage, finalUsageChunk, type UsageNumbers, usageObject } from './usage.ts'

/** Where chat defaults to the rest of the window, completions default to this. */
export const defaultCompletionTokens = 16

export interface CompletionJob {
  readonly id: string
  readonly model: string
  readonly fingerprint: string
  readonly options: GenerationOptions
  readonly prompts: readonly (RenderedPrompt & { readonly limit: number })[]
  readonly reply: Reply
  readonly settings: Settings
}

/** max_completion_tokens is ignored here. */
export function completionOptions(body: JsonObject): GenerationOptions {
  return generationOptions(body, null)
}

/** A text, ids, or a list of either. */
export function completionPrompts(body: JsonObject, tokenizer: Tokenizer): RenderedPrompt[] {
  const prompt = body.get('prompt') ?? null
  if (prompt === null) {
    throw badParameter('Either prompt or prompt_embeds must be provided and non-empty.', 'prompt')
  }
  const list = typeof prompt === 'string' || idList(prompt) !== null ? [prompt] : prompt
  if (!Array.isArray(list)) throw invalidField('string_type', 'prompt', 'Input should be a valid string', quoted(prompt))
  if (Array.isArray(prompt) && prompt.length === 0) throw badRequest('You must pass at least one prompt')
  return list.map((each) => onePrompt(each, tokenizer))
}

/** `add_special_tokens` is not read: Qwen3's tokenizer adds none. */
function onePrompt(prompt: Json, tokenizer: Tokenizer): RenderedPrompt {
  if (typeof prompt === 'string') return { ids: encode(tokenizer, prompt), text: prompt }
  const ids = idList(prompt)
  if (ids === null) throw invalidField('string_type', 'prompt', 'Input should be a valid string', quoted(prompt))
  const foreign = ids.find((id) => !tokenizer.has(id))
  if (foreign !== undefined) throw badRequest(`Token id ${foreign} is out of vocabulary`)
  return { ids, text: null }
}

/** No parser runs here, but a thinking model thinks all the same, unless the prompt has closed its thinking already. */
function thinks({ tokenizer }: GenerationContext, { settings, prompts }: CompletionJob): boolean {
  const end = tokenizer.decode(prompts[0]?.ids.slice(-2) ?? [])
  return settings.reasoningParser && end !== '</think>\n\n'
}

export function answerCompletion(context: GenerationContext, job: CompletionJob): void {
  const { options, prompts } = job
  const sequences = prompts.flatMap(({ ids, limit }) => Array.from({ length: options.choices }, () => ({ prompt: ids, limit })))
  const created = Math.floor(Date.now() / 1000)
  const base = { id: job.id, object: 'text_completion', created, model: job.model }
  const replies = sequences.map(({ prompt }) => ({
    prompt, text: '', tokens: [] as number[], finish: null as string | null, stopReason: null as string | null, begun: false,
    decoder: new IncrementalText(context.tokenizer, options.skipSpecialTokens),
  }))
  const numbers = (cached: number): UsageNumbers => ({
    prompt: prompts.reduce((sum, { ids }) => sum + ids.length, 0),
    completion: replies.reduce((sum, reply) => sum + reply.tokens.length, 0),
    cached: job.settings.promptTokensDetails ? cached : null, created: null, reasoning: null,
  })
  const shownPrompt = (prompt: readonly number[]): readonly number[] | null => options.returnTokenIds ? prompt : null
  const stream = options.stream ? openEventStream(context.response) : null

  const run = startGeneration(context, sequences, options, job.reply, thinks(context, job), {
    tokens({ index, tokens, finish, stopReason }) {
      const reply = replies[index]!
      const text = reply.decoder.push(tokens, finish !== null)
      reply.text += text
      reply.tokens.push(...tokens)
      Object.assign(reply, { finish, stopReason })
      stream?.send({
        ...base,
        choices: [{
          index, text, logprobs: null, finish_reason: finish, stop_reason: stopReason,
          prompt_token_ids: reply.begun ? null : shownPrompt(reply.prompt), token_ids: options.returnTokenIds ? tokens : null,
        }],
        ...(options.continuousUsage ? { usage: continuousUsage(numbers(0)) } : {}),
        ...(finish !== null && !options.includeUsage ? { system_fingerprint: job.fingerprint } : {}),
      })
      reply.begun = true
    },
    error(message) {
      if (stream !== null) stream.fail(message)
      else send(context.response, jsonAnswer(500, errorObject(message, 'InternalServerError', null, 500)))
    },
    cut() {
      if (stream !== null) stream.cut()
      else context.response.destroy()
    },
    end() {
      if (stream !== null) {
        if (options.includeUsage) {
          stream.send({ ...base, choices: [], usage: finalUsageChunk(numbers(run.cachedTokens())), system_fingerprint: job.fingerprint })
        }
        return stream.done()
      }
      send(context.response, jsonAnswer(200, {
        ...base,
        choices: replies.map((reply, index) => ({
          index, text: reply.text, logprobs: null, finish_reason: reply.finish, stop_reason: reply.stopReason,
          token_ids: options.returnTokenIds ? reply.tokens : null, prompt_logprobs: null,
          prompt_token_ids: shownPrompt(reply.prompt), routed_experts: null,
        })),
        service_tier: null, system_fingerprint: job.fingerprint, usage: usageObject(numbers(run.cachedTokens())),
        kv_transfer_params: null, ec_transfer_params: null, metrics: null,
      }))
    },
  })
}
