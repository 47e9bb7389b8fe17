// One langchain agent with its summarization middleware, told where warmfork is and which notes to read.
import { readFileSync } from 'node:fs'
import { ChatOpenAI } from '@langchain/openai'
import { MemorySaver } from '@langchain/langgraph'
import { createAgent, summarizationMiddleware, tool } from 'langchain'
import { z } from 'zod'

const { BASE_URL, MODEL, PROMPTS, TRIM } = process.env
const model = new ChatOpenAI({ model: MODEL, apiKey: 'sk-local', configuration: { baseURL: BASE_URL }, maxRetries: 1 })
const readFile = tool(({ path }) => readFileSync(path, 'utf8'), { name: 'read_file', description: 'Reads a text file.', schema: z.object({ path: z.string() }) })
const agent = createAgent({
  model, tools: [readFile], systemPrompt: 'You help with notes. Use the tool for every file that you are asked about.',
  middleware: [summarizationMiddleware({ model, trigger: { tokens: 5000 }, keep: { messages: 4 }, ...(TRIM ? { trimTokensToSummarize: Number(TRIM) } : {}) })],
  checkpointer: new MemorySaver(),
})
for (const content of JSON.parse(PROMPTS)) {
  const { messages } = await agent.invoke({ messages: [{ role: 'user', content }] }, { configurable: { thread_id: '1' }, recursionLimit: 60 })
  console.log(messages.at(-1).content)
}
