// The kinds of deviation that some thirty agents showed, each with the decision that it is to get.

import t from 'tap'
import { simulatorModel } from '../../src/simulator/simulator.ts'
import { conversation, type Message, type Tool } from '../helpers/conversation.ts'
import { flattenings } from '../helpers/transcripts.ts'
import { type ChatBody, isFork, startWarmfork } from '../helpers/warmfork.ts'

const warmfork = await startWarmfork(t)
let sessions = 0

interface Talk {
  readonly main: ChatBody
  readonly turns: readonly Message[]
  readonly tools: readonly Tool[]
}

/** A recorded conversation that no other test has. */
async function talk(): Promise<Talk> {
  const { messages, tools } = conversation({ seed: `kind-${++sessions}`, groups: 8, outputTokens: 500 })
  const main = { model: simulatorModel, messages, tools }
  await warmfork.main({ main, summary: main })
  return { main, turns: messages.slice(1), tools }
}

const system = (content: string): Message => ({ role: 'system', content })
const user = (content: string): Message => ({ role: 'user', content })

async function decided(members: object, headers: readonly string[] = []) {
  const since = warmfork.since()
  const reply = await warmfork.chat({ model: simulatorModel, ...members }, { headers })
  const { decision, 'fallback-reason': reason } = reply.warmfork
  return { decision, reason, head: decision === undefined ? null : (await warmfork.receipt(reply))['head_messages'] as number | null, sent: since.generations()[0]!.body }
}

const explicit = ['x-warmfork-request', 'summary']
const flat = (style: string, messages: readonly Message[]): string => flattenings[style]!.parts(messages).join('\n\n')

t.test('[kind 1] the head as it was, with empty tools or a dummy tool in place of the real ones, is forked', async (t) => {
  const noop = { type: 'function', function: { name: 'noop', description: 'Does nothing.', parameters: { type: 'object', properties: {} } } }
  for (const tools of [[], [noop]]) {
    const { turns } = await talk()
    const found = await decided({ messages: [system('You write bullet points.'), ...turns.slice(0, 11), user('Please summarize this conversation.')], tools })
    t.match(found, { decision: 'forked', head: 12 })
    t.notOk(found.sent.includes('noop'))
  }
  const { turns, tools } = await talk()
  const one = await decided({ messages: [system('You write bullet points.'), ...turns, user('Please summarize this conversation.')], tools: tools.slice(0, 1) })
  t.match(one, { decision: 'passed', reason: 'prefix_changed' }, 'one of the real tools is no dummy')
})

t.test('[kind 2] no system text, the earlier summary in the trailing message: the head keeps the system texts', async (t) => {
  const { messages, tools } = conversation({ seed: 'of two system texts', groups: 8, outputTokens: 500 })
  const main = { model: simulatorModel, messages: messages.toSpliced(1, 0, system('Earlier: the cache was read.')), tools }
  await warmfork.main({ main, summary: main })
  const found = await decided({ messages: [...messages.slice(1), user('Earlier: the cache was read.\n\nSummarize the conversation above, the earlier part too.')] })
  t.match(found, { decision: 'forked', head: main.messages.length })
  t.ok(JSON.parse(String(found.sent)).messages.at(-1).content.includes('Earlier: the cache was read.'))
})

t.test('[kind 3] an instruction as a trailing system message becomes the directive', async (t) => {
  const { turns, main } = await talk()
  const found = await decided({ messages: [...turns, system('Summarize the conversation above in five parts.')] })
  t.match(found, { decision: 'forked', head: main.messages.length })
  t.match(JSON.parse(String(found.sent)).messages.at(-1), { role: 'user', content: /in five parts\.$/ })
})

t.test('[kind 4] the oldest tool groups left out behind the first message leave nothing to gain', async (t) => {
  const { main } = await talk()
  const { messages, tools } = main
  const found = await decided({ messages: [...messages.slice(0, 2), ...messages.slice(6), user('CRITICAL: Respond with text only. You are performing a CONTEXT CHECKPOINT COMPACTION.')], tools })
  t.match(found, { decision: 'passed', reason: 'no_gain' })
})

const again = (turns: readonly Message[], result: Message['role']): Message[] => turns.map((message) => (message.role === 'tool' ? { role: result, content: message.content } : message.tool_calls
  ? { role: 'assistant', content: `${message.content}\n@${message.tool_calls[0]!.function.name}(${message.tool_calls[0]!.id}): ${message.tool_calls[0]!.function.arguments}` } : message))

