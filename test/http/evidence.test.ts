// What becomes evidence (R1), for whom it is found (R14), and how conversations are told apart.

import t from 'tap'
import { eventData, isFork, opencodeSession, type Session, startWarmfork, streamed, type Warmfork } from '../helpers/warmfork.ts'
import { overEndpoints } from '../helpers/endpoints/all.ts'
import { sleep } from '../helpers/http.ts'
import { type ReplyTap, startReplyTap } from '../helpers/reply-tap.ts'

overEndpoints(t, async (t, spoken) => {
  const warmfork = await startWarmfork(t, { spoken })
  const forms = [['not streamed', {}], ['streamed', streamed]] as const

  async function decisionOn(summary: object, headers: readonly string[] = []): Promise<string> {
    const reply = await warmfork.chat(summary, { headers })
    return reply.warmfork['fallback-reason'] ?? reply.warmfork['decision']!
  }

  const noEvidence: Record<string, Warmfork['script']['reply']> = {
    'is refused': () => ({ refuse: { status: 400 } }),
    'fails with 500': () => ({ refuse: { status: 500 } }),
    'ends at its limit': () => ({ finish: 'length' }),
    'is aborted': () => ({ finish: 'abort' }),
    'breaks in the middle': () => ({ fail: { kind: 'reset', at: 3 } }),
    'ends with an error': () => ({ fail: { kind: 'error', at: 3 } }),
    'breaks before its head': () => ({ fail: { kind: 'reset', at: 'before_headers' } }),
  }

  for (const [form, options] of forms) {
    for (const [what, reply] of Object.entries(noEvidence)) {
      if (what === 'is aborted' && spoken.lacks.includes('an aborted finish')) continue
      t.test(`a main request whose reply ${what} is no evidence, ${form}`, async (t) => {
        const session = opencodeSession()
        warmfork.script.reply = reply
        await warmfork.chat({ ...session.main, ...options })
        warmfork.script.reply = undefined
        t.equal(await decisionOn(session.summary), 'no_warm_evidence')
      })
    }

    if (!spoken.lacks.includes('n')) t.test(`a main request with several choices is no evidence, ${form}`, async (t) => {
      const session = opencodeSession()
      t.equal((await warmfork.chat({ ...session.main, n: 2, ...options })).status, 200)
      t.equal(await decisionOn(session.summary), 'no_warm_evidence')
    })

    t.test(`a main request that ends with a tool call is evidence, ${form}`, async (t) => {
      const session = opencodeSession()
      warmfork.script.reply = () => ({ toolCalls: [{ name: 'read_file', arguments: { path: 'a' } }] })
      t.equal((await warmfork.chat({ ...session.main, ...options })).finish, 'tool_calls')
      warmfork.script.reply = undefined
      t.equal(await decisionOn(session.summary), 'forked')
    })
  }

  t.test('a stream that ends cleanly without its finish is no evidence', async (t) => {
    const session = opencodeSession()
    warmfork.script.reply = () => ({ fail: { kind: 'cut', at: 3 } })
    t.ok((await warmfork.chat({ ...session.main, stream: true })).whole)
    warmfork.script.reply = undefined
    t.equal(await decisionOn(session.summary), 'no_warm_evidence')
  })

  t.test('[case 9] a reply that breaks behind its finish is no evidence', async (t) => {
    let tap!: ReplyTap
    const torn = await startWarmfork(t, {
      spoken,
      between: async (url) => {
        tap = await startReplyTap(t, url)
        return tap.url
      },
    })
    const { whole, events } = spoken.canned(['ok'])
    for (const breaks of [true, false]) {
      for (const [headers, body] of [[{ 'content-type': 'application/json' }, whole], [{ 'content-type': 'text/event-stream' }, events.join('')]] as const) {
        const session = opencodeSession()
        tap.answer = ({ url }, sent, response) => {
          if (url !== spoken.endpoint.path || isFork(sent) || !sent.includes('Session s')) return false
          response.writeHead(200, headers)
          response.write(body, () => breaks ? response.destroy() : response.end())
          return true
        }
        t.equal((await torn.chat(session.main)).whole, !breaks)
        tap.answer = undefined
        t.equal((await torn.chat(session.summary)).warmfork['decision'], breaks ? 'passed' : 'forked')
      }
    }
  })

  t.test('a client that leaves in the middle leaves no evidence', async (t) => {
    const session = opencodeSession()
    warmfork.script.reply = () => ({ fail: { kind: 'hang', at: 3 } })
    const { response } = await warmfork.begin({ ...session.main, stream: true })
    await new Promise((resolve) => response.once('data', resolve))
    response.destroy()
    while (warmfork.engine.running > 0) await sleep(5)
    warmfork.script.reply = undefined
    t.equal(await decisionOn(session.summary), 'no_warm_evidence')
  })

  t.test('a client that closes as soon as it has the end mark leaves evidence', async (t) => {
    const session = opencodeSession()
    const { response } = await warmfork.begin({ ...session.main, stream: true })
    let text = ''
    response.on('error', () => {})
    await new Promise<void>((resolve) => response.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      if (!text.endsWith('\n\n') || !spoken.read(eventData(text)).done) return
      response.destroy()
      resolve()
    }))
    await sleep(50)
    t.equal(await decisionOn(session.summary), 'forked')
  })

  t.test('[case 52] neither a fork nor a summary is evidence', async (t) => {
    const session = opencodeSession()
    await warmfork.chat(session.summary)
    t.equal(await decisionOn({ ...session.summary, messages: session.summary.messages.with(-1, { role: 'user', content: `${session.summary.messages.at(-1)!.content} Shorter.` }) }), 'no_warm_evidence')
  })

  t.test('the last main request of a line counts', async (t) => {
    const session = opencodeSession()
    await warmfork.main(session)
    const grown = [...session.main.messages, { role: 'assistant' as const, content: 'It is read.' }, { role: 'user' as const, content: 'Go on.' }]
    await warmfork.chat({ ...session.main, messages: grown })
    const summary = { ...session.summary, messages: [session.summary.messages[0]!, ...grown.slice(1), session.summary.messages.at(-1)!] }
    t.match(await warmfork.receipt(await warmfork.chat(summary)), { decision: 'forked', head_messages: grown.length })
  })

  t.test('a side request with the same id does not evict the main line', async (t) => {
    const session = opencodeSession()
    const headers = ['x-session-id', 'shared']
    await warmfork.main(session, { headers })
    await warmfork.chat({ model: session.main.model, messages: [{ role: 'system', content: 'Make a title.' }, session.main.messages[1]!] }, { headers })
    t.equal(await decisionOn(session.summary, headers), 'forked')
  })

  t.test('[case 55] a summary without the id of its conversation is found by content', async (t) => {
    const session = opencodeSession()
    await warmfork.main(session, { headers: ['x-session-id', 's'] })
    t.equal(await decisionOn(session.summary), 'forked')
  })

  t.test('[case 55] an id that no conversation has does not hide the one that the content names', async (t) => {
    const session = opencodeSession()
    await warmfork.main(session)
    t.equal(await decisionOn(session.summary, ['x-session-id', 'new-at-the-summary']), 'forked')
  })

  t.test('an id tells two conversations apart that hold the same turns', async (t) => {
    const session = opencodeSession()
    const [, ...turns] = session.main.messages
    const systems = ['You work on the left half.', 'You work on the right half.']
    for (const content of systems) {
      await warmfork.chat({ ...session.main, messages: [{ role: 'system', content }, ...turns] }, { headers: ['x-session-id', content.replaceAll(' ', '-')] })
    }
    t.equal(await decisionOn(session.summary), 'ambiguous_conversation')
    for (const content of systems) {
      const since = warmfork.since()
      t.equal(await decisionOn(session.summary, ['x-session-id', content.replaceAll(' ', '-')]), 'forked')
      t.equal(warmfork.asChat(since.generations()[0]!.body).messages[0]!.content, content)
    }
  })

  t.test('ids in the body name a conversation as headers do', async (t) => {
    const session = opencodeSession()
    const [, ...turns] = session.main.messages
    for (const half of ['left', 'right']) {
      await warmfork.chat({ ...session.main, messages: [{ role: 'system', content: half }, ...turns], metadata: { session_id: half } })
    }
    const since = warmfork.since()
    t.equal(await decisionOn({ ...session.summary, metadata: { session_id: 'left' } }), 'forked')
    t.equal(warmfork.asChat(since.generations()[0]!.body).messages[0]!.content, 'left')
  })

  t.test('two equal main requests are one conversation: they give the same fork', async (t) => {
    const session = opencodeSession()
    await warmfork.main(session, { headers: ['x-session-id', 'one'] })
    await warmfork.main(session, { headers: ['x-session-id', 'one'] })
    t.equal(await decisionOn(session.summary), 'forked')
  })

  t.test('evidence beyond evidence.max_bytes is not kept, and the oldest goes first', async (t) => {
    const [first, second, third] = [opencodeSession(), opencodeSession(), opencodeSession()]
    const small = await startWarmfork(t, { spoken, config: { evidence: { max_bytes: 2 * JSON.stringify(first.main).length + 15_000 } } })
    for (const session of [first, second, third]) await small.main(session)
    const found = async ({ summary }: Session): Promise<string> => (await small.chat(summary)).warmfork['decision']!
    t.equal(await found(third), 'forked')
    t.equal(await found(first), 'passed')
    const bytes = Number(/^warmfork_evidence_bytes (\d+)$/m.exec(await (await fetch(`${small.app.adminUrl}/metrics`)).text())![1])
    t.ok(bytes <= 2 * JSON.stringify(first.main).length + 15_000)
    const tiny = await startWarmfork(t, { spoken, config: { evidence: { max_bytes: 1_000 } } })
    await tiny.main(first)
    t.equal((await tiny.chat(first.summary)).warmfork['fallback-reason'], 'no_warm_evidence')
  })

  const owner = ['authorization', 'Bearer Key-Of-A']

  for (const [who, headers] of Object.entries({
    'with its own key': ['authorization', 'Bearer key-of-b'],
    'with no key': [],
    'with the key in another case': ['authorization', 'Bearer key-of-a'],
    'with the scheme in another case': ['authorization', 'bearer Key-Of-A'],
    'with one more credential': [...owner, 'x-api-key', 'another'],
    'with the key under another name': ['x-api-key', 'Bearer Key-Of-A'],
  })) {
    t.test(`[case 57] a tenant ${who} finds nothing under another's conversation id, and no sign that it exists`, async (t) => {
      const session: Session = opencodeSession()
      await warmfork.main(session, { headers: [...owner, 'x-conversation-id', 'of-a'] })
      const asked = async (id: string) => {
        const since = warmfork.since()
        const reply = await warmfork.chat(session.summary, { headers: [...headers, 'x-conversation-id', id] })
        return { reply, received: since.generations(), questions: since.questions().filter((question) => question !== 'GET /metrics') }
      }
      const [foreign, unknown] = [await asked('of-a'), await asked('of-nobody')]
      for (const { reply, received, questions } of [foreign, unknown]) {
        t.strictSame(reply.warmfork, { decision: 'passed', eligible: 'false', 'fork-sent': 'false', 'cache-hit-verified': 'false', 'fallback-reason': 'no_warm_evidence' })
        // The metrics are asked for in the background, after the main request.
        t.strictSame(questions, [], 'no time is spent that the other would not take')
        t.notOk(isFork(received[0]!.body))
      }
      const own = await warmfork.chat(session.summary, { headers: [...owner, 'x-conversation-id', 'of-a'] })
      t.equal(own.warmfork['decision'], 'forked')
    })
  }

  t.test("warmfork's own questions carry the tenant's credentials", async (t) => {
    const locked = await startWarmfork(t, { spoken, engine: { apiKey: 'the-key' } })
    const session = opencodeSession()
    const headers = ['authorization', 'Bearer the-key']
    await locked.main(session, { headers })
    t.equal((await locked.chat(session.summary, { headers })).warmfork['decision'], 'forked')
    const wrong = await locked.chat(session.summary, { headers: ['authorization', 'Bearer wrong'] })
    t.equal(wrong.status, 401)
    t.equal(wrong.warmfork['fallback-reason'], 'no_warm_evidence')
  })
})
