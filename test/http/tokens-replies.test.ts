// The `tokens` placement over HTTP, on each endpoint: a tool loop with echoed reasoning under a template that drops it,
// streaming and not. The client gets what the endpoint itself would have sent for the same reply.

import t, { type Test } from 'tap'
import type { Reply as Scripted } from '../../src/simulator/simulator.ts'
import { type InvalidReason, verdicts } from '../../src/summary/verdict.ts'
import { promptTokens } from '../helpers/conversation.ts'
import { overEndpoints } from '../helpers/endpoints/all.ts'
import { type ChatReply, opencodeSession, sameForAll, type Session, startWarmfork, streamed, whenForked } from '../helpers/warmfork.ts'

const replies: Record<string, Scripted> = {
  'thinking and text': { reasoning: 'I look at\nwhat happened.', content: 'Done: 漢字, 👩‍👩‍👧, "quotes", \\ and\n\n- a list\n' },
  'text that quotes marks': { reasoning: 'I look.', content: 'The log shows <think> and <|im_end|> in the middle.' },
  'empty thinking': { reasoning: '', content: 'Done.' },
}

const failing: Record<string, { reply: Scripted, code: InvalidReason, options?: object }> = {
  'thinking that never closes': { reply: { text: '<think>\nI think and think' }, code: 'summary_thinking_open' },
  'thinking that never closes and is not shown': { reply: { text: '<think>\nI think and think' }, code: 'summary_thinking_open', options: { include_reasoning: false } },
  'thinking and nothing else': { reply: { text: '<think>\nI think.\n</think>\n\n' }, code: 'summary_thinking_open' },
  'thinking up to the limit': { reply: { text: '<think>\nI think', finish: 'length' }, code: 'summary_truncated' },
  'a call as text': { reply: { reasoning: 'I look.', toolCalls: [{ name: 'read_file', arguments: { path: 'x' } }] }, code: 'summary_tool_markup' },
  'a call behind text': { reply: { reasoning: 'I look.', content: 'Let me see.', toolCalls: [{ name: 'read_file', arguments: { path: 'x' } }] }, code: 'summary_tool_markup' },
  'a limit in the text': { reply: { reasoning: 'I look.', content: 'Half', finish: 'length' }, code: 'summary_truncated' },
  'a mark of the template at the end': { reply: { reasoning: 'I look.', content: 'Done.<|im_start|>' }, code: 'summary_special_tokens' },
  'nothing': { reply: { text: '' }, code: 'summary_empty' },
}

/** What a reply is made of, in the order of its members, whatever it says: each kind of event once. */
function shapesOf({ parts }: ChatReply): string[] {
  return [...new Set(parts.map((part) => JSON.stringify(shapeOf(part))))].sort()
}

/** What completions do not say. */
const unsaid = ['completion_tokens_details', 'created_cache_tokens', 'cache_creation_input_tokens', 'output_tokens_details', 'cache_write_tokens', 'temperature', 'top_p']

function shapeOf(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) return value.map((element) => shapeOf(element))
  if (typeof value !== 'object' || value === null) return key === 'finish_reason' || value === null ? value : typeof value
  return Object.entries(value).filter(([name]) => !unsaid.includes(name)).map(([name, member]) => [name, shapeOf(member, name)])
}