t.test('[kind 5] calls as text and results as other roles are the conversation, told in another way', async (t) => {
  for (const [what, members, headers] of [
    ['an agent that a file knows', ({ turns, main }: Talk) => [main.messages[0]!, ...again(turns, 'system'), user('Context budget has been reached. Write a structured checkpoint.')], []],
    ['results as users', ({ turns }: Talk) => [system('Summarize the conversation.'), ...again(turns, 'user'), user('Go.')], []],
    ['parts for strings', ({ turns }: Talk) => [system('Summarize the conversation.'), ...turns.map((message) => ({ ...message, content: [{ type: 'text', text: message.content ?? '' }] })), user('Go.')], []],
    ['the instruction in front', ({ turns }: Talk) => [user('Write down what was said below.'), ...turns], explicit],
  ] as const) {
    const each = await talk()
    const found = await decided({ messages: members(each) }, headers)
    t.match(found, { decision: 'forked', head: each.main.messages.length }, what)
    const said = JSON.parse(String(found.sent)).messages.at(-1).content
    t.ok(said.length < 1000, `${what}: ${said.length} characters are left`)
  }
})

t.test('[kind 5] a next turn that tells the conversation in another way is none, nor one that quotes it', async (t) => {
  const first = await talk()
  const ask = user('Summarize the conversation above.')
  t.match(await decided({ messages: [first.main.messages[0]!, ...again(first.turns, 'user'), ask] }), { decision: undefined }, 'under the same system text')
  const second = await talk()
  t.match(await decided({ messages: [...again(second.turns, 'user'), ask] }), { decision: undefined }, 'without any')
  const third = await talk()
  const quoted = [user(flat('a numbered list', third.turns)), { role: 'assistant', content: 'It was repaired.' }, user('Shorter, please.')]
  t.match(await decided({ messages: [system('You summarize conversations.'), ...quoted] }), { decision: undefined }, 'a chat about it')
})

t.test('[kind 5] results that were emptied are not covered by those that were recorded', async (t) => {
  for (const result of ['user', 'tool'] as const) {
    const { turns } = await talk()
    const told = again(turns, 'user').map((message, i) => (turns[i]!.role === 'tool' ? { ...message, role: result, content: '', ...(result === 'tool' ? { tool_call_id: turns[i]!.tool_call_id } : {}) } : message))
    const found = await decided({ messages: [system('Write it down.'), ...told, user('Go.')] }, explicit)
    t.match(found, { decision: 'passed', head: 2 }, result)
  }
})

t.test('[kind 5] what is told in another way and not of the conversation stays in the directive', async (t) => {
  const { turns, main } = await talk()
  const told = again(turns, 'user')
  const found = await decided({ messages: [system('Summarize the conversation.'), ...told.slice(0, 7), user('Somebody said: look at the lexer too.'), ...told.slice(7), { role: 'assistant', content: 'Only then did it work.' }, user('Go.')] })
  t.match(found, { decision: 'forked', head: main.messages.length })
  const said = JSON.parse(String(found.sent)).messages.at(-1).content
  t.match(said, /> .*look at the lexer too\.[^]*\[assistant\]: Only then did it work\.[^]*Go\.$/)
})

t.test('[kind 6] a schema tool that the request forces is not forked', async (t) => {
  const { turns } = await talk()
  const schema = { type: 'function', function: { name: 'report', parameters: { type: 'object', properties: { summary: { type: 'string' } } } } }
  const found = await decided({ messages: [system('Summarize the conversation.'), ...turns, user('Go.')], tools: [schema], tool_choice: { type: 'function', function: { name: 'report' } } }, explicit)
  t.match(found, { decision: 'passed', reason: 'unforkable_options' })
})

t.test('[kind 7] a warm request that may call tools first is warm, and what follows its calls is a main request', async (t) => {
  const { main } = await talk()
  const asked = [...main.messages, user('Context budget has been reached. Save what matters, then write a structured checkpoint.')]
  t.match(await decided({ messages: asked, tools: main.tools }), { decision: 'already_warm' })
  const call: Message = { role: 'assistant', content: '', tool_calls: [{ id: 'last', type: 'function', function: { name: 'read_file', arguments: '{"path":"a"}' } }] }
  t.match(await decided({ messages: [...asked, call, { role: 'tool', tool_call_id: 'last', content: 'Here.' }], tools: main.tools }), { decision: undefined })
})

t.test('[kind 8] the instruction in the system text alone, and the history inside it, are forked', async (t) => {
  const first = await talk()
  t.match(await decided({ messages: [system('Generate a clear and complete summary of it.'), user(flat('a numbered list', first.turns))] }), { decision: 'forked', head: first.main.messages.length })
  const second = await talk()
  t.match(await decided({ messages: [system(`*Briefly* summarize this partial conversation.\n\n${flat('headings, name {json}', second.turns)}`)] }), { decision: 'forked', head: second.main.messages.length })
})

