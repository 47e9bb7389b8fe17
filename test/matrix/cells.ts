// The conversations of the matrix: what an agent's compaction meets, one cell each, the same for every template.

import { conversation, type Message, type Tool } from '../helpers/conversation.ts'

export interface Cell {
  readonly name: string
  /** What the recorded main request holds. */
  readonly main: Session
  /** How many of its messages the summary request repeats; all but in cells about an older part. */
  readonly covered: number
  /** Messages of the summary request behind those, before its instruction. */
  readonly following: readonly Message[]
}

interface Session {
  readonly messages: readonly Message[]
  readonly tools?: readonly Tool[]
  readonly chat_template_kwargs?: object
}

const groups = 12

/** Ids of nine letters and digits, as Mistral's templates want them; no content ends in the middle of a line. */
function built(options: { reasoning?: boolean, callsPerGroup?: number, groups?: number, seed: string, finished?: boolean }): { messages: Message[], tools: Tool[] } {
  const { messages, tools } = conversation({
    seed: options.seed, groups: options.groups ?? groups, outputTokens: 240, callsPerGroup: options.callsPerGroup ?? 1,
    ...(options.reasoning ? { reasoning: 'reasoning' as const } : {}), ...(options.finished ? { finished: true } : {}),
  })
  const id = (old: string): string => `c${old.replace(/\D/g, '').padStart(8, '0')}`
  for (const message of messages) {
    for (const call of message.tool_calls ?? []) call.id = id(call.id)
    if (message.tool_call_id) message.tool_call_id = id(message.tool_call_id)
  }
  return { messages, tools }
}

/** Some templates want every parameter described. */
function described(tools: readonly Tool[]): Tool[] {
  return tools.map((tool) => {
    const { properties, ...rest } = tool.function.parameters as { properties: Record<string, object> }
    const all = Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, { description: `The ${name}`, ...schema }]))
    return { ...tool, function: { ...tool.function, parameters: { ...rest, properties: all } } }
  })
}

function turns(...runs: Message[][]): Message[] {
  return runs.flatMap((messages, i) => i === 0 ? messages : messages.slice(1))
}

function whole(name: string, main: Session, following: Message[] = []): Cell {
  return { name, main, covered: main.messages.length, following }
}

function plainChat(): Message[] {
  const lines = built({ seed: 'plain', groups: 6 }).messages.filter(({ role }) => role === 'tool').map(({ content }) => content!)
  const [system, user] = built({ seed: 'plain' }).messages
  return [
    system!, user!,
    ...lines.flatMap((text): Message[] => [{ role: 'assistant', content: text }, { role: 'user', content: `And then? ${text.slice(0, 60)}` }]),
  ]
}

const answer = (text: string): Message => ({ role: 'assistant', content: text })
const ask = (text: string): Message => ({ role: 'user', content: text })
const thinkingOn = { enable_thinking: true, thinking: true }
const thinkingOff = { enable_thinking: false, thinking: false }

export function cells(): Cell[] {
  const loop = built({ seed: 'loop' })
  const echoed = built({ seed: 'echoed', reasoning: true })
  const parallel = built({ seed: 'parallel', reasoning: true, callsPerGroup: 2 })
  const first = built({ seed: 'first', reasoning: true, groups: 5, finished: true })
  const second = built({ seed: 'second', reasoning: true, groups: 5, finished: true })
  const third = built({ seed: 'third', reasoning: true, groups: 4 })
  const several = turns(first.messages, second.messages, third.messages)
  const tools = described(loop.tools)
  const reasoned = { ...answer('All is repaired and all tests pass.'), reasoning: 'I should say that it is done.' }
  return [
    whole('plain chat', { messages: plainChat() }),
    whole('tool loop', { messages: loop.messages, tools }),
    whole('thinking off', { messages: loop.messages, tools, chat_template_kwargs: thinkingOff }),
    whole('reasoning echoed', { messages: echoed.messages, tools }),
    whole('reasoning dropped', { messages: loop.messages, tools, chat_template_kwargs: thinkingOn }),
    whole('parallel tool calls', { messages: parallel.messages, tools }),
    whole('several user turns', { messages: several, tools }),
    whole('after the final reply', { messages: echoed.messages, tools }, [reasoned, ask('What did we do so far?')]),
    // Agents that summarise the older part alone: up to a tool result, and up to a reply.
    { name: 'older part, to a tool result', main: { messages: echoed.messages, tools }, covered: echoed.messages.length - 6, following: [] },
    { name: 'older part, to a reply', main: { messages: several, tools }, covered: first.messages.length + second.messages.length - 1, following: [] },
  ]
}
