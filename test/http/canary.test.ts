// Properties over HTTP: what a client puts in shows nowhere but at the engine, and equal input gives equal forks.

import fc from 'fast-check'
import t from 'tap'
import { overEndpoints } from '../helpers/endpoints/all.ts'
import { type ChatBody, type ChatReply, instructionMarker, isFork, opencodeSession, startWarmfork, streamed, whenForked, type Warmfork } from '../helpers/warmfork.ts'

overEndpoints(t, async (t, spoken) => {
  const warmfork = await startWarmfork(t, { spoken, config: { summary: { by_id: 'on' }, tenant: { headers: ['x-team'] } } })

  /** A session with a canary in every place that a client can put one. */
  function withCanary(canary: string) {
    const session = opencodeSession({ groups: 5 })
    const mark = (text: string | null): string | null => text && `${text} ${canary}`
    const messages = session.main.messages.map((message) => ({
      ...message, content: mark(message.content), name: canary,
      ...(message.tool_calls && { tool_calls: message.tool_calls.map((call) => ({ ...call, id: `${call.id}-${canary}`, function: { ...call.function, arguments: JSON.stringify({ path: canary }) } })) }),
      ...(message.tool_call_id && { tool_call_id: `${message.tool_call_id}-${canary}` }),
    }))
    const tools = session.main.tools!.map((tool) => ({ ...tool, function: { ...tool.function, name: `${tool.function.name}_${canary}`, description: canary } }))
    const members = { user: canary, metadata: { session_id: canary, conversation_id: canary, [canary]: canary }, prompt_cache_key: canary, stop: [`${canary}!`] }
    return {
      main: { ...session.main, ...members, messages, tools },
      summary: { ...session.summary, ...members, messages: [session.summary.messages[0]!, ...messages.slice(1), { role: 'user' as const, content: `${session.summary.messages.at(-1)!.content} ${canary}` }] },
      headers: ['authorization', `Bearer ${canary}`, 'x-api-key', canary, 'api-key', canary, 'x-team', canary, 'cookie', canary, 'x-session-id', canary,
        'x-warmfork-conversation', canary, 'x-request-id', canary, 'user-agent', canary, `x-${canary}`, '1', 'x-forwarded-for', canary],
      target: `${spoken.endpoint.path}?key=${canary}`,
    }
  }

  /** The event by which warmfork ends a stream that failed. */
  function lastOfOurs({ parts }: ChatReply): string {
    const last = JSON.stringify(parts.at(-1) ?? null)
    return last.includes('summary_') ? last : ''
  }

  /** Everything that warmfork itself says to anyone but the engine and the client's own reply. */
  async function said(running: Warmfork, replies: readonly ChatReply[]): Promise<string> {
    const page = async (path: string): Promise<string> => (await fetch(`${running.app.adminUrl}${path}`)).text()
    const ours = replies.map((reply) => JSON.stringify(reply.warmfork) + (reply.header('x-warmfork-error') ? reply.text : '') + lastOfOurs(reply))
    return [JSON.stringify(running.logged), await page('/metrics'), await page('/receipts'), ...ours].join('\n')
  }

  t.test('[case 27] a canary in every place that a client can put one shows nowhere, whatever happens', async (t) => {
    await fc.assert(fc.asyncProperty(fc.stringMatching(/^q[a-z]{10}z$/), fc.boolean(), async (canary, stream) => {
      const { main, summary, headers, target } = withCanary(canary)
      const options = stream ? streamed : {}
      const replies: ChatReply[] = []
      const ask = async (body: object | string, more: readonly string[] = []): Promise<ChatReply> => {
        const reply = await warmfork.chat(body, { headers: [...headers, ...more], target })
        replies.push(reply)
        return reply
      }
      await ask(main)
      const forked = await ask({ ...summary, ...options })
      if (forked.warmfork['decision'] !== 'forked') throw new Error(JSON.stringify(forked.warmfork))
      await ask({ ...summary, model: canary })
      await ask({ ...summary, [canary]: canary })
      await ask(`{"${canary}": ${canary}`, ['x-warmfork-request', 'summary'])
      await ask(summary, ['x-warmfork-request', canary])
      await ask({ model: main.model, messages: [] }, ['x-warmfork-request', 'conversation-summary'])
      warmfork.script.reply = whenForked({ refuse: { status: 400, body: { error: { message: `bad input: ${canary}` } } } })
      await ask(summary)
      warmfork.script.reply = whenForked({ refuse: { status: 500, body: canary } })
      await ask(summary)
      await ask(main)
      warmfork.script.reply = whenForked({ text: `<tool_call>\n{"name": "read_file_${canary}", "arguments": {"path": "${canary}"}}\n</tool_call>`, finish: 'stop' })
      const failed = await ask({ ...summary, ...options })
      warmfork.script.reply = whenForked({ content: `${canary} ${canary}`, finish: 'length' })
      await ask(main)
      await ask({ ...summary, ...options })
      warmfork.script.reply = whenForked({ content: canary, fail: { kind: 'error', at: 2, message: canary } })
      await ask(main)
      await ask({ ...summary, ...options })
      warmfork.script.reply = undefined
      if (!failed.text.includes('summary_tool_markup')) throw new Error(failed.text + JSON.stringify(failed.warmfork))
      warmfork.script.fault = ({ path }) => path === '/tokenize' || path === '/version' ? { kind: 'answer', status: 400, body: canary } : undefined
      await ask(main)
      await ask(summary)
      warmfork.script.fault = undefined
      const text = await said(warmfork, replies)
      const at = text.indexOf(canary)
      t.equal(at, -1, text.slice(Math.max(0, at - 200), at + 200))
    }), { numRuns: 3 })
    t.ok(warmfork.logged.length > 20)
    t.notOk(JSON.stringify(warmfork.logged).includes(instructionMarker))
  })

  t.test('[case 52] the same evidence and the same summary give the same fork bytes, in this process and in another', async (t) => {
    const other = await startWarmfork(t, { spoken })
    await fc.assert(fc.asyncProperty(
      fc.record({ temperature: fc.double({ min: 0, max: 2, noNaN: true }), seed: fc.maxSafeNat(), stop: fc.array(fc.string({ minLength: 1, maxLength: 5 }), { maxLength: 2 }), stream: fc.boolean() }),
      fc.string({ maxLength: 40, unit: 'grapheme' }), async (options, text) => {
        const session = opencodeSession({ groups: 5 })
        const summary = { ...session.summary, ...options, messages: session.summary.messages.with(-2, { role: 'user', content: text }) }
        const bodies: Buffer[] = []
        for (const running of [warmfork, warmfork, other]) {
          await running.main(session)
          const since = running.since()
          await running.chat(summary)
          bodies.push(since.generations()[0]!.body)
        }
        return isFork(bodies[0]!) && bodies.every((body) => body.equals(bodies[0]!))
      }), { numRuns: 12 })
  })

  t.test('the shared region of every fork is the bytes of the recorded request', async () => {
    const json = fc.jsonValue({ maxDepth: 3 })
    await fc.assert(fc.asyncProperty(json, fc.string({ maxLength: 30, unit: 'grapheme' }), fc.constantFrom(undefined, 1, '\t'), async (schema, text, space) => {
      const session = opencodeSession({ groups: 5 })
      const tools = [{ type: 'function' as const, function: { name: 'f', description: text, parameters: { type: 'object', x: schema } } }]
      const own = { role: 'user' as const, content: `Text: ${text}` }
      // As no client of ours writes it: the same values, with other white space.
      const written = (body: ChatBody): Buffer => Buffer.from(JSON.stringify(spoken.write(body), null, space))
      const main = written({ ...session.main, tools, messages: [...session.main.messages, own] })
      const [first, ...turns] = session.summary.messages
      const summary = written({ ...session.summary, messages: [first!, ...turns.slice(0, session.main.messages.length - 1), own, turns.at(-1)!] })
      if ((await warmfork.chat(main)).status !== 200) throw new Error('the main request failed')
      const since = warmfork.since()
      const reply = await warmfork.chat(summary)
      const sent = since.generations()[0]!.body
      const { items, members } = spoken.endpoint.read(main)!
      const region = main.subarray(items[0]!.start, items.at(-1)!.end)
      const { value } = members.find(({ key }) => key === 'tools')!
      return reply.warmfork['decision'] === 'forked' && sent.includes(region) && sent.includes(main.subarray(value.start, value.end))
    }), { numRuns: 12 })
  })
})
