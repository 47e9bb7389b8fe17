// `npm run demo`: the simulator, warmfork in front of it, and one agent session that ends with a compaction, asked for
// twice: straight from the engine, and through warmfork. Prints what each cost, and the receipt.

import { pino } from 'pino'
import { startApp } from '../app.ts'
import { configSchema } from '../config.ts'
import type { RecentReceipt } from '../receipt/ledger.ts'
import { simulatorModel, startSimulator } from '../simulator/simulator.ts'
import { Agent } from './agent.ts'
import type { ChatResult } from './chat-client.ts'
import { script } from './model.ts'
import { fieldLines, headerLines } from './receipt-lines.ts'
import { bold, count, dim, left, right, row, seconds } from './table.ts'

const prefillTokensPerSecond = 4000
const decodeSecondsPerToken = 0.005

const simulator = await startSimulator({ prefillTokensPerSecond, decodeSecondsPerToken, reply: script })
const config = configSchema.parse({ upstream: { url: simulator.url }, server: { port: 0 }, admin: { port: 0 } })
const app = await startApp(config, pino({ level: 'silent' }))
try {
  await demo()
} finally {
  await app.close(0)
  await simulator.close()
}

async function demo(): Promise<void> {
  say('', bold('warmfork demo: one agent session and its compaction'), '',
    'The engine is the simulator: a real tokenizer, chat template and prefix cache, and no model. Its times are',
    `constants: it prefills ${count(prefillTokensPerSecond)} uncached tokens a second and decodes one token in ${decodeSecondsPerToken * 1000} ms.`)

  const agent = new Agent(simulatorModel)
  await session(agent)

  say('', 'The window fills up, and the agent asks for a summary: another system text, no tools, every message as it was.')
  const forked = await summaries(agent)

  const [receipt] = await (await fetch(`${app.adminUrl}/receipts`)).json() as [RecentReceipt]
  say('', bold('The receipt: headers on the reply through warmfork'), ...headerLines(forked.receipt))
  say('', bold('More of it, from the log'), ...fieldLines(receipt))
  say('', 'All times above are those of the simulator. `npm start -- --upstream <url>` puts warmfork in front of your own vLLM.', '')
  if (receipt.decision !== 'forked') process.exitCode = 1
}

async function session(agent: Agent): Promise<void> {
  const columns = [left(8), right(13), right(8), right(11), left(0)]
  say('', bold('The session, through warmfork'), dim(row(columns, ['request', 'prompt tokens', 'cached', 'first token', 'reply'])))
  let request = 0
  for await (const { usage, firstTokenMs, toolCalls, text } of agent.work(app.url)) {
    const says = toolCalls.length > 0 ? toolCalls.map(({ function: call }) => `${call.name} ${call.arguments}`).join(', ') : text
    say(row(columns, [`main ${++request}`, count(usage?.promptTokens), count(usage?.cachedTokens), seconds(firstTokenMs), shortened(says)]))
  }
}

/** The same summary request on both ways. @returns the reply through warmfork */
async function summaries(agent: Agent): Promise<ChatResult> {
  const columns = [left(22), right(13), right(8), right(10), right(11), right(11)]
  const show = (name: string, { usage, firstTokenMs, totalMs }: ChatResult): void => {
    const { promptTokens, cachedTokens } = usage ?? { promptTokens: null, cachedTokens: null }
    const uncached = promptTokens === null || cachedTokens === null ? null : promptTokens - cachedTokens
    say(row(columns, [name, count(promptTokens), count(cachedTokens), count(uncached), seconds(firstTokenMs), seconds(totalMs)]))
  }
  say('', bold('The same summary request, sent twice'), dim(row(columns, ['', 'prompt tokens', 'cached', 'to prefill', 'first token', 'whole reply'])))
  // Its first cache block differs from the session's: it finds nothing in the cache, and leaves nothing that the fork could use.
  const standalone = await agent.compact(simulator.url)
  show('straight to the engine', standalone)
  const forked = await agent.compact(app.url)
  show('through warmfork', forked)
  say('', `First token ${(standalone.firstTokenMs / forked.firstTokenMs).toFixed(0)} times as soon, planning and proof included.`)
  return forked
}

function say(...lines: readonly string[]): void {
  for (const line of lines) console.log(line)
}

function shortened(text: string): string {
  return text.length > 60 ? `${text.slice(0, 57)}...` : text
}