overEndpoints(t, async (t, spoken) => {
  const warmfork = await startWarmfork(t, { spoken, engine: { reasoningParser: true } })

  t.afterEach(() => {
    warmfork.script.reply = undefined
    warmfork.script.fault = undefined
  })

  /** A 20-call loop whose client echoes reasoning: a trailing user message would drop all of it. */
  function loop(): Session {
    return opencodeSession({ groups: 20, outputTokens: 300, reasoning: 'reasoning_content' })
  }

  async function forked(t: Test, reply: Scripted, options: object = {}, session = loop()): Promise<{ reply: ChatReply, session: Session }> {
    await warmfork.main(session)
    warmfork.script.reply = whenForked(reply)
    const given = await warmfork.chat({ ...session.summary, ...options })
    t.match(await warmfork.receipt(given), { placement: 'tokens', eligible: true, fork_sent: true })
    return { reply: given, session }
  }

  /** The same reply from the endpoint itself. */
  async function own(reply: Scripted, options: object = {}): Promise<ChatReply> {
    warmfork.script.reply = () => reply
    const { summary } = opencodeSession()
    return warmfork.engineAlone({ ...summary, ...options })
  }

  for (const [how, options] of [['whole', {}], ['streamed', streamed]] as const) {
    t.test(`a ${how} summary of a loop of 20 calls: user loses, tokens extends all of the parent`, async (t) => {
      const session = loop()
      await warmfork.main(session)
      const parentTokens = promptTokens({ messages: session.main.messages, tools: session.main.tools! })
      const since = warmfork.since()
      const reply = await warmfork.chat({ ...session.summary, ...options })
      const receipt = await warmfork.receipt(reply)
      const outcome = await warmfork.outcome(reply)
      t.equal(since.generations().length, 1)
      const [sent] = since.generations()
      t.equal(sent!.target, '/v1/completions')
      const { prompt, max_tokens } = JSON.parse(sent!.body.toString('utf8'))
      t.equal(max_tokens, 1000)
      t.match(receipt, { decision: 'forked', placement: 'tokens', fork_tokens: prompt.length, max_tokens: 1000 })
      t.ok(receipt['lost_placements'].user < parentTokens / 4, `user would have shared ${receipt['lost_placements'].user} of ${parentTokens}`)
      t.ok(receipt['common_prefix_tokens'] > parentTokens - 8, `tokens shares ${receipt['common_prefix_tokens']}`)
      t.equal(reply.warmfork['common-prefix-tokens'], String(receipt['common_prefix_tokens']))
      t.match(outcome, { valid: true, finish_reason: 'stop', prompt_tokens: prompt.length, prompt_ids_confirmed: null })
      t.ok(receipt['common_prefix_tokens'] - outcome['engine_cached_tokens'] <= receipt['block_size'], `${outcome['engine_cached_tokens']} were cached`)
      t.strictSame(since.warnings(), [])
    })
  }

  for (const [what, reply] of Object.entries(replies)) {
    for (const [how, options] of [['whole', {}], ['streamed', streamed]] as const) {
      t.test(`${what}: a ${how} reply is such as the endpoint's own`, async (t) => {
        const { reply: given } = await forked(t, reply, options)
        const wanted = await own(reply, options)
        const { content, thinking, finish, done, error } = given
        t.strictSame({ content, thinking, finish, done, error }, { content: wanted.content, thinking: wanted.thinking, finish: wanted.finish, done: wanted.done, error: null })
        t.strictSame(shapesOf(given), shapesOf(wanted), 'the same kinds of events, with the same members in the same order')
      })
    }
  }

  for (const [how, options] of [['whole', {}], ['streamed', streamed]] as const) {
    t.test(`a ${how} reply counts what completions count and no more`, async (t) => {
      const since = warmfork.since()
      const { reply } = await forked(t, replies['thinking and text']!, options)
      const { prompt } = JSON.parse(since.generations().at(-1)!.body.toString('utf8'))
      const told = (key: string): unknown[] => [...reply.text.matchAll(new RegExp(`"${key}":(\\d+|null)`, 'g'))].map(([, value]) => JSON.parse(value!))
      for (const key of ['reasoning_tokens', 'created_cache_tokens', 'cache_write_tokens', 'cache_creation_input_tokens']) t.strictSame(told(key).filter((value) => value !== null), [], key)
      const [start] = reply.parts
      if (start.type === 'message_start') t.strictSame(start.message.usage, { input_tokens: prompt.length, output_tokens: 0 })
      if (spoken.endpoint.name === 'responses') t.equal(reply.parts.at(-1).response?.tool_choice ?? start.tool_choice, 'none')
    })
  }

  for (const [what, { reply: scripted, code, options = {} }] of Object.entries(failing)) {
    if (Object.keys(options).some((member) => spoken.lacks.includes(member))) continue
    t.test(`${what} is no summary`, async (t) => {
      const { reply: whole } = await forked(t, scripted, options)
      t.equal(whole.status, 422)
      t.strictSame(whole.parts[0], spoken.error(code, verdicts[code]))
      t.equal(whole.header('x-should-retry'), 'false')
      const { reply: stream } = await forked(t, scripted, { ...streamed, ...options })
      if (stream.status === 200) {
        t.strictSame(stream.parts.at(-1), spoken.errorEvent(code, verdicts[code], stream.parts.slice(0, -1)))
        t.equal(stream.finish, null)
        t.notOk(stream.done)
      } else {
        t.strictSame(stream.parts[0], spoken.error(code, verdicts[code]))
      }
      t.match(await warmfork.outcome(stream), { valid: false, invalid_reason: code })
    })
  }

  for (const status of [400, 404, 413, 422, 503]) {
    t.test(`completions that answer ${status} leave it to the agent's own request, once`, async (t) => {
      const refusing = await startWarmfork(t, { spoken, engine: { reasoningParser: true } })
      for (const options of [{}, streamed]) {
        const session = loop()
        await refusing.main(session)
        const since = refusing.since()
        refusing.script.reply = whenForked({ refuse: { status, body: { error: { message: 'no' } } } }, { content: 'Done.' })
        const reply = await refusing.chat({ ...session.summary, ...options })
        refusing.script.reply = undefined
        t.equal(reply.status, 200)
        t.match(reply.warmfork, { decision: 'passed', 'fallback-reason': 'fork_rejected', eligible: 'true', 'fork-sent': 'true' })
        const [fork, own, ...more] = since.generations()
        t.equal(fork!.target, '/v1/completions')
        t.equal(own!.target, spoken.endpoint.path)
        t.ok(own!.body.equals(refusing.write({ ...session.summary, ...options })))
        t.strictSame(more, [])
      }
    })
  }

  t.test('a 500 of completions is the client\'s to see', async (t) => {
    for (const options of [{}, streamed]) {
      const { reply } = await forked(t, { fail: { kind: 'error', at: 'before_headers' } }, options)
      t.equal(reply.status, 500)
      t.ok(reply.error)
    }
    const { reply } = await forked(t, { reasoning: 'I look.', content: 'Done and more than that.', fail: { kind: 'error', at: 9 } }, streamed)
    t.strictSame(reply.parts.at(-1), spoken.errorEvent('summary_engine_error', verdicts.summary_engine_error, reply.parts.slice(0, -1)))
    t.notOk(reply.done)
  })

  t.test('no rung changes a main request', async (t) => {
    const session = loop()
    const since = warmfork.since()
    const reply = await warmfork.main(session)
    t.ok(since.generations()[0]!.body.equals(warmfork.write(session.main)))
    t.equal(sameForAll(reply), sameForAll(await warmfork.engineAlone(session.main)))
    t.strictSame(reply.warmfork, {})
  })
})
