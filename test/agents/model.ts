// The model behind the agents: calls the agent's own tools for some turns, then answers; asked for a summary, it writes one.

import type { Reply, ReplyRequest } from '../../src/simulator/simulator.ts'
import { filesOf } from './workspace.ts'

export interface ModelScript {
  /** Tool calls for one prompt before the model answers; 6 by default. */
  readonly calls?: number
  /** Tools that it calls, the first that the request has; by default one that reads a file or runs a command. */
  readonly tools?: readonly string[]
  /** A call's arguments, where the schema's names do not tell. */
  readonly args?: (tool: string, file: string) => object
  /** What it writes when asked for a summary. */
  readonly summary?: string
  readonly reasoning?: boolean
  /** Tokens that the agent is told its window has. */
  readonly window?: number
}

export const summaryText = '# Goal\nFind out what the notes say about each depot.\n# Done\nSeveral notes were read; the stock figures are in them.\n' +
  '# Next\nRead the notes that are left and answer with one line for each.'

const readers = [/^read(_?file)?$/i, /^view$/i, /read_?file/i, /^(bash|shell|terminal|execute|run_shell_command|run_command|run_commands|execute_bash)$/i, /file_editor|editor/i, /read/i, /shell|bash|command/i]

export interface ScriptedModel {
  reply(request: ReplyRequest): Reply
  /** The user has typed something new. */
  prompted(): void
}

/** The model of one session; it reads another file at every call. */
export function scriptedModel(script: ModelScript, work: string): ScriptedModel {
  let read = 0
  let done = 0
  const reply = ({ body, endpoint }: ReplyRequest): Reply => {
    if (endpoint === 'completions' || asksForSummary(body)) return { content: script.summary ?? summaryText }
    const tool = pickTool(body.tools ?? [], script.tools)
    if (!tool || done++ >= (script.calls ?? 6)) return { content: `The depots are listed in the notes; note ${read} was the last one read.` }
    const file = filesOf(work)[read++ % filesOf(work).length]!
    const args = script.args?.(tool.function.name, file) ?? argumentsFor(tool, file)
    return {
      content: `Now note ${read} of the list.`,
      ...(script.reasoning ? { reasoning: `Note ${read} comes next; its figures are still missing.` } : {}),
      toolCalls: [{ name: tool.function.name, arguments: args }],
    }
  }
  return { reply, prompted: () => void (done = 0) }
}

/** Whether the front or the last message asks for one; the prompts of a session have none of these words. */
export function asksForSummary({ messages = [], tools = [] }: { readonly messages?: readonly any[], readonly tools?: readonly any[] }): boolean {
  const last = messages.at(-1)
  if (last === undefined || last.role === 'tool' || last.role === 'assistant') return false
  const text = JSON.stringify(last.content).slice(-6_000)
  const front = messages.length <= 3 && tools.length === 0 ? JSON.stringify(messages.map(({ content }) => content)).slice(0, 8_000) : ''
  return !/\btitle\b/i.test(front.slice(0, 2_000)) && /summar|state_snapshot|CHECKPOINT COMPACTION|Context budget has been reached/i.test(front + text)
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
