// Which route answers, and the rules that stand before all of them: key, content type, JSON, model.

import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Answer, jsonAnswer, send, writeHead } from './answer.ts'
import { isObject, optionalString } from './body.ts'
import { answerChat } from './chat.ts'
import { type ChatOptions, chatOptions, replyLimit } from './chat-request.ts'
import { answerCompletion, completionOptions, completionPrompts, defaultCompletionTokens } from './completions.ts'
import { detail, errorObject, Refusal, unknownModel } from './errors.ts'
import { type Fault, sendWithFault } from './faults.ts'
import type { GenerationContext } from './generation.ts'
import { metricsAnswer } from './metrics.ts'
import { modelsAnswer } from './models.ts'
import { simulatorVersion } from './options.ts'
import { chatPrompt, type RenderedPrompt } from './prompt.ts'
import { JsonError, type JsonObject, parseJson } from './python-json.ts'
import type { Reply, ReplyRequest } from './reply.ts'
import type { SimulatedEngine } from './simulated-engine.ts'
import { answerMessages, inAnthropicForm, refusedInAnthropicForm } from './messages.ts'
import { messagesRequest } from './messages-request.ts'
import { answerResponses } from './responses.ts'
import { responsesRequest, unknownResponse } from './responses-request.ts'
import { detokenizeAnswer, tokenizeAnswer } from './tokenize.ts'

interface Exchange {
  readonly engine: SimulatedEngine
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly raw: Buffer
}

type Handler = (exchange: Exchange) => Answer | Promise<Answer | null> | null

const empty: Answer = { status: 200, headers: {}, body: '' }

const routes: Readonly<Record<string, Readonly<Record<string, Handler>>>> = {
  '/health': { GET: () => empty },
  '/ping': { GET: () => empty, POST: () => empty },
  '/version': { GET: () => jsonAnswer(200, { version: simulatorVersion }) },
  '/load': { GET: () => jsonAnswer(200, { server_load: 0 }) },
  '/metrics': { GET: metrics },
  '/v1/models': { GET: ({ engine }) => modelsAnswer(engine.settings) },
  '/tokenize': { POST: (exchange) => tokenizeAnswer(exchange.engine.renderer, servedBody(exchange)) },
  '/detokenize': { POST: (exchange) => detokenizeAnswer(exchange.engine.renderer, servedBody(exchange)) },
  '/v1/chat/completions': { POST: chat },
  '/v1/chat/completions/render': { POST: render },
  '/v1/completions': { POST: completions },
  '/v1/responses': { POST: responses },
  '/v1/responses/render': { POST: renderResponses },
  '/v1/messages': { POST: messages },
  '/v1/messages/count_tokens': { POST: countTokens },
  '/v1/messages/render': { POST: renderMessages },
}

/** Answers one request; never throws. */
export async function handleRequest(
  engine: SimulatedEngine, request: IncomingMessage, response: ServerResponse, raw: Buffer,
): Promise<void> {
  const method = request.method ?? ''
  const path = new URL(request.url ?? '/', 'http://engine').pathname
  const fault = engine.settings.fault({ method, path, body: raw })
  const exchange = { engine, request, response, raw }
  try {
    const answer = await dispatch(exchange, method, path, fault)
    if (answer !== null) await sendWithFault(response, answer, fault)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    if (!response.headersSent) send(response, jsonAnswer(500, errorObject(message, 'InternalServerError', null, 500)))
    else response.destroy()
  }
}

async function dispatch(exchange: Exchange, method: string, path: string, fault: Fault | undefined): Promise<Answer | null> {
  const { engine, request } = exchange
  const key = engine.settings.apiKey
  if (key !== null && path.startsWith('/v1') && request.headers.authorization !== `Bearer ${key}`) {
    return jsonAnswer(401, { error: 'Unauthorized' })
  }
  const route = routes[path]
  if (route === undefined) return storedResponse(method, path) ?? detail(404, 'Not Found')
  const handler = route[method]
  if (handler === undefined) {
    const answer = detail(405, 'Method Not Allowed')
    return { ...answer, headers: { ...answer.headers, allow: Object.keys(route).join(', ') } }
  }
  // A fault in place of the answer: the route is not run.
  if (fault !== undefined && fault.kind !== 'rewrite' && fault.kind !== 'half' && fault.kind !== 'delay') return empty
  try {
    return await handler(exchange)
  } catch (error) {
    if (error instanceof Refusal) return error.answer
    throw error
  }
}

/** Responses are looked for by their id, and not found. */
function storedResponse(method: string, path: string): Answer | null {
  const [, id, cancels] = /^\/v1\/responses\/([^/]+)(\/cancel)?$/.exec(path) ?? []
  return id !== undefined && method === (cancels === undefined ? 'GET' : 'POST') ? unknownResponse(id).answer : null
}

function metrics({ engine }: Exchange): Answer {
  return metricsAnswer({
    settings: engine.settings, counters: engine.core.counters, startedAt: engine.startedAt, cachedBlocks: engine.cache.size,
    finished: engine.finished,
  })
}

