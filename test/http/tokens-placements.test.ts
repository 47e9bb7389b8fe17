// Which rung of the ladder wins, through HTTP on the simulator: every cell of the matrix under Qwen3's template, and
// templates written here that do to a fork what real ones do. The share is counted from what the engine received.

import t, { type Test } from 'tap'
import type { SimulatorOptions } from '../../src/simulator/simulator.ts'
import { simulatorModel } from '../../src/simulator/simulator.ts'
import { cells, type Cell } from '../matrix/cells.ts'
import { type ChatBody, opencodeSession, type Session, startWarmfork, summaryInstruction, summarySystem, type Warmfork } from '../helpers/warmfork.ts'

function sessionOf({ main, covered, following }: Cell): Session {
  return {
    main: { model: simulatorModel, ...structuredClone(main) } as unknown as ChatBody,
    summary: {
      model: simulatorModel,
      messages: [{ role: 'system', content: summarySystem }, ...main.messages.slice(1, covered), ...following, { role: 'user', content: summaryInstruction }],
      max_tokens: 1000,
    },
  }
}

/** Sends a session; what the fork shares with its parent is counted from the ids of what the engine received. */
async function share(t: Test, warmfork: Warmfork, session: Session, tenant = 'one'): Promise<{ placement: string, detail: string | null, share: number, userLost: number | null }> {
  const sending = { headers: ['authorization', `Bearer ${tenant}`] }
  await warmfork.main(session, sending)
  const since = warmfork.since()
  const reply = await warmfork.chat(session.summary, sending)
  const receipt = await warmfork.receipt(reply)
  t.equal(reply.status, 200)
  t.match(receipt, { decision: 'forked' })
  t.strictSame(since.warnings(), [])
  const [fork] = since.generations()
  const parent = await idsOf(warmfork, session.main)
  const body = JSON.parse(fork!.body.toString('utf8'))
  const ids: number[] = body.prompt ?? await idsOf(warmfork, body)
  const common = ids.findIndex((id, i) => id !== parent[i])
  t.equal(receipt['common_prefix_tokens'], common)
  return { placement: receipt['placement'], detail: receipt['placement_detail'], share: common / parent.length, userLost: receipt['lost_placements']?.user ?? null }
}

async function idsOf(warmfork: Warmfork, { stream_options: _, ...body }: any): Promise<number[]> {
  const reply = await warmfork.engineAlone({ ...body, stream: false, max_tokens: 1, max_completion_tokens: undefined, return_token_ids: true })
  return reply.parts[0].prompt_token_ids
}

const expected: Record<string, { placement: 'user' | 'tokens', share?: number }> = {
  'plain chat': { placement: 'user' },
  'tool loop': { placement: 'user' },
  'thinking off': { placement: 'user' },
  'reasoning echoed': { placement: 'tokens' },
  'reasoning dropped': { placement: 'user' },
  'parallel tool calls': { placement: 'tokens' },
  'several user turns': { placement: 'tokens' },
  'after the final reply': { placement: 'tokens' },
  'older part, to a tool result': { placement: 'tokens', share: 0.7 },
  'older part, to a reply': { placement: 'user', share: 0.6 },
}

t.test("Qwen3's template", async (t) => {
  const warmfork = await startWarmfork(t, { engine: { reasoningParser: true } })
  t.same(cells().map(({ name }) => name), Object.keys(expected))
  for (const cell of cells()) {
    await t.test(cell.name, async (t) => {
      // Cells hold the same messages: each is a tenant's of its own.
      const found = await share(t, warmfork, sessionOf(cell), cell.name)
      const wanted = expected[cell.name]!
      t.equal(found.placement, wanted.placement)
      t.ok(found.share >= (wanted.share ?? 0.95), `${found.share}`)
      t.equal(found.userLost !== null, wanted.placement === 'tokens', `user would have shared ${found.userLost}`)
    })
  }
})

/** Written here: one line a message, calls as JSON, thinking as `think` writes it. */
function template({ front = '', before = '', think = '', turn = '', opening = '<|im_start|>assistant\n' }: { front?: string, before?: string, think?: string, turn?: string, opening?: string }): () => string {
  return () => `{%- set last = namespace(user=-1) -%}
{%- for m in messages -%}{%- if m.role == 'user' -%}{%- set last.user = loop.index0 -%}{%- endif -%}{%- endfor -%}
${front}
{%- for m in messages -%}
{%- set previous = messages[loop.index0 - 1].role if loop.index0 > 0 else '' -%}
${before}
{{- '<|im_start|>' + m.role + '\\n' -}}
${turn}
${think}
{{- m.content or '' -}}
{%- if m.tool_calls -%}{%- for c in m.tool_calls -%}{{- '<tool_call>' + c.function.name + c.function.arguments | tojson + '</tool_call>' -}}{%- endfor -%}{%- endif -%}
{{- '<|im_end|>\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- ${JSON.stringify(opening)} -}}{%- endif -%}`
}

const thinkAfterLastUser = (open: string, close: string): string =>
  `{%- if m.role == 'assistant' and m.reasoning_content and loop.index0 > last.user -%}{{- ${JSON.stringify(open)} + m.reasoning_content + ${JSON.stringify(close)} -}}{%- endif -%}`

