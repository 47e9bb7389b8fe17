// The chat form of messages requests is what vLLM's own code makes of them.

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import type { Test } from 'tap'
import { messagesAsChat } from '../../src/endpoint/messages-to-chat.ts'
import { asPrefilled } from '../../src/engine/prompt.ts'
import { ownMessages } from '../../src/fork/build.ts'
import type { ChatRequest } from '../../src/wire/chat-request.ts'
import { messagesBodies } from '../helpers/messages-requests.ts'
import { unreadableMessages } from '../helpers/unreadable-messages.ts'

const script = fileURLToPath(new URL('./convert-messages.py', import.meta.url))

/** @param home where vLLM is installed */
export async function messagesConversion(t: Test, home: string): Promise<void> {
  const convert = (bodies: readonly object[]): any[] => execFileSync(join(home, 'bin/python'), [script], {
    input: bodies.map((body) => `${JSON.stringify(body)}\n`).join(''), maxBuffer: 1 << 28, stdio: ['pipe', 'pipe', 'ignore'],
  }).toString().trim().split('\n').map((line) => JSON.parse(line))

  const bodies = fc.sample(messagesBodies, 2_000)
  const theirs = convert(bodies)
  let equal = 0
  for (const [i, body] of bodies.entries()) {
    if (theirs[i].error) {
      t.fail('vLLM takes it', { body, error: theirs[i].error })
      continue
    }
    const ours = messagesAsChat(Buffer.from(JSON.stringify(body)))
    const chat = ours && JSON.parse(ours.chat.body.toString())
    const found = chat && plain({ tool_choice: chat.tools ? 'auto' : null, ...chat, merged: merged(ours.chat) })
    const wanted = plain(theirs[i])
    if (JSON.stringify(found) === JSON.stringify(wanted)) equal++
    else t.strictSame(found, wanted, JSON.stringify(body))
  }
  t.equal(equal, bodies.length)
  // What vLLM takes, and has no chat request that we could make of its bytes, is left alone too.
  for (const { body } of unreadableMessages) t.equal(messagesAsChat(Buffer.from(JSON.stringify(body))), null, JSON.stringify(body))
  const refused = unreadableMessages.filter(({ isRefused }) => isRefused).map(({ body }) => body)
  for (const [i, { error }] of convert(refused).entries()) t.ok(error, JSON.stringify(refused[i]))
}

/** Its messages as they are before a template that takes system text in front only. */
function merged(chat: ChatRequest): object[] {
  const prompt = { options: chat, messages: ownMessages(chat) }
  return asPrefilled(prompt, { renamesReasoning: true, effortSetsThinking: true, systemInFront: true }).messages.map((message) => JSON.parse(message.toString()))
}

function plain({
  messages, merged, tools, tool_choice: choice, reasoning_effort: effort, stop, max_tokens: limit, temperature, chat_template_kwargs: kwargs, stream, response_format: format, thinking_token_budget: budget,
}: any): object {
  return {
    messages: messages.map(plainMessage), merged: merged.map(plainMessage), tools: tools?.map(plainTool) ?? null, choice: choice?.function?.name ?? choice ?? null, effort: effort ?? null,
    stop: stop ?? null, limit, temperature: temperature ?? null, kwargs: kwargs ?? null, stream: stream ?? false,
    format: format ? [format.type, format.json_schema.name, format.json_schema.schema ?? format.json_schema.json_schema] : null, budget: budget ?? null,
  }
}

function plainMessage({ role, content, reasoning, tool_calls: calls, tool_call_id: id }: any): object {
  return {
    role, content: Array.isArray(content) ? content.map(({ text }) => text) : content, reasoning,
    // vLLM prints the input anew, and reads it as JSON before it renders.
    calls: calls?.map(({ id, function: { name, arguments: args } }: any) => [id, name, JSON.stringify(JSON.parse(args))]), tool_call_id: id,
  }
}

function plainTool({ function: { name, description, parameters, strict, defer_loading: deferred } }: any): object {
  return { name, description: description ?? null, parameters, strict: strict ?? null, defer_loading: deferred ?? null }
}
