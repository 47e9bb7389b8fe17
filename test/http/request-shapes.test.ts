// Requests in every shape that the chat endpoint takes: each is forked, and the engine confirms the proven ids.

import t from 'tap'
import { type ChatBody, opencodeSession, type Session, startWarmfork, streamed, summaryInstruction, summarySystem } from '../helpers/warmfork.ts'

const warmfork = await startWarmfork(t)

type Change = (session: Session) => { readonly main: object | string, readonly summary: object | string, readonly headers?: readonly string[], readonly placement?: 'tokens' }

/** Changes a message of both requests; the summary's front is its own. */
function both({ main, summary }: Session, at: number, change: (message: any) => object): Session {
  return {
    main: { ...main, messages: main.messages.with(at, change(main.messages[at]) as never) },
    summary: { ...summary, messages: summary.messages.with(at, change(summary.messages[at]) as never) },
  }
}

const last = (body: ChatBody, message: object): ChatBody => ({ ...body, messages: [...body.messages.slice(0, -1), message as never] })
const duplicate = (body: object): string => JSON.stringify(body).replace('{"role":"user"', '{"role":"assistant","role":"user"')
const escaped = (body: object): string => JSON.stringify(body).replaceAll('"content"', '"cont\\u0065nt"').replace('"messages"', '"mess\\u0061ges"')