/** The body as an object, of a model that is served. */
function servedBody({ engine, request, raw }: Exchange): JsonObject {
  const type = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/json') {
    throw new Refusal(jsonAnswer(400, errorObject(
      "1 validation error:\n  Unsupported Media Type: Only 'application/json' is allowed", 'Bad Request', null, 400)))
  }
  const body = parseBody(raw)
  const model = optionalString(body, 'model')
  if (model !== null && model !== '' && !engine.settings.models.includes(model)) throw unknownModel(model, engine.settings.models)
  return body
}

function parseBody(raw: Buffer): JsonObject {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(raw)
  } catch {
    throw new Refusal(detail(400, 'There was an error parsing the body'))
  }
  try {
    const body = parseJson(text)
    if (isObject(body)) return body
    throw new Refusal(jsonAnswer(400, errorObject(
      "1 validation error:\n  {'type': 'model_attributes_type', 'loc': 'body', 'msg': 'Input should be a valid dictionary or object to extract fields from'}",
      'Bad Request', 'body', 400)))
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    throw new Refusal(jsonAnswer(400, errorObject(
      `1 validation error:\n  {'type': 'json_invalid', 'loc': 'body.${error.at}', 'msg': 'JSON decode error', 'input': '<dict of 0 items>', 'ctx': {'error': '${error.message}'}}`,
      'Bad Request', `body.${error.at}`, 400)))
  }
}

async function chat(exchange: Exchange): Promise<Answer | null> {
  const { engine, response } = exchange
  const body = servedBody(exchange)
  const options = chatOptions(body, engine.settings)
  const prompt = chatPrompt(engine.renderer, body, options)
  const limit = replyLimit(prompt.ids.length, options.maxTokens, Infinity, engine.settings.maxModelLen, prompt.text !== null)
  const reply = await script(exchange, 'chat', [prompt])
  const refusal = beforeGenerating(response, reply, options.stream)
  if (refusal !== 'generate') return refusal
  const messages = body.get('messages')
  const last = Array.isArray(messages) ? messages.at(-1) : undefined
  const lastRole = isObject(last) ? last.get('role') : undefined
  answerChat(generationContext(exchange), {
    id: `chatcmpl-${requestId(exchange, options.requestId)}`,
    model: options.model ?? engine.settings.models[0] ?? '',
    fingerprint: engine.fingerprint,
    options, prompt: prompt.ids, limit, reply,
    promptText: options.returnPromptText ? prompt.text : null,
    role: options.addGenerationPrompt || typeof lastRole !== 'string' ? 'assistant' : lastRole,
    settings: engine.settings,
  })
  return null
}

async function completions(exchange: Exchange): Promise<Answer | null> {
  const { engine, response } = exchange
  const body = servedBody(exchange)
  const options = completionOptions(body)
  const prompts = completionPrompts(body, engine.renderer.tokenizer).map((prompt) => ({
    ...prompt,
    limit: replyLimit(prompt.ids.length, options.maxTokens, defaultCompletionTokens, engine.settings.maxModelLen, prompt.text !== null),
  }))
  const reply = await script(exchange, 'completions', prompts)
  const refusal = beforeGenerating(response, reply, options.stream)
  if (refusal !== 'generate') return refusal
  answerCompletion(generationContext(exchange), {
    id: `cmpl-${requestId(exchange, options.requestId)}`,
    model: options.model ?? engine.settings.models[0] ?? '',
    fingerprint: engine.fingerprint,
    options, prompts, reply, settings: engine.settings,
  })
  return null
}

async function responses(exchange: Exchange): Promise<Answer | null> {
  const { engine, response, raw } = exchange
  const request = responsesRequest(servedBody(exchange), engine.settings)
  const { options } = request
  const prompt = chatPrompt(engine.renderer, request.chat, options)
  const limit = replyLimit(prompt.ids.length, options.maxTokens, Infinity, engine.settings.maxModelLen, prompt.text !== null)
  const reply = await script(exchange, 'responses', [prompt])
  const refusal = beforeGenerating(response, reply, options.stream)
  if (refusal !== 'generate') return refusal
  answerResponses(generationContext(exchange), {
    // The header is not looked at here.
    id: options.requestId ?? `resp_${randomUUID().replaceAll('-', '').slice(0, 16)}`,
    model: options.model ?? engine.settings.models[0] ?? '',
    request, body: JSON.parse(new TextDecoder().decode(raw)), prompt: prompt.ids, promptText: prompt.text ?? '', limit, reply, settings: engine.settings,
  })
  return null
}

async function messages(exchange: Exchange): Promise<Answer | null> {
  const { engine, response } = exchange
  const { request, prompt, limit } = refusedInAnthropicForm(() => {
    const request = messagesRequest(servedBody(exchange), engine.renderer)
    const prompt = chatPrompt(engine.renderer, request.chat, request.options)
    return { request, prompt, limit: replyLimit(prompt.ids.length, request.options.maxTokens, Infinity, engine.settings.maxModelLen, prompt.text !== null) }
  })
  const reply = await script(exchange, 'messages', [prompt])
  const refusal = beforeGenerating(response, reply, request.options.stream)
  if (refusal !== 'generate') return refusal && reply.refuse?.body === undefined ? inAnthropicForm(refusal) : refusal
  answerMessages(generationContext(exchange), {
    id: `chatcmpl-${requestId(exchange, null)}`,
    model: request.options.model ?? engine.settings.models[0] ?? '',
    request, prompt: prompt.ids, limit, reply, settings: engine.settings,
  })
  return null
}

