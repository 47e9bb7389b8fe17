// What a session shows: every summary with its decision, coverage and whether a word of the agent's got lost.

import { asChat } from './as-chat.ts'
import type { Exchange } from './recording-relay.ts'
import type { Recipe } from './recipe.ts'
import type { Session } from './session.ts'
import { asksForSummary } from './model.ts'

export interface SummaryLine {
  /** What recognition took it for; null where it was taken for a main or side request. */
  readonly agent: string | null
  readonly decision: string
  readonly reason: string | null
  readonly headMessages: number | null
  /** Messages of the last main request before it. */
  readonly recordedMessages: number
  readonly headTokens: number | null
  readonly forkTokens: number | null
  readonly cachedTokens: number | null
  readonly valid: boolean | null
  /** Lines of the agent's request that neither the fork's head nor its directive holds. */
  readonly lostLines: readonly string[]
}

export interface Report {
  readonly name: string
  readonly agent: string | null
  readonly version: string
  readonly mains: number
  readonly summaries: readonly SummaryLine[]
  /** Summaries that a main request followed: the agent went on with what it got. */
  readonly wentOn: number
  readonly exitCodes: readonly (number | null)[]
  /** Every request reached the engine byte for byte, forks apart. */
  readonly byteIdentical: boolean
  readonly warnings: number
  readonly note: string
}

export function reportOf(recipe: Recipe, version: string, { exchanges, received, logged, steps }: Session): Report {
  const posts = exchanges.filter(({ method, body }) => method === 'POST' && body.length > 0)
  const isSummary = (exchange: Exchange): boolean => 'decision' in exchange.warmfork || asksForSummary(bodyOf(exchange))
  const summaries = posts.filter(isSummary)
  const mains = posts.filter((exchange) => !isSummary(exchange))
  return {
    name: recipe.name,
    agent: recipe.agent,
    version,
    mains: mains.length,
    summaries: summaries.map((exchange) => {
      const receipt = logged.find((line) => line.msg === 'receipt' && line['receipt'] === exchange.warmfork['receipt'])
      const outcome = logged.find((line) => line.msg === 'outcome' && line['receipt'] === exchange.warmfork['receipt'])
      const before = mains.filter(({ at, body }) => at <= exchange.at && body.includes('"tools"'))
      const parent = before.at(-1) ?? mains.filter(({ at }) => at <= exchange.at).at(-1)
      return {
        agent: receipt?.['agent'] ?? null,
        decision: exchange.warmfork['decision'] ?? 'relayed',
        reason: exchange.warmfork['fallback-reason'] ?? null,
        headMessages: receipt?.['head_messages'] ?? null,
        recordedMessages: parent ? messagesOf(parent)?.length ?? 0 : 0,
        headTokens: receipt?.['head_tokens'] ?? null,
        forkTokens: receipt?.['fork_tokens'] ?? null,
        cachedTokens: outcome?.['engine_cached_tokens'] ?? null,
        valid: outcome?.['valid'] ?? null,
        lostLines: exchange.warmfork['decision'] === 'forked' ? lostLines(exchange, sentFor(exchange, summaries, received)) : [],
      }
    }),
    wentOn: summaries.filter((summary) => mains.some(({ at }) => at > summary.at)).length,
    exitCodes: steps.map(({ code }) => code),
    byteIdentical: posts.filter(({ warmfork }) => warmfork['fork-sent'] !== 'true').filter(({ status }) => status > 0)
      .every(({ body, target }) => target.includes('tokens') || received.some((each) => each.body.equals(body))),
    warnings: logged.filter(({ level }) => level >= 40).length,
    note: recipe.note ?? '',
  }
}

interface Sent {
  readonly target: string
  readonly body: Buffer
}

export function messagesOf(sent: Sent): any[] | null {
  return bodyOf(sent).messages ?? null
}

/** In chat's words. */
function bodyOf({ target, body }: Sent): any {
  return asChat(target, body)
}

/** The fork of the n-th forked summary is the n-th body that the engine got and no agent sent. */
function sentFor(exchange: Exchange, summaries: readonly Exchange[], received: readonly Sent[]): Sent | null {
  const forked = summaries.filter(({ warmfork }) => warmfork['fork-sent'] === 'true')
  const forks = received.filter(({ body }) => body.includes('The conversation above is the material') || body.includes('"prompt":['))
  return forks[forked.indexOf(exchange)] ?? null
}

function lostLines(exchange: Exchange, fork: Sent | null): string[] {
  const sent = fork && messagesOf(fork)
  if (!sent) return fork ? [] : ['the fork was not found']
  const own = messagesOf(exchange)!.map(({ content }) => textOf(content)).join('\n')
  const directive = textOf(sent.at(-1).content)
  const kept = sent.slice(0, -1).map(sayings).join('\n')
  // What stands between matches is quoted in pieces of a line.
  const quoted = directive.split('\n').filter((line) => line.startsWith('>')).join('\n')
  const words = new Set(wordsOf(`${kept}\n${quoted}`))
  return own.split('\n').map((line) => line.trim()).filter((line) => line !== '' && !directive.includes(line) && !kept.includes(line))
    .filter((line) => !isSplit(line, directive, kept))
    .filter((line) => !wordsOf(line.replace(cutAtEnd, '')).every((word) => words.has(word) || labels.has(word) || (isCut(line) && /^\d+$/.test(word))))
}

/** Whether a line begins as the agent's own words and ends as the conversation's. */
function isSplit(line: string, directive: string, kept: string): boolean {
  return [...line.matchAll(/\s+/g)].some(({ index }) => directive.includes(line.slice(0, index)) && kept.includes(line.slice(index).trim()))
}

/** A mark that says how much of an output was cut. */
function isCut(line: string): boolean {
  return /^\W*\d*\W*(more )?(characters |chars |lines )?(truncated|omitted)/i.test(line)
}

/** The same behind what is left of an output, which the head holds whole. */
const cutAtEnd = /\W*\b(truncated|omitted) \d+ (characters|chars|lines)\W*$/i

/** Everything that a message says. */
function sayings({ content, tool_calls = [], reasoning, reasoning_content }: any): string {
  const calls = (tool_calls ?? []).map((call: any) => `${call.id} ${call.function?.name} ${call.function?.arguments}`)
  return [textOf(content), reasoning, reasoning_content, ...calls].filter(Boolean).join('\n')
}

const labels = new Set(['user', 'human', 'assistant', 'tool', 'tools', 'call', 'calls', 'result', 'results', 'reasoning', 'truncated', 'more', 'characters', 'function', 'name', 'role', 'content', 'type', 'message', 'path', 'json', 'model', 'args', 'tool_call', 'function_result', 'function_call', 'call_id', 'null', 'response', 'from'])

/** Line feeds and tabs may stand there as an escape, in JSON or in a Python object. */
function wordsOf(text: string): string[] {
  return (text.replace(/\\+[nrt]/g, ' ').toLowerCase().match(/[\p{L}\p{N}]{4,}/gu) ?? [])
}

export function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part) => (typeof part === 'string' ? part : part?.text ?? '')).join('\n')
}