const shapes: Record<string, Change> = {
  'as opencode sends it': (session) => session,
  'without a model': ({ main, summary }) => ({ main: { ...main, model: undefined }, summary: { ...summary, model: undefined } }),
  'with a model in the main request alone': ({ main, summary }) => ({ main, summary: { ...summary, model: undefined } }),
  'with a model that is null in the summary': ({ main, summary }) => ({ main, summary: { ...summary, model: null } }),
  'without a system text': ({ main, summary }) => ({ main: { ...main, messages: main.messages.slice(1) }, summary }),
  'with a developer in place of a system text': ({ main, summary }) => ({ main: { ...main, messages: main.messages.with(0, { ...main.messages[0]!, role: 'developer' }) }, summary }),
  'without tools': ({ main, summary }) => ({ main: { ...main, tools: undefined }, summary }),
  'with tools that are null in the summary': ({ main, summary }) => ({ main, summary: { ...summary, tools: null } }),
  'with tool_choice auto': ({ main, summary }) => ({ main: { ...main, tool_choice: 'auto' }, summary }),
  'with tool_choice required in the main request': ({ main, summary }) => ({ main: { ...main, tool_choice: 'required' }, summary }),
  'with tool_choice none in both': ({ main, summary }) => ({ main: { ...main, tool_choice: 'none' }, summary: { ...summary, tool_choice: 'none' } }),
  'with content in parts': (session) => both(session, 1, ({ content }) => ({ role: 'user', content: [{ type: 'text', text: content }, { type: 'text', text: 'And more.' }] })),
  'with an instruction in parts': ({ main, summary }) => ({ main, summary: last(summary, { role: 'user', content: [{ type: 'text', text: 'Do this:' }, { type: 'text', text: summaryInstruction }] }) }),
  'with an instruction in a system message': ({ main, summary }) => ({ main, summary: last(summary, { role: 'system', content: summaryInstruction }) }),
  'with an empty assistant message': (session) => both(session, 4, (message) => ({ ...message, content: '' })),
  'with letters of every kind': (session) => both(session, 1, () => ({ role: 'user', content: '漢字 é 👩‍👩‍👧 \u2028 \u0000 \t "quoted" \\ <|im_end|> </think> {{ }}' })),
  'with a key twice in a message': ({ main, summary }) => ({ main: duplicate(main), summary: duplicate(summary) }),
  'with escaped keys': ({ main, summary }) => ({ main: escaped(main), summary: escaped(summary) }),
  'pretty-printed': ({ main, summary }) => ({ main: JSON.stringify(main, null, 2), summary: JSON.stringify(summary, null, 2) }),
  'with white space around it': ({ main, summary }) => ({ main: `\r\n\t ${JSON.stringify(main)}\n`, summary: ` ${JSON.stringify(summary)} \n` }),
  'with several calls in a message': () => opencodeSession({ callsPerGroup: 3 }),
  // The template renders an answer otherwise once a user's turn follows.
  'with a conversation that ends with its answer': () => ({ ...opencodeSession({ finished: true }), placement: 'tokens' }),
  'with ignored members that differ': ({ main, summary }) => ({ main: { ...main, user: 'a', metadata: { a: 1 }, store: true }, summary: { ...summary, user: 'b', metadata: { b: 1 } } }),
  'with answer members that differ': ({ main, summary }) => ({ main: { ...main, temperature: 0.1, seed: 1, stop: ['a'], top_p: 0.5, n: 1 }, summary: { ...summary, temperature: 0.9, seed: 2, stop: ['zzz'], n: 1 } }),
  'with template kwargs written in another way': ({ main, summary }) => ({ main: { ...main, chat_template_kwargs: { enable_thinking: false } }, summary: JSON.stringify({ ...summary, chat_template_kwargs: 0 }).replace('"chat_template_kwargs":0', '"chat_template_kwargs" : { "enable_thinking" : false }') }),
  'with nulls for what is not set': ({ main, summary }) => ({ main: { ...main, cache_salt: null, chat_template_kwargs: null }, summary: { ...summary, cache_salt: null, reasoning_effort: null, stream_options: null } }),
  'with reasoning_effort none': ({ main, summary }) => ({ main: { ...main, reasoning_effort: 'none' }, summary }),
  'with reasoning_effort beside enable_thinking': ({ main, summary }) => ({ main: { ...main, reasoning_effort: 'none', chat_template_kwargs: { enable_thinking: true } }, summary }),
  'with documents': ({ main, summary }) => ({ main: { ...main, documents: [{ title: 'a', text: 'b' }] }, summary }),
  'with reasoning in a finished conversation': () => {
    const session = opencodeSession({ reasoning: 'reasoning', finished: true })
    const go = { role: 'user' as const, content: 'Go on with the lexer.' }
    return { main: { ...session.main, messages: [...session.main.messages, go] }, summary: { ...session.summary, messages: [...session.summary.messages.slice(0, -3), go, ...session.summary.messages.slice(-1)] } }
  },
  'named in the header alone': ({ main }) => ({
    main, headers: ['x-warmfork-request', 'summary'],
    summary: { ...main, tools: undefined, messages: [...main.messages, { role: 'user', content: 'Sum it up, please.' }] },
  }),
}

for (const [what, change] of Object.entries(shapes)) {
  t.test(`a summary ${what} is forked, and the engine confirms it`, async (t) => {
    const { main, summary, headers = [], placement = 'user' } = change(opencodeSession())
    const began = await warmfork.chat(main)
    t.equal(began.status, 200, began.text.slice(0, 200))
    const text = (body: object | string): string => typeof body === 'string' ? body : JSON.stringify(body)
    for (const body of [text(summary), text(summary).replace('{', `{${JSON.stringify(streamed).slice(1, -1)},`).replace(',"stream_options":null', '')]) {
      const reply = await warmfork.chat(body, { headers })
      t.equal(reply.warmfork['decision'], 'forked', JSON.stringify(reply.warmfork))
      t.match(await warmfork.receipt(reply), { placement })
      t.match(await warmfork.outcome(reply), { valid: true, prompt_ids_confirmed: placement === 'user' ? true : null })
    }
  })
}

t.test('the summariser who has no conversation yet is left alone', async (t) => {
  const reply = await warmfork.chat({ ...opencodeSession().summary, messages: [{ role: 'system', content: summarySystem }, { role: 'user', content: summaryInstruction }] })
  t.equal(reply.status, 200)
  t.match(reply.warmfork, { decision: 'passed' })
})
