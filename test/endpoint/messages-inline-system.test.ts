// Inline system messages, of which Claude Code sends one in every conversation: read where they stand, or in front where
// the template takes system text nowhere else and vLLM moves them there.

import t from 'tap'
import { messages } from '../../src/endpoint/messages.ts'
import { spokenMessages } from '../helpers/endpoints/messages.ts'
import { systemFirst } from '../helpers/system-first.ts'
import { startWarmfork, type Warmfork } from '../helpers/warmfork.ts'

const text = (words: string): object => ({ type: 'text', text: words })
const tools = [{ name: 'look', description: 'Looks.', input_schema: { type: 'object', properties: {} } }]
const long = (about: string): string => `Read the ${about}. ${`The ${about} are long. `.repeat(150)}`
const lead = [
  { role: 'user', content: [text(long('notes'))] },
  { role: 'system', content: 'The folder is \\work, "ours".' },
  { role: 'assistant', content: [{ type: 'tool_use', id: '1', name: 'look', input: {} }] },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: '1', content: long('files') }] },
]
const answer = { role: 'assistant', content: 'All is read.' }
const asked = { role: 'user', content: [text('CRITICAL: Respond with TEXT ONLY. Say what was done.')] }
const body = (messages: readonly object[], members: object = {}): Buffer => Buffer.from(JSON.stringify({
  model: 'qwen3-simulated', max_tokens: 500, system: [text('x-anthropic-billing-header: cc_version=1.a;'), text('You work in a folder.')], tools, messages, ...members,
}))

for (const [name, template] of [['takes it anywhere', undefined], ['takes it in front only', systemFirst]] as const) {
  for (const scaleOut of [true, false]) {
    const start = (t: Parameters<typeof startWarmfork>[0]): Promise<Warmfork> => startWarmfork(t, { spoken: { ...spokenMessages, engine: { scaleOut, ...(template ? { template } : {}) } } })
    const shown = `a template that ${name}, ${scaleOut ? 'and a render endpoint' : 'and no render endpoint'}`

    t.test(`a compaction that is warm, before ${shown}`, async (t) => {
      const warmfork = await start(t)
      t.equal((await warmfork.chat(body(lead))).status, 200)
      const reply = await warmfork.chat(body([...lead, answer, asked]))
      const receipt = await warmfork.receipt(reply)
      t.match(receipt, { decision: 'already_warm', agent: 'claude-code', proof: 'tokenize', fallback_reason: null })
      t.match(await warmfork.outcome(reply), { engine_cached_tokens: receipt['reusable_tokens'], valid: true })
      t.ok(receipt['reusable_tokens'] > 1_000)
    })

    t.test(`a summary under another system text, before ${shown}`, async (t) => {
      const warmfork = await start(t)
      await warmfork.chat(body(lead))
      const { system, tools, ...rest } = JSON.parse(body([...lead, answer, { role: 'user', content: 'Summarise all of it.' }]).toString())
      const reply = await warmfork.chat(Buffer.from(JSON.stringify({ ...rest, system: 'You summarise.' })), { headers: ['x-warmfork-request', 'summary'] })
      const receipt = await warmfork.receipt(reply)
      t.match(receipt, { decision: 'forked', proof: 'tokenize' })
      t.match(await warmfork.outcome(reply), { engine_cached_tokens: receipt['reusable_tokens'], valid: true, prompt_tokens: receipt['fork_tokens'] })
    })
  }
}

t.test('one more inline message in the summary request moves all, where it goes to the front', async (t) => {
  const warmfork = await startWarmfork(t, { spoken: { ...spokenMessages, engine: { template: systemFirst } } })
  await warmfork.chat(body(lead))
  const summary = body([...lead, answer, { role: 'system', content: 'It is late.' }, asked])
  const since = warmfork.since()
  const reply = await warmfork.chat(summary)
  t.match(await warmfork.receipt(reply), { decision: 'passed', eligible: false })
  t.ok(since.generations()[0]!.body.equals(summary))
})

t.test('the billing line is none of the conversation in an inline message either', async (t) => {
  const read = (content: unknown): unknown => JSON.parse(messages.read(body([lead[0]!, { role: 'system', content }]))!.chat.body.toString()).messages.slice(2)
  t.strictSame(read('x-anthropic-billing-header: a=1;'), [])
  t.strictSame(read([text('x-anthropic-billing-header: a=1;'), text('It is late.')]), [{ role: 'system', content: 'It is late.' }])
  t.strictSame(read([text('x-anthropic-'), text('billing-header')]), [{ role: 'system', content: 'x-anthropic-billing-header' }])
})
