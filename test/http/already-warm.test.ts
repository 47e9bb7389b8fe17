// A summary request that extends the recorded one is passed as it is, with the prefix that was measured (R12).

import t from 'tap'
import { overEndpoints } from '../helpers/endpoints/all.ts'
import { isFork, opencodeSession, sameForAll, type Session, startWarmfork, streamed } from '../helpers/warmfork.ts'

overEndpoints(t, async (t, spoken) => {
  const warmfork = await startWarmfork(t, { spoken })
  const forms = [['not streamed', {}], ['streamed', streamed]] as const

  /** Continue's CLI: the conversation as it was, and one message behind it. */
  const question = { role: 'user' as const, content: 'Please provide a concise summary of our conversation so far, as it was prior to compaction.' }

  function warmSummary({ main }: Session): Session['main'] {
    return { ...main, messages: [...main.messages, { role: 'assistant', content: 'It is read.' }, question], max_tokens: 500 }
  }

  for (const [form, options] of forms) {
    t.test(`[case 47] a recognised summary that extends the conversation is passed byte for byte, with the prefix that it shares, ${form}`, async (t) => {
      const session = opencodeSession()
      await warmfork.main(session)
      const body = warmfork.write({ ...warmSummary(session), ...options })
      const since = warmfork.since()
      const reply = await warmfork.chat(body)
      const receipt = await warmfork.receipt(reply)
      t.equal(since.generations().length, 1)
      t.ok(since.generations()[0]!.body.equals(body))
      const measured = receipt['common_prefix_tokens']
      t.strictSame(reply.warmfork, { decision: 'already_warm', eligible: 'false', 'fork-sent': 'false', 'common-prefix-tokens': String(measured), 'cache-hit-verified': 'false' })
      t.match(receipt, { decision: 'already_warm', agent: 'continue', fallback_reason: null, placement: null, head_messages: session.main.messages.length })
      const outcome = await warmfork.outcome(reply)
      t.match(outcome, { decision: 'already_warm', valid: true, prompt_ids_confirmed: null })
      t.ok(measured > 2_000)
      t.ok(outcome['engine_cached_tokens'] >= receipt['reusable_tokens'], 'it was warm')
      t.equal(sameForAll(reply), sameForAll(await warmfork.engineAlone(body)))
      t.strictSame(since.warnings(), [])
    })

    t.test(`[case 47] a request that says itself that it is a summary is passed alike, ${form}`, async (t) => {
      const session = opencodeSession()
      await warmfork.main(session)
      const body = { ...session.main, messages: [...session.main.messages, { role: 'user', content: 'Sum it up.' }], ...options }
      const reply = await warmfork.chat(body, { headers: ['x-warmfork-request', 'summary'] })
      t.equal(reply.warmfork['decision'], 'already_warm')
    })

    t.test(`one that looks warm and whose reasoning the template drops is no warm one, ${form}`, async (t) => {
      const session = opencodeSession({ reasoning: 'reasoning' })
      await warmfork.main(session)
      const body = { ...session.main, messages: [...session.main.messages, question], max_tokens: 500, ...options }
      const since = warmfork.since()
      const reply = await warmfork.chat(body)
      const receipt = await warmfork.receipt(reply)
      t.equal(reply.warmfork['decision'], 'forked', 'token ids extend it all the same')
      t.match(receipt, { placement: 'tokens' })
      t.equal(since.generations()[0]!.target, '/v1/completions')
      const outcome = await warmfork.outcome(reply)
      t.match(outcome, { valid: true, prompt_ids_confirmed: null })
      t.ok(outcome['engine_cached_tokens'] >= receipt['reusable_tokens'])
      t.equal(reply.content, 'Done so far: parser read, lexer fixed. Next: run all tests.')
    })

    if (!spoken.lacks.includes('logprobs')) t.test(`one whose reasoning the template drops diverges where token ids cannot serve it, ${form}`, async (t) => {
      const session = opencodeSession({ reasoning: 'reasoning' })
      await warmfork.main(session)
      const body = warmfork.write({ ...session.main, messages: [...session.main.messages, question], max_tokens: 500, logprobs: true, ...options })
      const since = warmfork.since()
      const reply = await warmfork.chat(body)
      t.match(reply.warmfork, { decision: 'passed', 'fallback-reason': 'prefix_diverges' })
      const receipt = await warmfork.receipt(reply)
      t.ok(receipt['common_prefix_tokens'] > 0 && receipt['common_prefix_tokens'] < receipt['head_tokens'], 'measured')
      t.ok(since.generations()[0]!.body.equals(body))
    })
  }

  t.test('[case 51] a warm summary that was cut passes as it is, and the outcome says that it is none', async (t) => {
    const session = opencodeSession()
    await warmfork.main(session)
    const reply = await warmfork.chat({ ...warmSummary(session), max_tokens: 3 })
    t.equal(reply.status, 200)
    t.equal(reply.finish, 'length')
    t.match(await warmfork.outcome(reply), { valid: false, invalid_reason: 'summary_truncated' })
  })

  t.test('a warm summary that calls a tool passes as it is, and the outcome says that it is none', async (t) => {
    const session = opencodeSession()
    await warmfork.main(session)
    warmfork.script.reply = () => ({ toolCalls: [{ name: 'read_file', arguments: { path: 'a' } }] })
    const reply = await warmfork.chat(warmSummary(session))
    warmfork.script.reply = undefined
    t.equal(reply.finish, 'tool_calls')
    t.match(await warmfork.outcome(reply), { valid: false, invalid_reason: 'summary_tool_call' })
  })

  t.test("a summary that lacks the closing tag of its agent's data file is none", async (t) => {
    const session = opencodeSession()
    await warmfork.main(session)
    const summary = { ...session.main, messages: [...session.main.messages, { role: 'user', content: 'You are the component that summarizes it. Now produce the <state_snapshot> XML.' }] }
    for (const [content, valid] of [['<state_snapshot>all</state_snapshot>', true], ['<state_snapshot>half', false]] as const) {
      warmfork.script.reply = () => ({ content })
      const reply = await warmfork.chat(summary)
      t.equal(reply.warmfork['decision'], 'already_warm')
      t.equal(reply.content, content)
      t.match(await warmfork.outcome(reply), { valid, invalid_reason: valid ? null : 'summary_incomplete' })
    }
    warmfork.script.reply = undefined
  })

  t.test('an unrecognised request that extends the conversation is the next main request', async (t) => {
    const session = opencodeSession()
    await warmfork.main(session)
    const reply = await warmfork.chat({ ...session.main, messages: [...session.main.messages, { role: 'user', content: 'Go on.' }] })
    t.strictSame(reply.warmfork, {})
  })

  t.test('a summary never is evidence, warm or not', async (t) => {
    const session = opencodeSession()
    await warmfork.main(session)
    await warmfork.chat(warmSummary(session))
    const reply = await warmfork.chat(session.summary)
    t.match(await warmfork.receipt(reply), { decision: 'forked', head_messages: session.main.messages.length })
    t.ok(isFork(warmfork.engine.requests.at(-1)!.body))
  })
})
