// The chat form of responses requests is what vLLM's own code makes of them.

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import type { Test } from 'tap'
import { responsesAsChat } from '../../src/endpoint/responses-to-chat.ts'
import { inputItems, responsesBodies } from '../helpers/responses-requests.ts'

const script = fileURLToPath(new URL('./convert-responses.py', import.meta.url))

/** What vLLM refuses, or reads in a way that no chat request has. */
const refused: readonly object[] = [
  { input: [{ type: 'item_reference', id: 'msg_1' }] },
  { input: [{ type: 'reasoning', summary: [], encrypted_content: 'gAAAA' }] },
  { input: [{ type: 'compaction', encrypted_content: 'gAAAA' }] },
  { input: [{ type: 'custom_tool_call', call_id: 'a', name: 'b', input: null }] },
  { input: [{ role: 'user', content: [{ type: 'text', text: 'a' }] }] },
  { input: [{ type: 'message', role: 'assistant', content: [] }] },
  { input: 'a', tools: null },
  { input: 'a', tools: [{ type: 'custom', name: 'a', format: { type: 'grammar', syntax: 'lark', definition: 'a' } }] },
  { input: null },
]

/** @param home where vLLM is installed */
export async function responsesConversion(t: Test, home: string): Promise<void> {
  const convert = (bodies: readonly object[]): any[] => execFileSync(join(home, 'bin/python'), [script], {
    input: bodies.map((body) => `${JSON.stringify(body)}\n`).join(''), maxBuffer: 1 << 28, stdio: ['pipe', 'pipe', 'ignore'],
  }).toString().trim().split('\n').map((line) => JSON.parse(line))

  const bodies = [...fc.sample(responsesBodies, 1_500), ...fc.sample(inputItems, 500).map((input) => ({ input }))]
  const theirs = convert(bodies)
  let equal = 0
  for (const [i, body] of bodies.entries()) {
    if (theirs[i].error) {
      t.fail('vLLM takes it', { body, error: theirs[i].error })
      continue
    }
    const ours = responsesAsChat(Buffer.from(JSON.stringify(body)))
    const chat = ours && JSON.parse(ours.chat.body.toString())
    const wanted = { messages: theirs[i].messages.map(plainMessage), tools: theirs[i].tools, effort: theirs[i].kwargs.reasoning_effort ?? null }
    const found = chat && { messages: chat.messages.map(plainMessage), tools: chat.tools?.map(plainTool) ?? null, effort: chat.reasoning_effort ?? null }
    if (JSON.stringify(found) === JSON.stringify(wanted)) equal++
    else t.strictSame(found, wanted, JSON.stringify(body))
  }
  t.equal(equal, bodies.length)
  for (const [i, { error, messages }] of convert(refused).entries()) {
    const broken = error !== undefined || messages.length === 0
    t.ok(broken, JSON.stringify({ ...refused[i], messages }))
    t.equal(responsesAsChat(Buffer.from(JSON.stringify(refused[i]))), null)
  }
}

function plainMessage({ role, content, reasoning, tool_calls, tool_call_id }: any): object {
  return { role, content: Array.isArray(content) ? content.map(({ text }) => text) : content, reasoning, calls: tool_calls?.map(({ id, function: { name, arguments: args } }: any) => [id, name, args]), tool_call_id }
}

function plainTool({ function: { name, description, parameters, strict } }: any): object {
  return { type: 'function', function: { name, description: description ?? null, parameters, ...(strict === undefined || strict === null ? {} : { strict }) } }
}
