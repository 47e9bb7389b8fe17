// Plain HTTP to an engine for the contract suite, and the few sums that its claims are made of.

import { createHash, randomUUID } from 'node:crypto'
import { request } from 'undici'

/** An engine under contract: a simulator or a real vLLM. */
export interface ContractEngine {
  /** Base URL without a trailing slash and without /v1. */
  readonly url: string
  /** A served model with Qwen3's tokenizer and template. */
  readonly model: string
  /** Tokens of one cache block. */
  readonly blockSize: number
  /** It runs with --reasoning-parser qwen3 and its model thinks first. */
  readonly thinks?: boolean
  /** It runs with --enable-scale-out: /v1/chat/completions/render is there. */
  readonly scaleOut?: boolean
}

export interface HttpAnswer {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  readonly text: string
  /** The body as JSON; undefined when it is none. */
  readonly json: any
}

/** POSTs JSON; a string is sent as it is. The model is filled in where an object names none. */
export async function post(engine: ContractEngine, path: string, body: object | string | Buffer, headers: Record<string, string> = {}): Promise<HttpAnswer> {
  const payload = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify({ model: engine.model, ...body })
  return await exchange(engine, 'POST', path, { 'content-type': 'application/json', ...headers }, payload)
}

export async function get(engine: ContractEngine, path: string): Promise<HttpAnswer> {
  return await exchange(engine, 'GET', path, {})
}

async function exchange(
  engine: ContractEngine, method: 'GET' | 'POST', path: string, headers: Record<string, string>, body?: string | Buffer,
): Promise<HttpAnswer> {
  const answer = await request(engine.url + path, { method, headers, body, headersTimeout: 120_000, bodyTimeout: 120_000 })
  const text = await answer.body.text()
  return { status: answer.statusCode, headers: answer.headers, text, json: parsed(text) }
}

function parsed(text: string): any {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const chatPath = '/v1/chat/completions'
export const completionsPath = '/v1/completions'

/** Ids that /tokenize answers. */
export async function tokenize(engine: ContractEngine, body: object | string): Promise<number[]> {
  const answer = await post(engine, '/tokenize', body)
  if (answer.status !== 200) throw new Error(`/tokenize: ${answer.status} ${answer.text}`)
  return answer.json.tokens
}

/** A chat of few tokens that tells its prompt ids. */
export async function chat(engine: ContractEngine, body: object): Promise<any> {
  const answer = await post(engine, chatPath, { max_tokens: 1, return_token_ids: true, ...body })
  if (answer.status !== 200) throw new Error(`chat: ${answer.status} ${answer.text}`)
  return answer.json
}

/** A completion of token ids that tells its reply's ids. */
export async function complete(engine: ContractEngine, prompt: number[], body: object = {}): Promise<any> {
  const answer = await post(engine, completionsPath, { prompt, max_tokens: 1, return_token_ids: true, ...body })
  if (answer.status !== 200) throw new Error(`completions: ${answer.status} ${answer.text}`)
  return answer.json
}

export function cachedTokens(reply: any): number {
  return reply.usage.prompt_tokens_details.cached_tokens
}

/** The data of every event of a stream, in order; comments are dropped. */
export function events(text: string): string[] {
  return text.split('\n\n').filter((event) => event.startsWith('data: ')).map((event) => event.slice('data: '.length))
}

export function commonPrefix(a: readonly number[], b: readonly number[]): number {
  const length = Math.min(a.length, b.length)
  for (let index = 0; index < length; index++) {
    if (a[index] !== b[index]) return index
  }
  return length
}

/** What vLLM reuses of a prompt of `length` tokens that shares `shared` with what was computed. */
export function reusable(shared: number, length: number, blockSize: number): number {
  return Math.floor(Math.min(shared, length - 1) / blockSize) * blockSize
}

/** Ids that no other test has, of plain words, ending with a newline (from where the test model speaks). */
export function freshIds(length: number): number[] {
  const seed = createHash('sha256').update(randomUUID()).digest()
  return Array.from({ length }, (_, index) => index === length - 1 ? 198 : 1000 + (seed[index % 32]! * 131 + index * 7919 + seed[(index * 7) % 32]!) % 50_000)
}

/** A text that no other test has, of about so many tokens. */
export function freshText(tokens: number): string {
  return `${randomUUID()}${' word'.repeat(tokens)}`
}

export function idsDigest(ids: readonly number[]): string {
  return `${ids.length}:${createHash('sha256').update(ids.join()).digest('hex').slice(0, 16)}`
}
