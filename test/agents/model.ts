// The model behind the agents: calls the agent's own tools for some turns, then answers; asked for a summary, it writes one.

import type { Reply, ReplyRequest } from '../../src/simulator/simulator.ts'
import { scriptedAsChat } from './as-chat.ts'
import { prompts } from './prompts.ts'
import { filesOf } from './workspace.ts'

export interface ModelScript {
  /** Tool calls for one prompt before the model answers; 6 by default. */
  readonly calls?: number
  /** Tools that it calls, the first that the request has; by default one that reads a file or runs a command. */
  readonly tools?: readonly string[]
  /** A tool that says that the work is done, where the agent waits for one. */
  readonly finishes?: string
  /** A call's arguments, where the schema's names do not tell. */
  readonly args?: (tool: string, file: string) => object
  /** What it writes when asked for a summary. */
  readonly summary?: string
  /** What it writes to an agent that asks for one with the conversation's own tools. */
  readonly warmSummary?: string
  readonly reasoning?: boolean
  /** What it says beside a call, where that is to be more than a few words. */
  readonly says?: (count: number) => string
  /** What it answers where it calls no tool. */
  readonly answer?: (count: number) => string
}

const summaryText = [
  '# Goal', 'Find out what the notes of this folder say about each depot, and which shelf is named most often.',
  '# Done', 'Several notes were read one after another, each whole; every one lists forty-five depots with crates, part, shelf and round.',
  'No note contradicts another so far, and no depot occurs in two of them.',
  '# Decisions', 'The notes are read in the order of their numbers, so that none is left out. Nothing in the folder is changed.',
  '# Next', 'Read the notes that are left, then answer with one line for each depot and name the shelf.',
].join('\n')

const readers = [/^read(_?file)?$/i, /^view$/i, /read_?file/i, /^(bash|shell|terminal|execute|run_shell_command|run_command|run_commands|execute_bash)$/i, /file_editor|editor/i, /read/i, /shell|bash|command/i]

/** The model of one session; it reads another file at every call. */
export function scriptedModel(script: ModelScript, work: string): (request: ReplyRequest) => Reply {
  let read = 0
  let done = 0
  const prompted = new Set<string>()
  return ({ body: sent, endpoint }) => {
    const body = scriptedAsChat(endpoint, sent)
    if (endpoint === 'completions' || asksForSummary(body)) return { content: ((isWarm(body) ? script.warmSummary : undefined) ?? script.summary ?? summaryText).replace('Done', `Done up to note ${read}`) }
    const prompt = newPrompt(body.messages, prompted)
    if (prompt) {
      prompted.add(prompt)
      done = 0
    }
    const tool = pickTool(body.tools ?? [], script.tools)
    if (!tool && script.answer) return { content: script.answer(++read) }
    if (!tool || done++ >= (script.calls ?? 6)) {
      const finish = body.tools?.find(({ function: { name } }: any) => name === script.finishes)
      return {
        content: `The depots are listed in the notes; note ${read} was the last one read.`,
        ...(finish ? { toolCalls: [{ name: finish.function.name, arguments: argumentsFor(finish, '') }] } : {}),
      }
    }
    const file = filesOf(work)[read++ % filesOf(work).length]!
    const args = script.args?.(tool.function.name, file) ?? argumentsFor(tool, file)
    return {
      content: script.says?.(read) ?? `Now note ${read} of the list.`,
      ...(script.reasoning ? { reasoning: `Note ${read} comes next; its figures are still missing.` } : {}),
      toolCalls: [{ name: tool.function.name, arguments: args }],
    }
  }
}

function isWarm({ messages, tools = [] }: { readonly messages?: readonly any[], readonly tools?: readonly any[] }): boolean {
  return tools.length > 0 && !JSON.stringify(messages?.at(-1)?.content ?? '').includes('The conversation above is the material')
}

/** Marks of the requests that ask with the conversation's own tools, forks among them; without tools any talk of a summary asks for one. */
const warmMarks = /The conversation above is the material|state_snapshot> XML|CHECKPOINT COMPACTION|concise summary of our|Context budget has been reached|CRITICAL: Respond with TEXT ONLY/

/** Whether a request asks for a summary: by its front or its last message. The prompts of a session have no such words. */
export function asksForSummary({ messages = [], tools = [] }: { readonly messages?: readonly any[], readonly tools?: readonly any[] }): boolean {
  const last = messages.at(-1)
  if (last === undefined || last.role === 'tool' || last.role === 'assistant') return false
  const text = JSON.stringify(last.content)
  if (tools.length > 0) return warmMarks.test(text)
  const front = JSON.stringify(messages.slice(0, 3).map(({ content }) => content)).slice(0, 8_000)
  return !/\btitle\b/i.test(front.slice(0, 2_000)) && /summar|compact/i.test(messages.length <= 3 ? front + text.slice(-6_000) : text.slice(-6_000))
}

/** What the user has just typed for the first time. */
function newPrompt(messages: readonly any[], known: ReadonlySet<string>): string | undefined {
  const typed = messages.findLast(({ role }) => role === 'user')
  return prompts.find((prompt) => !known.has(prompt) && JSON.stringify(typed ?? '').includes(prompt))
}

function pickTool(tools: readonly any[], wanted: readonly string[] = []): any {
  const named = wanted.flatMap((name) => tools.filter((tool) => tool.function?.name === name))
  return named[0] ?? readers.flatMap((reader) => tools.filter((tool) => reader.test(tool.function?.name ?? '')))[0]
}

/** Arguments by the names in the schema. */
function argumentsFor(tool: any, file: string): object {
  const { properties = {}, required = [] } = tool.function.parameters ?? {}
  const names = Object.keys(properties).filter((name) => required.includes(name) || /path|file|^command$/i.test(name))
  return Object.fromEntries(names.map((name) => [name, valueFor(name, properties[name], file)]))
}

function valueFor(name: string, schema: any, file: string): unknown {
  if (/paths|files$/i.test(name) || (schema.type === 'array' && /path|file/i.test(name))) return [file]
  if (/path|file/i.test(name)) return file
  if (/^commands$/.test(name)) return [`cat ${file}`]
  if (/^command$/.test(name)) return schema.enum?.includes('view') ? 'view' : `cat ${file}`
  if (schema.enum) return schema.enum[0]
  if (schema.type === 'boolean') return false
  if (schema.type === 'integer' || schema.type === 'number') return schema.minimum ?? schema.default ?? 1
  return `about note ${file.split('/').at(-1)}`
}
