// An engine may hide tools from a prompt where none may be called (--exclude-tools-when-tool-choice-none); /tokenize
// shows them all the same, so its ids say nothing about such a request.

import t from 'tap'
import { opencodeSession, startWarmfork, streamed } from '../helpers/warmfork.ts'

const explicit = { headers: ['x-warmfork-request', 'summary'] }

for (const [form, options] of [['not streamed', {}], ['streamed without usage', { stream: true }], ['streamed', streamed]] as const) {
  t.test(`a conversation whose tools the engine hides is not forked by ids that show them, ${form}`, async (t) => {
    const warmfork = await startWarmfork(t, { engine: { excludeToolsWhenToolChoiceNone: true } })
    const session = opencodeSession()
    await warmfork.chat({ ...session.main, tool_choice: 'none', ...options })
    const reply = await warmfork.chat(session.summary)
    t.match(reply.warmfork, { decision: 'passed', eligible: 'false', 'fork-sent': 'false', 'fallback-reason': 'unforkable_options' })
  })
}

t.test('by the render endpoint, which knows what chat hides, it is', async (t) => {
  const warmfork = await startWarmfork(t, { engine: { excludeToolsWhenToolChoiceNone: true, scaleOut: true, chatPrompt: (rendered) => `${rendered} ` } })
  const session = opencodeSession()
  await warmfork.chat({ ...session.main, tool_choice: 'none', stream: true })
  const reply = await warmfork.chat(session.summary)
  t.equal(reply.warmfork['decision'], 'forked')
  t.match(await warmfork.outcome(reply), { prompt_ids_confirmed: true })
})

t.test('a summary whose tools the engine hides is not warm as it came', async (t) => {
  const warmfork = await startWarmfork(t, { engine: { excludeToolsWhenToolChoiceNone: true } })
  const session = opencodeSession()
  await warmfork.main(session)
  const messages = [...session.main.messages, { role: 'user', content: 'Summarise our conversation.' }]
  const reply = await warmfork.chat({ ...session.main, messages, tool_choice: 'none', max_tokens: 500 }, explicit)
  t.equal(reply.warmfork['decision'], 'forked')
  t.ok((await warmfork.outcome(reply))['engine_cached_tokens'] > 1_000)
  const warm = await warmfork.chat({ ...session.main, messages, max_tokens: 500 }, explicit)
  t.equal(warm.warmfork['decision'], 'already_warm')
})
