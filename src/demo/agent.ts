// A small coding agent: its main requests, and the summary request that it sends in the end. That one has the shape of
// opencode 1.2's: another system text, no tools, every message as it was, two user messages behind.

import { chat, type ChatResult, type ToolCall } from './chat-client.ts'
import { readFile } from './workspace.ts'

interface Message {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string
  readonly tool_calls?: readonly ToolCall[]
  readonly tool_call_id?: string
}

const system = 'You are a coding agent in a terminal. Read before you edit, run the tests after every edit, say in short what you did.'

const tools = [
  tool('read_file', 'Read a file of the workspace. Returns its lines with numbers.', { path: { type: 'string' } }, ['path']),
  tool('edit_file', 'Replace one exact piece of text in a file.', { path: { type: 'string' }, old: { type: 'string' }, new: { type: 'string' } }, ['path', 'old', 'new']),
  tool('run_command', 'Run a shell command in the workspace.', { command: { type: 'string' } }, ['command']),
]

function tool(name: string, description: string, properties: object, required: readonly string[]): object {
  return { type: 'function', function: { name, description, parameters: { type: 'object', properties, required } } }
}

/** Words by which config/agents/opencode-1.2.yaml knows the request; the rest is the demo's own. */
const summariser = 'You are a helpful AI assistant tasked with summarizing conversations.'
export const instruction = 'Provide a detailed prompt for continuing our conversation above. ' +
  'Name what was asked, what was found, which files matter, and what comes next. The new session sees nothing else.'

export class Agent {
  readonly #model: string
  readonly #messages: Message[] = [
    { role: 'system', content: system },
    { role: 'user', content: 'The index writer loses entries when two sessions end at once. Find out why, and repair it.' },
  ]

  constructor(model: string) {
    this.#model = model
  }

  /**
   * Works until the model is done: one main request per step, its tool calls answered.
   * @param url where the chat endpoint is
   */
  async *work(url: string): AsyncGenerator<ChatResult> {
    for (;;) {
      const reply = await chat(url, { model: this.#model, messages: this.#messages, tools, tool_choice: 'auto', max_tokens: 4096 })
      const { text: content, toolCalls } = reply
      this.#messages.push({ role: 'assistant', content, ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}) })
      for (const { id, function: call } of toolCalls) {
        const { path } = JSON.parse(call.arguments) as { path: string }
        this.#messages.push({ role: 'tool', tool_call_id: id, content: readFile(path) })
      }
      yield reply
      if (toolCalls.length === 0) return
    }
  }

  /** Asks for the conversation to be condensed. */
  async compact(url: string): Promise<ChatResult> {
    return chat(url, {
      model: this.#model,
      messages: [
        { role: 'system', content: summariser },
        ...this.#messages.slice(1),
        { role: 'user', content: 'What did we do so far?' },
        { role: 'user', content: instruction },
      ],
      max_tokens: 4096,
    })
  }
}
