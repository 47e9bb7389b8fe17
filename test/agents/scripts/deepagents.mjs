// One deep agent with the summarization that it brings; the model's profile tells it the window.
import { ChatOpenAI } from '@langchain/openai'
import { MemorySaver } from '@langchain/langgraph'
import { createDeepAgent } from 'deepagents'
import { readFileSync } from 'node:fs'
import { tool } from 'langchain'
import { z } from 'zod'

const { BASE_URL, MODEL, PROMPTS } = process.env
const model = new ChatOpenAI({ model: MODEL, apiKey: 'sk-local', configuration: { baseURL: BASE_URL }, maxRetries: 1 })
Object.defineProperty(model, 'profile', { value: { maxInputTokens: 20_000 } })
const readNote = tool(({ path }) => readFileSync(path, 'utf8'), { name: 'read_note', description: 'Reads a note.', schema: z.object({ path: z.string() }) })
const agent = createDeepAgent({ model, tools: [readNote], systemPrompt: 'You help with notes.', checkpointer: new MemorySaver() })
for (const content of JSON.parse(PROMPTS)) {
  const { messages } = await agent.invoke({ messages: [{ role: 'user', content }] }, { configurable: { thread_id: '1' }, recursionLimit: 90 })
  console.log(messages.at(-1).content)
}
