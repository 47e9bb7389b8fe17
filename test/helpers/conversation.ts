// Agent conversations of a wanted size, the same for the same seed: system text, tools, tool-call groups with outputs
// of source-like text, optional reasoning. All text is made here.

import { settings } from '../../src/simulator/options.ts'
import { tokenizePrompt } from '../../src/simulator/prompt.ts'
import { type JsonObject, parseJson } from '../../src/simulator/python-json.ts'
import { SimulatedEngine } from '../../src/simulator/simulated-engine.ts'
import type { Message, Tool } from './endpoints/spoken.ts'

export type { Message, Tool } from './endpoints/spoken.ts'

export interface ConversationOptions {
  /** Any text; equal seeds give equal conversations, and unequal ones differ from the first message on. */
  readonly seed: string
  /** Tool-call groups: an assistant message with a call and its tool message. */
  readonly groups?: number
  /** About how many tokens the whole prompt has, within 30; the outputs grow to fit. Default: as `outputTokens` gives. */
  readonly tokens?: number
  /** Tokens of one tool output, when `tokens` is not given. */
  readonly outputTokens?: number
  /** Whether assistant messages carry their thinking, and under which name. */
  readonly reasoning?: 'reasoning' | 'reasoning_content'
  /** Calls in one assistant message. */
  readonly callsPerGroup?: number
  /** Ends with the assistant's answer to the user, so that the next message is a user's. */
  readonly finished?: boolean
}

export interface Conversation {
  readonly messages: Message[]
  readonly tools: Tool[]
}

/** Tools of a small coding agent. */
export const codingTools: readonly Tool[] = [
  tool('read_file', 'Read a file of the workspace. Returns its lines with numbers.', {
    path: { type: 'string', description: 'Path from the root of the workspace' },
    first_line: { type: 'integer', minimum: 1, default: 1 },
  }, ['path']),
  tool('run_command', 'Run a shell command in the workspace and return what it printed.', {
    command: { type: 'string' }, timeout_s: { type: 'number', default: 30.5 },
  }, ['command']),
  tool('edit_file', 'Replace one exact piece of text in a file.', {
    path: { type: 'string' }, old: { type: 'string' }, new: { type: 'string' },
  }, ['path', 'old', 'new']),
]

function tool(name: string, description: string, properties: object, required: string[]): Tool {
  return { type: 'function', function: { name, description, parameters: { type: 'object', properties, required } } }
}

const subjects = ['parser', 'lexer', 'cache', 'scheduler', 'router', 'session store', 'config loader', 'retry queue', 'index writer']
const verbs = ['checks', 'reads', 'rebuilds', 'drops', 'merges', 'rewrites', 'guards', 'counts', 'delays', 'renames']
const objects = ['every record', 'the oldest entry', 'a stale handle', 'both halves', 'the header', 'its own state', 'an empty batch']
const reasons = ['after the last commit', 'before it is flushed', 'when the size is odd', 'unless a lock is held', 'once per minute']
const files = ['src/parse/tokens.ts', 'src/cache/blocks.ts', 'src/net/retry.ts', 'src/store/session.ts', 'lib/index/write.ts']

/** A sentence with its line number has this many tokens, more or less. */
const tokensPerLine = 24

/** A number generator that gives the same numbers for the same seed (xorshift over an FNV-1a hash). */
function numbers(seed: string): (below: number) => number {
  let state = 0x811c9dc5
  for (const character of seed) state = Math.imul(state ^ character.codePointAt(0)!, 0x01000193) >>> 0
  state ||= 1
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    state >>>= 0
    return state % below
  }
}

/** Builds a conversation; see ConversationOptions. */
export function conversation(options: ConversationOptions): Conversation {
  const groups = options.groups ?? 8
  if (options.tokens === undefined) return build(options, groups, (options.outputTokens ?? 120) * groups)
  // The size grows with the outputs alone, so a chord of two measurements is nearly the line; more rounds correct it.
  const size = (output: number): number => promptTokens(build(options, groups, output))
  let output = Math.max(tokensPerLine, options.tokens / 2)
  for (let round = 0; round < 4; round++) output = Math.max(1, output + (options.tokens - size(output)))
  return build(options, groups, output)
}

const { renderer } = new SimulatedEngine(settings({}), 0)

/** Tokens of the conversation's prompt in Qwen3's template, with the generation prompt. */
export function promptTokens(conversation: Conversation): number {
  const body = parseJson(JSON.stringify(conversation)) as JsonObject
  return tokenizePrompt(renderer, body).ids.length
}

/** @param outputTokens about how many tokens all tool outputs have together */
function build(options: ConversationOptions, groups: number, outputTokens: number): Conversation {
  const next = numbers(options.seed)
  const pick = (list: readonly string[]): string => list[next(list.length)]!
  const sentence = (): string => `The ${pick(subjects)} ${pick(verbs)} ${pick(objects)} ${pick(reasons)}.`
  const messages: Message[] = [
    { role: 'system', content: `Session ${options.seed}. You are a careful engineer in a shared workspace. Work in small steps, `
      + 'read before you write, run the tests after every change, and say plainly what you did.' },
    { role: 'user', content: `Please look into the ${pick(subjects)}: ${sentence()} It should not. Find out why and repair it.` },
  ]
  const lines = Math.round(outputTokens / tokensPerLine)
  const outputs = groups * (options.callsPerGroup ?? 1)
  let written = 0
  const output = (index: number): string => {
    const first = written
    written = Math.max(first + 1, Math.round(lines * (index + 1) / outputs))
    return Array.from({ length: written - first }, (_, line) => `${line + 1}: ${sentence()} // ${next(9_000) + 1_000}`).join('\n')
  }
  for (let group = 0; group < groups; group++) {
    const calls = Array.from({ length: options.callsPerGroup ?? 1 }, (_, call) => {
      const path = pick(files)
      const args: readonly [string, object] = next(2) === 0
        ? ['read_file', { path, first_line: 1 + next(400) }]
        : ['run_command', { command: `npm test -- ${path} --seed ${next(10_000)}` }]
      return { id: `call_${group}_${call}`, type: 'function' as const, function: { name: args[0], arguments: JSON.stringify(args[1]) } }
    })
    const thought = `${sentence()} So ${pick(files)} is the next place to look, and step ${group + 1} decides it. ${sentence()}`
    messages.push({
      role: 'assistant',
      content: group % 2 === 0 ? `Step ${group + 1}: I look at what the ${pick(subjects)} does.` : '',
      ...(options.reasoning === undefined ? {} : { [options.reasoning]: thought }),
      tool_calls: calls,
    })
    for (const [index, call] of calls.entries()) {
      messages.push({ role: 'tool', tool_call_id: call.id, content: output(group * calls.length + index) })
    }
  }
  if (options.finished === true) {
    messages.push({ role: 'assistant', content: `It is repaired: ${sentence()} All tests pass.` })
  }
  return { messages, tools: codingTools.map((each) => structuredClone(each)) }
}
