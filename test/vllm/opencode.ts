// A session of a coding agent and the compaction that opencode 1.2 asks for at its end.

import { randomUUID } from 'node:crypto'
import { conversation } from '../helpers/conversation.ts'

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

interface SessionOptions {
  readonly model: string
  /** Of the main request. */
  readonly tokens: number
  /** What the engine answers to the main request. */
  readonly reply: string
  /** Assistant messages carry their thinking, as opencode echoes it. */
  readonly reasoning?: boolean
}

/** A session that no engine has seen before. */
export function opencodeSession({ model, tokens, reply, reasoning }: SessionOptions): Session {
  const { messages, tools } = conversation({
    seed: randomUUID(),
    tokens,
    groups: Math.round(tokens / 350),
    ...(reasoning && { reasoning: 'reasoning_content' as const }),
  })
  const [, ...withoutSystem] = messages
  return {
    main: { model, messages, tools, max_tokens: 4_096, tool_choice: 'auto' },
    summary: {
      model,
      messages: [
        { role: 'system', content: 'You are a helpful AI assistant tasked with summarizing conversations.' },
        ...withoutSystem,
        { role: 'assistant', content: reply },
        { role: 'user', content: 'What did we do so far?' },
        { role: 'user', content: summaryInstruction },
      ],
      max_tokens: 4_096,
    },
  }
}
