// What a summary covers of the recorded conversation, and what of it becomes the fork's head.

import t from 'tap'
import { overEndpoints } from '../helpers/endpoints/all.ts'
import { confirmedOn } from '../helpers/endpoints/spoken.ts'
import { type ChatBody, isFork, opencodeSession, type Session, startWarmfork } from '../helpers/warmfork.ts'

overEndpoints(t, async (t, spoken) => {
  const warmfork = await startWarmfork(t, { spoken })

  /** Sends a session and its summary. @returns the body that the engine got, and what was said about it */
  async function forkOf(session: Session, summary: ChatBody) {
    await warmfork.main(session)
    const since = warmfork.since()
    const reply = await warmfork.chat(summary)
    const [sent, ...more] = since.generations()
    return { reply, sent: sent!.body, more, json: warmfork.asChat(sent!.body), receipt: await warmfork.receipt(reply), outcome: await warmfork.outcome(reply) }
  }

  /** The JSON of a request's messages from one to another, as they stand in its bytes. */
  function messageBytes({ messages }: ChatBody, from: number, to?: number): string {
    return messages.slice(from, to).map((message) => JSON.stringify(message)).join(',')
  }

  t.test('a changed later message shortens the head to before it, and the rest follows as the client sent it', async (t) => {
    const session = opencodeSession({ groups: 8 })
    const { main, summary } = session
    // The 10th message is the answer of the fourth call.
    const messages = summary.messages.with(9, { ...summary.messages[9]!, content: 'The output was pruned.' })
    const { reply, json, receipt, outcome } = await forkOf(session, { ...summary, messages })
    t.equal(reply.warmfork['decision'], 'forked')
    // The head ends at a complete tool group: in front of the call whose answer changed.
    t.match(receipt, { head_messages: 8, placement: 'user', decision: 'forked' })
    t.strictSame(json.messages.slice(0, main.messages.length), [...main.messages.slice(0, 8), ...messages.slice(8, 10), ...main.messages.slice(10)])
    t.ok(receipt['head_tokens'] <= receipt['common_prefix_tokens'], 'proven')
    t.ok(receipt['common_prefix_tokens'] < receipt['fork_tokens'] / 2 + 300)
    t.match(outcome, { valid: true, prompt_ids_confirmed: confirmedOn(spoken) })
    t.ok(outcome['engine_cached_tokens'] >= receipt['reusable_tokens'])
  })

  for (const [what, changed] of [['white space at its start', '\n\n  pruned'], ['the probe text', 'Quick look. Or not.'], ['no text', '']] as const) {
    t.test(`a shortened head is proven where the changed message begins with ${what}`, async (t) => {
      const session = opencodeSession({ groups: 8 })
      const messages = session.summary.messages.with(12, { role: 'user', content: changed })
      const main = { ...session.main, messages: session.main.messages.with(12, { role: 'user', content: 'As it was.' }) }
      const summary = { ...session.summary, messages: messages.filter((_, i) => i !== 13) }
      const { reply, receipt, outcome } = await forkOf({ main: { ...main, messages: main.messages.filter((_, i) => i !== 13) }, summary }, summary)
      t.equal(reply.warmfork['decision'], 'forked')
      t.match(receipt, { head_messages: 12 })
      t.ok(receipt['head_tokens'] <= receipt['common_prefix_tokens'])
      t.match(outcome, { prompt_ids_confirmed: confirmedOn(spoken), valid: true })
    })
  }

  t.test('a summary of the older half alone is forked from that half', async (t) => {
    const session = opencodeSession({ groups: 8 })
    const { messages } = session.summary
    const summary = { ...session.summary, messages: [...messages.slice(0, 10), ...messages.slice(-2)] }
    const { reply, json, receipt } = await forkOf(session, summary)
    t.equal(reply.warmfork['decision'], 'forked')
    t.match(receipt, { head_messages: 10 })
    t.strictSame(json.messages.slice(0, 10), session.main.messages.slice(0, 10))
    t.equal(json.messages.length, 12, 'nothing that the summary does not ask for is in the fork')
  })

  t.test('[case 53] messages since the main request follow the head in their order, tool groups whole', async (t) => {
    const session = opencodeSession()
    const more = [
      { role: 'assistant' as const, content: 'One more look.', tool_calls: [{ id: 'late', type: 'function' as const, function: { name: 'read_file', arguments: '{"path":"a"}' } }] },
      { role: 'tool' as const, tool_call_id: 'late', content: 'Here it is.' },
    ]
    const { messages } = session.summary
    const summary = { ...session.summary, messages: [...messages.slice(0, -3), ...more, ...messages.slice(-2)] }
    const { reply, json } = await forkOf(session, summary)
    t.equal(reply.warmfork['decision'], 'forked')
    t.strictSame(json.messages.slice(0, -1), [...session.main.messages, ...more, messages.at(-2)])
  })

  t.test('[case 53] a call without its answer behind the head leaves the summary as it came', async (t) => {
    const session = opencodeSession()
    const call = { role: 'assistant' as const, content: null, tool_calls: [{ id: 'late', type: 'function' as const, function: { name: 'read_file', arguments: '{"path":"a"}' } }] }
    const { messages } = session.summary
    const { reply, sent } = await forkOf(session, { ...session.summary, messages: [...messages.slice(0, -3), call, ...messages.slice(-2)] })
    t.equal(reply.warmfork['fallback-reason'], 'incomplete_tool_group')
    t.notOk(isFork(sent))
  })

  t.test('[case 46] an opencode summary is one instruction behind the main request', async (t) => {
    const session = opencodeSession()
    const { json, outcome, receipt } = await forkOf(session, session.summary)
    const { messages, ...options } = session.main
    t.strictSame(json.messages.slice(0, messages.length), messages)
    t.strictSame(json.tools, options.tools)
    t.equal(json['tool_choice'], 'none')
    t.equal(json['max_tokens'], 1000, "the agent's own limit")
    const directive = json.messages.at(-1)!
    t.equal(directive.role, 'user')
    for (const message of [session.summary.messages[0]!, session.summary.messages.at(-1)!]) t.ok(directive.content!.includes(message.content!))
    t.ok(outcome['engine_cached_tokens'] >= receipt['common_prefix_tokens'] - 16, 'a hit of all but one block')
    t.equal(messages.length + 3, json.messages.length, 'the reply, the question, the directive')
  })

  t.test('[case 52] three summaries in a row fork from the same main request with the same bytes', async (t) => {
    const session = opencodeSession()
    await warmfork.main(session)
    const since = warmfork.since()
    for (let i = 0; i < 3; i++) {
      const reply = await warmfork.chat(session.summary)
      t.equal(reply.warmfork['decision'], 'forked')
      t.match(await warmfork.receipt(reply), { head_messages: session.main.messages.length })
    }
    const [first, ...others] = since.generations().map(({ body }) => body)
    for (const other of others) t.ok(other.equals(first!))
  })

  // What follows is about how chat writes messages; other endpoints have tests of their own.
  const isChat = spoken.endpoint.name === 'chat'
  const strange = String.raw`{"type":"object","properties":{"10":{"type":"number","default":1.0},"2":{"maximum":9007199254740993},"__proto__":{"const":1E+2},"1":{"minimum":-0.0,"enum":[0.1000,"\u00e9","é","\/"]}}}`

  if (isChat) t.test('[case 32] [case 33] numbers, key order and escapes of the main request are the same bytes in the fork', async (t) => {
    const session = opencodeSession()
    const tool = `{"type":"function","function":{"name":"strange","description":"\\u0041 \\/","parameters":${strange}}}`
    const call = String.raw`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"strange","arguments":"{\"n\": 9007199254740993, \"x\": 1.0}"}}]}`
    const answer = '{ "role" : "tool",\n"tool_call_id":"c1", "content":"1.0 and \\u00e9" }'
    const lead = messageBytes(session.main, 0)
    const main = `{"seed": 9007199254740993, "temperature":1.0,\n "messages" : [ ${lead} ,${call}, ${answer} ] , "model":${JSON.stringify(session.main.model)},"tools":[ ${tool} ]}`
    t.equal((await warmfork.chat(main)).status, 200)
    const { messages, ...options } = session.summary
    const own = messages.map((message) => JSON.stringify(message))
    const summary = `${JSON.stringify({ ...options, top_p: 1 }).slice(0, -1)},"temperature":0.50,"messages":[${[...own.slice(0, -3), call, answer, ...own.slice(-2)].join(',')}]}`
    const since = warmfork.since()
    const reply = await warmfork.chat(summary)
    t.equal(reply.warmfork['decision'], 'forked')
    const sent = String(since.generations()[0]!.body)
    t.ok(sent.includes(`${lead} ,${call}, ${answer}`), 'the head is one piece of the recorded bytes')
    t.ok(sent.includes(`"tools":[ ${tool} ]`))
    t.ok(sent.includes('"temperature":0.50'), 'the answer is shaped by the summary')
    t.notOk(sent.includes('"seed"'), "the main request's seed is not inherited")
  })

  if (isChat) t.test('[case 34] unknown message fields stay in the head', async (t) => {
    const session = opencodeSession()
    const messages = session.main.messages.with(1, { ...session.main.messages[1]!, name: 'ann', weight: 0 } as never)
    const { reply, json } = await forkOf({ ...session, main: { ...session.main, messages } }, { ...session.summary, messages: session.summary.messages.with(1, messages[1]!) })
    t.equal(reply.warmfork['decision'], 'forked')
    t.strictSame(json.messages[1], messages[1])
  })

  if (isChat) for (const [what, content] of [['null', { content: null }], ['missing', {}], ['empty', { content: '' }]] as const) {
    t.test(`[case 37] content that is ${what} beside tool calls stays so`, async (t) => {
      const session = opencodeSession()
      const { content: _was, ...call } = session.main.messages[2]!
      const message = { ...call, ...content } as never
      const { reply, sent } = await forkOf(
        { ...session, main: { ...session.main, messages: session.main.messages.with(2, message) } },
        { ...session.summary, messages: session.summary.messages.with(2, message) })
      t.equal(reply.warmfork['decision'], 'forked')
      t.ok(sent.includes(JSON.stringify(message)))
    })
  }

  for (const options of [{ cache_salt: 'salt-1' }, { chat_template_kwargs: { enable_thinking: false } }, { reasoning_effort: 'low' }, { mm_processor_kwargs: {} }]) {
    if (Object.keys(options).some((member) => spoken.lacks.includes(member))) continue
    t.test(`[case 34] [case 58] a summary without ${Object.keys(options)} inherits it, and one with the same is forked`, async (t) => {
      for (const own of [{}, options]) {
        const session = opencodeSession()
        const { reply, json, outcome } = await forkOf({ ...session, main: { ...session.main, ...options } }, { ...session.summary, ...own })
        t.equal(reply.warmfork['decision'], 'forked')
        t.match(json, options)
        t.match(outcome, { prompt_ids_confirmed: confirmedOn(spoken) })
        t.ok(outcome['engine_cached_tokens'] > 1_000)
      }
    })
  }
})