function countTokens(exchange: Exchange): Answer {
  return refusedInAnthropicForm(() => {
    const { engine } = exchange
    const body = new Map([...servedBody(exchange), ['max_tokens', 1]])
    const thinking = body.get('thinking')
    // A budget of thinking is none of the prompt, and is looked at only when one is generated from.
    if (isObject(thinking) && thinking.get('type') === 'enabled') body.delete('thinking')
    const { chat, options } = messagesRequest(body, engine.renderer)
    const tokens = chatPrompt(engine.renderer, chat, options).ids.length
    return jsonAnswer(200, { input_tokens: tokens, context_management: { original_input_tokens: tokens } })
  })
}

function render(exchange: Exchange): Answer {
  const body = renderable(exchange)
  return rendered(exchange, body, chatOptions(body, exchange.engine.settings), 'chatcmpl-')
}

function renderResponses(exchange: Exchange): Answer {
  const { chat, options } = responsesRequest(renderable(exchange), exchange.engine.settings)
  return rendered(exchange, chat, options, 'resp_')
}

function renderMessages(exchange: Exchange): Answer {
  const { chat, options } = messagesRequest(renderable(exchange), exchange.engine.renderer)
  return rendered(exchange, chat, options, 'chatcmpl-')
}

function renderable(exchange: Exchange): JsonObject {
  const { engine } = exchange
  if (!engine.settings.scaleOut) {
    throw new Refusal(jsonAnswer(403, errorObject('Scale-out endpoints are disabled. Restart vllm serve with --enable-scale-out to enable them.',
      'PermissionDeniedError', null, 403)))
  }
  return servedBody(exchange)
}

/** The prompt that would be prefilled, as vLLM 0.18 and later answer it (GenerateRequest). */
function rendered(exchange: Exchange, chat: JsonObject, options: ChatOptions, prefix: string): Answer {
  const { engine } = exchange
  const { ids, text } = chatPrompt(engine.renderer, chat, options)
  const limit = replyLimit(ids.length, options.maxTokens, Infinity, engine.settings.maxModelLen, text !== null)
  return jsonAnswer(200, {
    request_id: `${prefix}${requestId(exchange, options.requestId)}`, token_ids: ids, token_offsets: null, features: null,
    content_parts: null, sampling_params: { max_tokens: limit }, model: options.model ?? engine.settings.models[0],
    return_token_ids: null, output_mode: 'tokens', stream: options.stream, stream_options: null, cache_salt: options.salt,
    priority: 0, kv_transfer_params: null, ec_transfer_params: null,
  })
}

function generationContext({ engine, response }: Exchange): GenerationContext {
  return { engine: engine.core, tokenizer: engine.renderer.tokenizer, response, finished: engine.finished }
}

/** The header wins over the body, and without either vLLM makes one up. */
function requestId({ request }: Exchange, ofBody: string | null): string {
  const header = request.headers['x-request-id']
  return (typeof header === 'string' ? header : null) ?? ofBody ?? randomUUID().replaceAll('-', '').slice(0, 16)
}

async function script(exchange: Exchange, endpoint: ReplyRequest['endpoint'], prompts: readonly RenderedPrompt[]): Promise<Reply> {
  const { engine, request, raw } = exchange
  return await engine.settings.reply({
    endpoint,
    body: JSON.parse(new TextDecoder().decode(raw)),
    headers: request.headers,
    promptTokens: prompts.reduce((sum, { ids }) => sum + ids.length, 0),
    prompt: prompts.map(({ ids, text }) => text ?? engine.renderer.tokenizer.decode(ids)).join('\n'),
    count: engine.replies++,
  })
}

/** Scripted refusals and failures that come before the engine has the request. */
function beforeGenerating(response: ServerResponse, reply: Reply, stream: boolean): Answer | null | 'generate' {
  const { refuse, fail } = reply
  if (refuse !== undefined) {
    const text = typeof refuse.body === 'string'
    return {
      status: refuse.status,
      headers: { 'content-type': text ? 'text/plain; charset=utf-8' : 'application/json', ...refuse.headers },
      body: text ? refuse.body as string : JSON.stringify(refuse.body ?? errorObject('refused', 'BadRequestError', null, refuse.status)),
    }
  }
  if (fail?.at === 'before_headers') {
    if (fail.kind === 'error') return jsonAnswer(500, errorObject(fail.message ?? 'Internal server error', 'InternalServerError', null, 500))
    if (fail.kind !== 'hang') response.destroy()
    return null
  }
  if (fail?.at === 'after_headers' && !stream && fail.kind !== 'error') {
    writeHead(response, 200, { 'content-length': '4096', 'content-type': 'application/json' })
    response.write('{"id":"chatcmpl-', () => {
      if (fail.kind !== 'hang') response.destroy()
    })
    return null
  }
  return 'generate'
}
