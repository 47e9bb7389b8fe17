// The vLLM behind us, as far as a plan asks about it: cache, window, version, ids. Remembers only what one start of it
// can answer for; a restart or another version calibrates anew.

import type { ReadRequest } from '../endpoint/endpoint.ts'
import type { Upstream } from '../relay/types.ts'
import { familiesIn, type ThinkingFamily } from '../summary/thinking.ts'
import { keyedHash } from '../conversation/tenant.ts'
import { stringOption, type ChatRequest } from '../wire/chat-request.ts'
import { readTokenIds } from '../wire/token-ids.ts'
import { ask, type Answer } from './client.ts'
import { calibrate, readRendered, sampleThought, shapeOf, thinkingSample, type Asking, type Calibrated, type Calibration } from './calibration.ts'
import { measureGenerationPrompt } from './generation-prompt.ts'
import { measureRoleHeader, type RoleHeader } from './role-header.ts'
import { readCacheConfig, type CacheConfig } from './metrics.ts'
import { asPrefilled, renderBody, tokenizeBody, type Prompt } from './prompt.ts'

/** Rendered ids, or why there are none. */
export type Rendered =
  | { readonly ids: Uint32Array, /** The model's window in tokens, where the engine says it. */ readonly window: number | null }
  /** `refused`: the template or the engine does not take this prompt (4xx). */
  | { readonly fault: 'unavailable' | 'refused' | 'malformed' }

/** On whose behalf, and for how long, questions are asked. */
export interface Asker {
  readonly credentials: readonly string[]
  readonly signal: AbortSignal
}

/** What the log says about a calibrated shape. */
export interface CalibrationLine {
  readonly model: string
  /** The route of its requests. */
  readonly endpoint: string
  /** Whether they bring tools. */
  readonly tools: boolean
  readonly state: Calibration['state']
  readonly proof: string | null
  readonly tool_choice_none: boolean | null
  /** Whether chat reads a message's `reasoning_content`; null where no message has one. */
  readonly reads_reasoning_content: boolean | null
  /** How the model's thinking opens, by its template; null where no message thinks, or the marks are not known here. */
  readonly thinking_opens: readonly string[] | null
}

/** How long a plan waits for the engine's version, in ms. */
const versionTimeoutMs = 500

export class Engine {
  readonly #upstream: Upstream
  readonly #log: (line: CalibrationLine) => void
  readonly #calibrationTimeoutMs: number
  readonly #closing: AbortSignal | undefined
  /**
   * By endpoint and shape; void when the engine started anew. What is proven is the engine's and counts for everybody; what is
   * running, or was refused, may be due to the credential that asks, and counts for that one alone.
   */
  readonly #proven = new Map<string, Calibrated>()
  readonly #calibrations = new Map<string, Promise<Calibration>>()
  readonly #headers = new Map<string, RoleHeader>()
  readonly #generationPrompts = new Map<string, Uint32Array>()
  readonly #families = new Map<string, readonly ThinkingFamily[]>()
  readonly #windows = new Map<string, number>()
  /** Starts that were seen: several where several engines answer behind one address, each of which is new only once. */
  readonly #starts = new Set<string>()
  #epoch = 0
  #blockSize: number | null = null
  #version: string | null = null
  #versionAsked: Promise<string | null> | null = null

  /**
   * @param options.calibrationTimeoutMs longest time one calibration may take as a whole, in ms
   * @param options.log called once per calibrated shape
   * @param options.closing ends what runs in the background
   */
  constructor(upstream: Upstream, options: { calibrationTimeoutMs: number, log: (line: CalibrationLine) => void, closing?: AbortSignal | undefined }) {
    this.#upstream = upstream
    this.#calibrationTimeoutMs = options.calibrationTimeoutMs
    this.#log = options.log
    this.#closing = options.closing
  }

