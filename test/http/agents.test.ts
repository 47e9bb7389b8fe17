// [case 46] The summary requests of agents with a data file, as each sends them, through the whole of warmfork.

import t from 'tap'
import { opencodeSession, startWarmfork, type ChatBody, type Session } from '../helpers/warmfork.ts'

const warmfork = await startWarmfork(t)

interface Golden {
  readonly agent: string
  readonly summary: (session: Session) => ChatBody
  /** How many messages of the evidence the fork keeps; all by default. */
  readonly head?: number
}

const reply = { role: 'assistant' as const, content: 'All of it is read.' }
const without = ({ main: { tools: _tools, ...rest } }: Session): ChatBody => rest

const golden: readonly Golden[] = [
  { agent: 'opencode', summary: ({ summary }) => summary },
  {
    agent: 'crush',
    summary: (session) => ({
      ...without(session),
      messages: [
        { role: 'system', content: 'You are summarizing a conversation to preserve context for later.' },
        ...session.main.messages.slice(1), reply,
        { role: 'user', content: 'Provide a detailed summary of our conversation above.' },
      ],
      stream: true,
    }),
  },
  {
    agent: 'qwen-code',
    summary: (session) => ({
      ...without(session),
      messages: [
        { role: 'system', content: 'You are the component that summarizes a conversation into a snapshot.' },
        ...session.main.messages.slice(1), reply,
        { role: 'user', content: 'Now produce the <state_snapshot> XML document.' },
      ],
    }),
  },
]

for (const { agent, summary } of golden) {
  t.test(`[case 46] a summary of ${agent} begins with the bytes of the main request and is a hit`, async (t) => {
    const session = opencodeSession()
    await warmfork.main(session)
    const since = warmfork.since()
    const answer = await warmfork.chat(summary(session))
    t.equal(answer.warmfork['decision'], 'forked')
    const receipt = await warmfork.receipt(answer)
    t.match(receipt, { agent, head_messages: session.main.messages.length, placement: 'user' })
    const outcome = await warmfork.outcome(answer)
    t.match(outcome, { valid: true, prompt_ids_confirmed: true })
    t.ok(outcome['engine_cached_tokens'] >= receipt['common_prefix_tokens'] - receipt['block_size'], 'all but one block')
    const fork = JSON.parse(String(since.generations()[0]!.body)) as ChatBody
    t.strictSame(fork.messages.slice(0, session.main.messages.length), session.main.messages)
    const own = summary(session).messages
    for (const text of [own[0]!.content!, own.at(-1)!.content!]) t.ok(fork.messages.at(-1)!.content!.includes(text))

    const alone = await warmfork.engineAlone({ ...summary(opencodeSession()), stream: false })
    t.ok(alone.parts[0].usage.prompt_tokens_details.cached_tokens < 100, 'which the request as it came would not be')
  })
}