for (const style of ["Python's repr", 'XML, escaped', 'pretty JSON', 'many parts, calls absent']) {
  t.test(`[kind 9] a transcript as ${style} is forked`, async (t) => {
    const { turns, main } = await talk()
    t.match(await decided({ messages: [system('You are maintaining a context-aware state summary.'), user(flat(style, turns))] }), { decision: 'forked', head: main.messages.length })
  })
}

t.test('[kind 9] a transcript that keeps little of the outputs leaves nothing to gain', async (t) => {
  const { turns } = await talk()
  t.match(await decided({ messages: [system('You are maintaining a context-aware state summary.'), user(flat('events, calls without arguments, cut', turns))] }), { decision: 'passed', reason: 'no_gain' })
})

t.test('[kind 10] a history over many parts of one message is forked', async (t) => {
  const { turns, main } = await talk()
  const parts = [...flattenings['many parts, calls absent']!.parts(turns), 'Compact it.'].map((text) => ({ type: 'text', text }))
  t.match(await decided({ messages: [system('You are an assistant that compacts conversation context.'), { role: 'user', content: parts }], tools: [] }), { decision: 'forked', head: main.messages.length })
})

t.test('[kind 11] a second request for one compaction, and a retry with more messages, rest on the same conversation', async (t) => {
  const { main, turns } = await talk()
  const warm = [...main.messages, user('CRITICAL: Respond with text only. You are performing a CONTEXT CHECKPOINT COMPACTION.')]
  t.match(await decided({ messages: warm, tools: main.tools }), { decision: 'already_warm' })
  const retry = [...warm, { role: 'assistant', content: 'Hm.' }, user('Only the text, please.')]
  await decided({ messages: retry, tools: main.tools })
  const fallback = await decided({ messages: [system('You are a dedicated conversation summarizer.'), user(`<conversation_transcript>\n${flat('headings, name {json}', turns)}\n</conversation_transcript>\n\nNow.`)] })
  t.match(fallback, { decision: 'forked', head: main.messages.length })
})

t.test('[kind 12] a summary after a main request that failed rests on the one before it', async (t) => {
  const { main, turns } = await talk()
  const longer = [...main.messages, user('And now the rest.')]
  warmfork.script.fault = () => ({ kind: 'answer', status: 400, body: '{"error":{"message":"The prompt is over the window.","type":"BadRequestError","code":400}}' })
  t.equal((await warmfork.chat({ ...main, messages: longer })).status, 400)
  delete warmfork.script.fault
  const found = await decided({ messages: [system('Summarize the conversation.'), ...turns, user('And now the rest.'), user('Go.')] })
  t.match(found, { decision: 'forked', head: main.messages.length })
  t.ok(found.sent.includes('And now the rest.'))
})

t.test('[kind 13] messages that were summarised before and are sent again rest on their old line', async (t) => {
  const { main, turns, tools } = await talk()
  await warmfork.main({ main: { ...main, messages: [main.messages[0]!, { role: 'assistant', content: 'In short: all of it was repaired.' }, ...turns.slice(-1), user('Go on.')], tools: [...tools] }, summary: main })
  t.match(await decided({ messages: [system('Generate a clear and complete summary of it.'), user(flat('a numbered list', turns))] }), { decision: 'forked', head: main.messages.length })
})

t.test('[kind 14] one tool result, a title and a main request that holds an old summary are no summaries', async (t) => {
  const { main, turns, tools } = await talk()
  const result = turns.find(({ role }) => role === 'tool')!.content!
  for (const [what, members] of [
    ['one tool result', { messages: [system('You compress tool results. Keep what the conversation needs.'), user(result)] }],
    ['a title', { messages: [system('You are a title generator. Keep it short when summarizing the conversation.'), user('Generate a title for this conversation:'), turns[0]!] }],
    ['an old summary', { messages: [main.messages[0]!, user(`Here is a summary of the conversation to date:\n\n${'It was read and repaired. '.repeat(20)}`), ...turns.slice(-1), user('Go on.')], tools }],
    ['a memory extraction', { messages: [system('You extract memories from the conversation summary.'), ...turns, user('What is worth keeping?')], tools: tools.slice(0, 2) }],
  ] as const) {
    const found = await decided(members)
    t.match(found, { decision: undefined }, what)
    t.notOk(isFork(found.sent), what)
  }
  // None of them took the main line's place.
  t.match(await decided({ messages: [system('Summarize the conversation.'), ...turns, user('Go.')] }), { decision: 'forked', head: main.messages.length })
})