  /** Names this state of what is known of the engine, which a new start voids: ids of another one do not count. */
  get epoch(): string {
    return String(this.#epoch)
  }

  get version(): string | null {
    return this.#version
  }

  /** What the metrics advertise now; null where they cannot be had or read. Notices a restart. */
  async cacheConfig(asker: Asker): Promise<CacheConfig | null> {
    const answer = await this.#ask('GET', '/metrics', asker)
    const config = answer?.status === 200 ? readCacheConfig(answer.body.toString('utf8')) : null
    if (config && !this.#starts.has(config.start)) {
      this.#forget()
      this.#starts.add(config.start)
      if (this.#starts.size > maxStarts) this.#starts.delete(this.#starts.values().next().value!)
    }
    this.#blockSize = config?.blockSize ?? this.#blockSize
    await this.#learnVersion(asker)
    return config
  }

  /**
   * Voids every calibration: the engine rendered other ids than it said.
   * @param epoch under which it said so; a newer one stands
   * @returns whether there was something to void
   */
  forget(epoch: string): boolean {
    if (epoch !== this.epoch) return false
    this.#forget()
    return true
  }

  #forget(): void {
    this.#epoch++
    this.#version = null
    this.#versionAsked = null
    this.#proven.clear()
    this.#calibrations.clear()
    this.#headers.clear()
    this.#generationPrompts.clear()
    this.#families.clear()
    this.#windows.clear()
  }

  /** The calibration for the shapes of a request, waited for within the asker's time. */
  async calibration(request: ReadRequest, asker: Asker): Promise<Calibration> {
    const shape = `${request.endpoint.name} ${shapeOf(request.chat)} ${request.endpoint.shape?.(request) ?? ''}`
    const proven = this.#proven.get(shape)
    if (proven) return proven
    const key = `${shape} ${keyedHash('credentials', ...asker.credentials)}`
    const running = this.#calibrations.get(key) ?? this.#calibrate(shape, key, request, asker.credentials)
    return await withinSignal(running, asker.signal) ?? { state: 'unanswered', reason: 'tokenize_unavailable' }
  }

  /**
   * The ids of a prompt, as this calibration's proof tells them.
   * @param toolChoice what the fork carries; null keeps the options' own
   */
  async render(prompt: Prompt, calibration: Calibrated, generationPrompt: boolean, toolChoice: Buffer | null, asker: Asker): Promise<Rendered> {
    const made = asPrefilled(prompt, calibration.dialect)
    const answer = calibration.proof === 'tokenize'
      ? await this.#ask('POST', '/tokenize', asker, tokenizeBody(made, calibration.dialect, generationPrompt))
      : await this.#ask('POST', '/v1/chat/completions/render', asker, renderBody(made, generationPrompt, toolChoice))
    if (answer === null || answer.status >= 500 || [401, 403, 404, 408, 429].includes(answer.status)) return { fault: 'unavailable' }
    if (answer.status !== 200) return { fault: 'refused' }
    const ids = calibration.proof === 'tokenize' ? readTokenIds(answer.body, '"tokens":[') : readRendered(answer.body)
    if (ids === null || ids.length === 0) return { fault: 'malformed' }
    return { ids, window: readWindow(answer.body) }
  }

  /** The text of token ids, special tokens included; null where it cannot be had. */
  async text(model: string, ids: Uint32Array, asker: Asker): Promise<string | null> {
    const answer = await this.#ask('POST', '/detokenize', asker, Buffer.from(JSON.stringify({ model, tokens: [...ids] })))
    try {
      const text = answer?.status === 200 ? (JSON.parse(answer.body.toString('utf8')) as { prompt?: unknown }).prompt : null
      return typeof text === 'string' ? text : null
    } catch {
      return null
    }
  }

  /** With whose marks the model may think, as familiesIn says; null where it cannot be asked. */
  async thinkingFamilies(request: ChatRequest, calibration: Calibrated, asker: Asker): Promise<readonly ThinkingFamily[] | null> {
    const shape = shapeOf(request)
    const known = this.#families.get(shape)
    if (known !== undefined) return known
    const { epoch } = this
    const rendered = await this.render(thinkingSample(request), calibration, true, null, asker)
    const text = 'ids' in rendered ? await this.text(stringOption(request, 'model') ?? '', rendered.ids, asker) : null
    if (text === null) return null
    const families = familiesIn(text, sampleThought)
    if (epoch === this.epoch) keep(this.#families, shape, families)
    return families
  }

  /** The model's window in tokens by /v1/models, or null. Asked once per start. */
  async window(model: string, asker: Asker): Promise<number | null> {
    const known = this.#windows.get(model)
    if (known !== undefined) return known
    const { epoch } = this
    const answer = await this.#ask('GET', '/v1/models', asker)
    const window = answer?.status === 200 ? readModelWindow(answer.body, model) : null
    if (window !== null && epoch === this.epoch) keep(this.#windows, model, window)
    return window
  }

  /** What opens a message of `role` behind one of `previous`; null where it cannot be had. */
  async roleHeader(request: ChatRequest, previous: string, role: string, calibration: Calibrated, asker: Asker): Promise<RoleHeader | null> {
    const key = `${shapeOf(request)} ${previous} ${role}`
    const known = this.#headers.get(key)
    if (known) return known
    const { epoch } = this
    const header = await measureRoleHeader(request, previous, role, (prompt) => this.render(prompt, calibration, true, null, asker))
    if (header && epoch === this.epoch) keep(this.#headers, key, header)
    return header
  }

  /** The ids that open the assistant's turn behind a message of `role`; null where they cannot be had. */
  async generationPrompt(request: ChatRequest, role: string, calibration: Calibrated, asker: Asker): Promise<Uint32Array | null> {
    const key = `${shapeOf(request)} ${role}`
    const known = this.#generationPrompts.get(key)
    if (known) return known
    const { epoch } = this
    const ids = await measureGenerationPrompt(request, role, (prompt, generationPrompt) => this.render(prompt, calibration, generationPrompt, null, asker))
    if (ids && epoch === this.epoch) keep(this.#generationPrompts, key, ids)
    return ids
  }

  /** Bounds what nobody waits for: a calibration's time, and at most until the engine is let go. */
  background(): AbortSignal {
    const timeout = AbortSignal.timeout(this.#calibrationTimeoutMs)
    return this.#closing ? AbortSignal.any([timeout, this.#closing]) : timeout
  }

  #calibrate(shape: string, key: string, request: ReadRequest, credentials: readonly string[]): Promise<Calibration> {
    const asker = { credentials, signal: this.background() }
    const calibration = calibrateEndpoint(request, (target, body) => this.#ask('POST', target, asker, body), this.#blockSize)
    keep(this.#calibrations, key, calibration)
    void calibration.then((result) => {
      if (this.#calibrations.get(key) !== calibration) return
      if (result.state !== 'uncalibrated') this.#calibrations.delete(key)
      if (result.state === 'calibrated') keep(this.#proven, shape, result)
      void this.#logCalibration(request, result, asker).catch(() => {})
    }, () => {
      // Whoever waits for it hears of the fault; the next one asks anew.
      if (this.#calibrations.get(key) === calibration) this.#calibrations.delete(key)
    })
    return calibration
  }

  /** The marks are asked for only where messages think: a fork by token ids needs them then. */
  async #logCalibration({ endpoint, chat: request }: ReadRequest, result: Calibration, asker: Asker): Promise<void> {
    const calibrated = result.state === 'calibrated' ? result : null
    const thinks = request.body.includes('"reasoning"') || request.body.includes('"reasoning_content"')
    const families = calibrated && thinks ? await this.thinkingFamilies(request, calibrated, asker) : null
    this.#log({
      model: stringOption(request, 'model') ?? '',
      endpoint: endpoint.path,
      tools: (request.tools?.length ?? 0) > 0,
      state: result.state,
      proof: calibrated?.proof ?? null,
      tool_choice_none: calibrated?.toolChoiceNone ?? null,
      reads_reasoning_content: calibrated && request.body.includes('"reasoning_content"') ? calibrated.dialect.renamesReasoning : null,
      thinking_opens: families && families.length > 0 ? families.map(({ open }) => open) : null,
    })
  }

  /** Asked once per start, whatever comes: a name for receipts must hold up no plan. */
  async #learnVersion({ credentials, signal }: Asker): Promise<void> {
    const asked = this.#versionAsked ??= this.#askVersion({ credentials, signal: AbortSignal.any([signal, AbortSignal.timeout(versionTimeoutMs)]) })
    const version = await asked
    if (asked !== this.#versionAsked) return
    this.#version = version
    // Nobody waited for the answer to the end.
    if (signal.aborted) this.#versionAsked = null
  }

  async #askVersion(asker: Asker): Promise<string | null> {
    const answer = await this.#ask('GET', '/version', asker).catch(() => null)
    return answer?.status === 200 ? /"version"\s*:\s*"([\w.+-]{1,64})"/.exec(answer.body.toString('utf8'))?.[1] ?? null : null
  }

  #ask(method: 'GET' | 'POST', target: string, asker: Asker, body?: Buffer): Promise<Answer | null> {
    return ask(this.#upstream, { method, target, credentials: asker.credentials, ...(body ? { body } : {}) }, asker.signal)
  }
}

/** The chat form first, then whether the endpoint prefills what it renders to. */
async function calibrateEndpoint(request: ReadRequest, ask: Asking, blockSize: number | null): Promise<Calibration> {
  const calibration = await calibrate(request.chat, ask)
  return calibration.state === 'calibrated' && request.endpoint.calibrate ? request.endpoint.calibrate(request, calibration, ask, blockSize) : calibration
}

/** Engines behind one address that are told apart. */
const maxStarts = 64

/** Shapes that are remembered: clients choose options, so there may be any number. */
const maxKept = 256

function keep<T>(map: Map<string, T>, key: string, value: T): void {
  map.set(key, value)
  if (map.size > maxKept) map.delete(map.keys().next().value!)
}

function readWindow(answer: Buffer): number | null {
  const at = answer.lastIndexOf('"max_model_len":')
  return at < 0 ? null : wholeNumber(/^\s*(\d+)\s*[,}]/.exec(answer.toString('latin1', at + 16, at + 40))?.[1])
}

function readModelWindow(answer: Buffer, model: string): number | null {
  try {
    const models = (JSON.parse(answer.toString('utf8')) as { data?: { id?: unknown, parent?: unknown, max_model_len?: unknown }[] }).data ?? []
    const card = models.find(({ id }) => id === model)
    // An adapter has the window of its base model.
    return wholeNumber(card?.max_model_len ?? models.find(({ id }) => id === card?.parent)?.max_model_len)
  } catch {
    return null
  }
}

function wholeNumber(value: unknown): number | null {
  const number = Number(value ?? Number.NaN)
  return Number.isInteger(number) && number > 0 ? number : null
}

function withinSignal<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | null> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => resolve(null)
    if (signal.aborted) return giveUp()
    signal.addEventListener('abort', giveUp, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp))
  })
}