const refusesUserBehindTool = "{%- if m.role == 'user' and previous == 'tool' -%}{{- raise_exception('a user may not follow a tool') -}}{%- endif -%}"

const rows: Record<string, { engine: SimulatorOptions, reasoning?: boolean, placement: 'user' | 'tokens' | null, detail?: string }> = {
  'a template that keeps all': { engine: { template: template({}) }, placement: 'user' },
  'a template that refuses a user behind a tool gets a short assistant message between': {
    engine: { template: template({ before: refusesUserBehindTool }) }, placement: 'user', detail: 'assistant_between',
  },
  'such a template that drops thinking too': {
    engine: { template: template({ before: refusesUserBehindTool, think: thinkAfterLastUser('[THINK]', '[/THINK]') }) }, reasoning: true,
    placement: 'tokens', detail: 'assistant_between',
  },
  'a template that moves the system text to the last user turn': {
    engine: { template: template({ turn: "{%- if loop.index0 == last.user -%}{{- messages[0].content + '\\n\\n' -}}{%- endif -%}" }) }, placement: 'tokens',
  },
  'a template that closes a message only where the next one opens': {
    engine: { template: () => template({})().replace("{{- '<|im_end|>\\n' -}}", "{%- if not loop.last -%}{{- '<|im_end|>\\n' -}}{%- endif -%}").replace("<|im_start|>assistant\\n\"", "<|im_end|>\\n<|im_start|>assistant\\n\"") }, placement: 'user',
  },
  'a generation prompt that opens thinking': {
    engine: { template: template({ think: thinkAfterLastUser('<think>\n', '\n</think>\n'), opening: '<|im_start|>assistant\n<think>\n' }) }, reasoning: true, placement: 'tokens',
  },
  'thinking with marks that nobody here knows is not sent by tokens': {
    engine: { template: template({ think: thinkAfterLastUser('<|ponder|>', '<|/ponder|>') }) }, reasoning: true, placement: null, detail: 'thinking_unknown',
  },
}

for (const [name, { engine, reasoning = false, placement, detail = null }] of Object.entries(rows)) {
  t.test(name, async (t) => {
    const warmfork = await startWarmfork(t, { engine: { reasoningParser: true, ...engine } })
    const { main, summary } = opencodeSession({ groups: 12, ...(reasoning ? { reasoning: 'reasoning' as const } : {}) })
    const session = { main, summary: { ...summary, messages: [summary.messages[0]!, ...main.messages.slice(1), summary.messages.at(-1)!] } }
    if (placement === null) {
      await warmfork.main(session)
      const reply = await warmfork.chat(session.summary)
      t.match(await warmfork.receipt(reply), { decision: 'passed', fallback_reason: 'prefix_diverges', placement: null, placement_detail: detail })
      return
    }
    const found = await share(t, warmfork, session)
    t.match(found, { placement, detail })
    t.ok(found.share >= 0.95, `${found.share}`)
  })
}

t.test('options that completions cannot serve keep a summary from the tokens rung', async (t) => {
  const warmfork = await startWarmfork(t, { engine: { reasoningParser: true } })
  const session = opencodeSession({ groups: 12, reasoning: 'reasoning' })
  await warmfork.main(session)
  for (const options of [{ logprobs: true }, { logprobs: true, top_logprobs: 3 }, { return_token_ids: true }, { include_stop_str_in_output: true }]) {
    const since = warmfork.since()
    const reply = await warmfork.chat({ ...session.summary, ...options })
    t.equal(reply.status, 200)
    t.match(await warmfork.receipt(reply), { decision: 'passed', fallback_reason: 'prefix_diverges', placement: null, placement_detail: 'options' })
    t.equal((await warmfork.receipt(reply))['common_prefix_tokens'], (await warmfork.receipt(reply))['lost_placements'].user, 'what the user rung would have shared is in the receipt')
    t.strictSame(since.generations().map(({ target }) => target), ['/v1/chat/completions'])
  }
})

t.test('the ids that the engine gets are the same for the same evidence and summary', async (t) => {
  const warmfork = await startWarmfork(t, { engine: { reasoningParser: true } })
  const session = opencodeSession({ groups: 12, reasoning: 'reasoning' })
  await warmfork.main(session)
  const since = warmfork.since()
  await warmfork.chat(session.summary)
  await warmfork.chat(session.summary)
  const [first, second] = since.generations()
  t.equal(first!.target, '/v1/completions')
  t.ok(first!.body.equals(second!.body))
})

t.test('the log says once what a calibration found about thinking', async (t) => {
  const warmfork = await startWarmfork(t, { engine: { reasoningParser: true } })
  const session = opencodeSession({ groups: 12, reasoning: 'reasoning_content' })
  await warmfork.main(session)
  const line = await warmfork.line(({ msg }) => msg === 'calibration')
  t.match(line, { state: 'calibrated', proof: 'tokenize', tool_choice_none: true, reads_reasoning_content: true, thinking_opens: ['<think>'] })
  await warmfork.chat(session.summary)
  await warmfork.main(opencodeSession({ groups: 3, reasoning: 'reasoning_content' }))
  t.equal(warmfork.logged.filter(({ msg }) => msg === 'calibration').length, 1)
})
