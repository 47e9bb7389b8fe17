// A session of a coding agent and the compaction that opencode 1.2 asks for at its end.

import { randomUUID } from 'node:crypto'

export interface Session {
  readonly main: ChatBody
  readonly summary: ChatBody
}

export interface ChatBody {
  readonly model: string
  readonly messages: readonly object[]
  readonly tools?: readonly object[]
  readonly [option: string]: unknown
}

export const summaryInstruction = `Provide a detailed prompt for continuing our conversation above.
Focus on what a new session needs to go on: what was done, what is being done, which files are concerned, what comes next.
The new session will not have access to our conversation.`

const system = 'You are a coding agent in a terminal. Read before you edit, run the tests after every edit, and report in short.'

const tools = ['read', 'edit', 'bash'].map(name => ({
  type: 'function',
  function: {
    name,
    description: `The ${name} tool of the session.`,
    parameters: { type: 'object', properties: { path: { type: 'string' }, limit: { type: 'integer', default: 2000 } }, required: ['path'] },
  },
}))

/**
 * @param steps tool calls in the session; each is about 350 tokens long
 * @param reply what the engine answers to the main request
 */
export function opencodeSession(model: string, steps: number, reply: string): Session {
  const messages = [
    // Its first words are new each time, or the engine would know the session from the test before.
    { role: 'user', content: `${randomUUID()}: make the parser accept trailing commas.` },
    ...Array.from({ length: steps }, (_, step) => toolGroup(step)).flat(),
  ]
  return {
    main: { model, messages: [{ role: 'system', content: system }, ...messages], tools, max_tokens: 4_096, tool_choice: 'auto' },
    summary: {
      model,
      messages: [
        { role: 'system', content: 'You are a helpful AI assistant tasked with summarizing conversations.' },
        ...messages,
        { role: 'assistant', content: reply },
        { role: 'user', content: 'What did we do so far?' },
        { role: 'user', content: summaryInstruction },
      ],
      max_tokens: 4_096,
    },
  }
}

function toolGroup(step: number): object[] {
  const id = `call_${step}`
  const path = `src/module-${step}.ts`
  return [
    { role: 'assistant', content: `Step ${step}: I read ${path}.`, tool_calls: [{ id, type: 'function', function: { name: 'read', arguments: JSON.stringify({ path, limit: 200 }) } }] },
    { role: 'tool', tool_call_id: id, content: Array.from({ length: 12 }, (_, line) => `${line + 1}: export const value${step}x${line} = parse("${path}", ${line * step})`).join('\n') },
  ]
}
