// An agent whose instruction a user may type too: beside what is recorded its system text must be another.

import t from 'tap'
import { overEndpoints } from '../helpers/endpoints/all.ts'
import { isFork, opencodeSession, type Session, startWarmfork } from '../helpers/warmfork.ts'

const typed = { role: 'user' as const, content: 'Please summarize this conversation in one line for the commit message, then go on and fix the lexer.' }
const said = { role: 'assistant' as const, content: 'All of it is read.' }

overEndpoints(t, async (t, spoken) => {
  const warmfork = await startWarmfork(t, { spoken, engine: { ...spoken.engine, reasoningParser: true } })

  for (const [what, tools] of [['one tool', 1], ['an empty list of tools', 0]] as const) {
    // vLLM refuses an empty list of tools in a chat.
    if (tools === 0 && spoken.endpoint.name === 'chat') continue
    for (const reasoning of [undefined, 'reasoning'] as const) {
      t.test(`a user's turn in such words, in a conversation with ${what}${reasoning ? ' and echoed reasoning' : ''}, is a main request`, async (t) => {
        const session = sessionWith(tools, reasoning)
        await warmfork.main(session)
        const since = warmfork.since()
        const turn = { ...session.main, messages: [...session.main.messages, said, typed] }
        const reply = await warmfork.chat(turn)
        t.strictSame(reply.warmfork, {}, 'no receipt')
        t.notOk(since.generations().some(({ body }) => isFork(body)))
        const next = await warmfork.chat({ ...turn, messages: [...turn.messages, { role: 'assistant', content: 'Done.' }, { role: 'user', content: 'Summarize it.' }] }, { headers: ['x-warmfork-request', 'summary'] })
        t.equal((await warmfork.receipt(next)).head_messages, turn.messages.length, 'and recorded')
      })
    }
  }

  t.test('under a system text of its own it is the summary of that agent', async (t) => {
    const session = sessionWith(1)
    await warmfork.main(session)
    const tools = [{ type: 'function' as const, function: { name: 'noop', description: 'Does nothing.', parameters: { type: 'object', properties: {} } } }]
    const reply = await warmfork.chat({ ...session.main, messages: [{ role: 'system', content: 'You condense.' }, ...session.main.messages.slice(1), said, typed], tools })
    t.match(await warmfork.receipt(reply), { agent: 'strands', decision: 'forked' })
  })
})

function sessionWith(tools: number, reasoning?: 'reasoning'): Session {
  const session = opencodeSession({ groups: 8, outputTokens: 400, finished: true, ...(reasoning && { reasoning }) })
  return { ...session, main: { ...session.main, tools: session.main.tools!.slice(0, tools) } }
}
