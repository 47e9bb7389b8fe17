// Recognition of summaries that no agent's file describes, and of everything that only talks about summaries.

import fc from 'fast-check'
import t from 'tap'
import { chooseEvidence } from '../../src/conversation/choose.ts'
import { searchFor } from '../../src/fork/decide.ts'
import { builtInAgents, loadAgents } from '../../src/summary/agents.ts'
import { isSummaryOf } from '../../src/summary/generic.ts'
import { asksToCondense } from '../../src/summary/instruction.ts'
import { Recogniser } from '../../src/summary/recognise.ts'
import { chat } from '../../src/endpoint/chat.ts'
import { bytes, readRequest } from '../helpers/chat-requests.ts'
import { evidenceOf } from '../helpers/evidence.ts'
import { conversation, type Message } from '../helpers/conversation.ts'
import { flattenings } from '../helpers/transcripts.ts'
import { isFork, startWarmfork, type ChatBody } from '../helpers/warmfork.ts'
import { simulatorModel } from '../../src/simulator/simulator.ts'

const { messages, tools } = conversation({ seed: 'generic', groups: 6, outputTokens: 120, finished: true })
const turns = messages.slice(1)
const sources = { headers: [], bodyFields: [] }
const recogniser = new Recogniser(loadAgents(builtInAgents), { generic: true })

const recorded = [evidenceOf({ messages, tools }), evidenceOf({ messages: [{ role: 'system', content: 'You chat.' }, ...turns] })]

/** What becomes of a request: an agent's name, `generic`, or null for a main request. */
function taken(body: object, by = recogniser): string | null {
  const raw = bytes(body)
  if (by.plainOf({}, raw)) return null
  const read = chat.read(raw)!
  const found = by.recognise({}, read)
  if (found.kind === 'summary') return found.agent!.agent
  if (found.kind !== 'possible') return null
  const choice = chooseEvidence({ live: recorded, expired: [] }, searchFor(read, { conversation: null, agent: null }, sources))
  return 'fits' in choice && choice.fits.some((fit) => isSummaryOf(read.chat, fit)) ? 'generic' : null
}

const summariser: Message = { role: 'system', content: 'You write short notes. Summarize the conversation so that work can go on.' }
const ask = (content: string): Message => ({ role: 'user', content })
const inLanguages = [
  'Please condense the conversation above into notes.', 'Bitte fasse das bisherige Gespräch zusammen.', 'Résume la conversation ci-dessus.',
  'Resume la conversación anterior.', 'Resuma a conversa acima.', 'Riassumi la conversazione precedente.', 'Сделай краткое изложение: суммируй разговор выше.',
  '请总结以上对话。', 'これまでの会話を要約してください。', '지금까지의 대화를 요약해 주세요.',
]

t.test('the same messages under a system text that asks to summarise them are a summary', async (t) => {
  for (const theirs of [{}, { tools: [] }, { tools: null }]) t.equal(taken({ messages: [summariser, ...turns, ask('Go.')], ...theirs }), 'generic')
  t.equal(taken({ messages: [summariser, ...turns.slice(0, 7), ask('Go.')] }), 'generic', 'the older part alone')
  for (const text of inLanguages) t.equal(taken({ messages: [{ role: 'system', content: text }, ...turns, ask('.')] }), 'generic', text)
})

t.test('the same messages without any system text and an instruction behind them are a summary', async (t) => {
  for (const text of inLanguages) {
    t.equal(taken({ messages: [...turns, ask(text)] }), 'generic', text)
    t.equal(taken({ messages: [...turns, { role: 'system', content: text }] }), 'generic', text)
  }
})

for (const [name, flattening] of Object.entries(flattenings)) {
  t.test(`${name}: the conversation as one text and an instruction in front, behind or above are a summary`, async (t) => {
    const text = flattening.parts(turns).join('\n')
    t.equal(taken({ messages: [ask(`Summarize the conversation below.\n\n${text}`)] }), 'generic')
    t.equal(taken({ messages: [ask(`<talk>\n${text}\n</talk>\n\nSummarize the conversation above.`)] }), 'generic')
    t.equal(taken({ messages: [summariser, ask(text)] }), 'generic')
  })
}

t.test('neither structure nor instruction alone makes a summary', async (t) => {
  const text = flattenings['JSON']!.parts(turns).join('\n')
  t.equal(taken({ messages: [ask(`Translate this into French.\n\n${text}`)] }), null)
  t.equal(taken({ messages: [ask('Summarize the conversation below.\n\n[User]: Hello.\n\n[Assistant]: Hello.\n\n[User]: Bye.\n\n[Assistant]: Bye.')] }), null)
  t.equal(taken({ messages: [ask(`Summarize the conversation below.\n\n${flattenings['JSON']!.parts(turns.slice(5)).join('')}`)] }), null, 'from the middle')
  t.equal(taken({ messages: [summariser, ...turns, ask('Go.')], tools }), null, 'with tools')
  t.equal(taken({ messages: [summariser, ...turns.slice(0, 2), ask('Go.')] }), null, 'too little')
  t.equal(taken({ messages: [summariser, ...turns, ask('Go.')], max_tokens: 64 }), null, 'for a few words')
  t.equal(taken({ messages: [summariser, ...turns, ask('Go.')] }, new Recogniser([], { generic: false })), null, 'switched off')
})

t.test('critics, plan modes, titles and memories that send the same messages are no summaries', async (t) => {
  for (const purpose of [
    'You are a critic. Judge the conversation and give a summary of its faults.', 'You are in plan mode. Summarize the conversation and make a plan.',
    'Generate a title that summarizes the conversation.', 'Extract memories. Summarize the conversation for later.', 'Review the session and summarize the findings.',
    'You are an engineer. Do not summarize the conversation.', 'You evaluate agents. Score the conversation, summarize why.',
  ]) {
    t.equal(taken({ messages: [{ role: 'system', content: purpose }, ...turns, ask('Go.')] }), null, purpose)
    t.equal(taken({ messages: [...turns, ask(purpose)] }), null, purpose)
    for (const text of [`${purpose}\n\n${flattenings['JSON']!.parts(turns).join('')}`, `${flattenings['JSON']!.parts(turns).join('')}\n\n${purpose}`]) t.equal(taken({ messages: [ask(text)] }), null, purpose)
  }
  // A role switch, and a user who asks for a summary then.
  t.equal(taken({ messages: [{ role: 'system', content: 'You are an architect. Answer briefly.' }, ...turns, ask('Summarize the conversation above.')] }), null)
  t.equal(taken({ messages: [...messages, ask('Summarize our conversation, please.')] }), null)
  t.equal(taken({ messages: [...messages, ask('Summarise the README.')] }), null)
})

t.test('words that ask to condense a conversation are told from words about it', async (t) => {
  for (const text of inLanguages) t.ok(asksToCondense(text), text)
  for (const text of ['Summarize the above.', 'Summarize everything above so that another agent can go on.', 'Provide a detailed summary of our work so far.', 'You write summaries of conversations.']) t.ok(asksToCondense(text), text)
  for (const text of ['Summarize the README.', 'The conversation was long.', 'Never summarize the conversation.', 'Do not compress the history.', 'Nicht das Gespräch zusammenfassen, bitte. Kein Zusammenfassen des Gesprächs.', 'Compact the database. Then read the history.']) t.notOk(asksToCondense(text), text)
})

const subjects = ['the README', 'this file', 'the diff', 'the failing tests', 'chapter 3', 'the conversation', 'our chat', 'the session log', 'the meeting transcript', 'das Gespräch', 'la conversation', '对话', 'the history of the repository', 'the compaction code', 'the summary module']
const verbs = ['Summarize', 'Please summarise', 'Condense', 'Compact', 'Give me a summary of', 'Write a title for', 'Compress', 'Explain how warmfork recognises summaries of', 'Fasse zusammen:', 'Résume', '总结', 'Test the compaction of', 'Rename the summary of', 'What is a good headline for', 'Do not summarize', 'Why was there no compaction of']
const systems = ['You are a careful engineer.', 'You are a helpful assistant. Keep the conversation friendly and use summaries.', 'You generate short titles for conversations. Summarize the conversation in five words.', 'You extract memories from a conversation summary.', 'You are a critic of the conversation.', 'You compress the output of one tool. Keep what matters of the messages.', 'You are in plan mode. The conversation above is context; summarize it in the plan.', 'Suggest three follow-up questions to the chat summary.', 'You moderate a chat. Classify the summary.']

t.test('10 000 main and side requests that talk about summaries, compaction and titles are none', async (t) => {
  const request = fc.record({
    kind: fc.constantFrom('next turn', 'with tools', 'other system', 'one turn', 'title', 'tool result', 'after a summary', 'foreign'),
    verb: fc.constantFrom(...verbs), subject: fc.constantFrom(...subjects), system: fc.constantFrom(...systems), length: fc.integer({ min: 1, max: turns.length }),
    second: fc.constantFrom('', ' Keep it short.', ' Then go on.', ' Say what is open.'),
  }).map(({ kind, verb, subject, system, length, second }) => {
    const turn = ask(`${verb} ${subject}.${second}`)
    const front: Message = { role: 'system', content: system }
    const part = turns.slice(0, length)
    switch (kind) {
      case 'next turn': return { messages: [...messages.slice(0, length + 1), turn] }
      case 'with tools': return { messages: [front, ...part, turn], tools }
      case 'other system': return { messages: [front, ...part, turn] }
      case 'one turn': return { messages: [front, turn] }
      case 'title': return { messages: [{ role: 'system', content: systems[2]! }, ask('Generate a title for this conversation:'), turns[0]!, turn] }
      case 'tool result': return { messages: [ask(`Compress this tool result of the conversation. ${second}\n\n${turns.find(({ role }) => role === 'tool')!.content}`)] }
      case 'after a summary': return { messages: [messages[0]!, ask(`This is the summary of the conversation so far: it was about ${subject}.`), { role: 'assistant', content: 'Understood.' } as Message, turn] }
      default: return { messages: [ask(`${verb} ${subject}:${second}\n\n${'Somebody said something about a cache. '.repeat(length)}`)] }
    }
  })
  const seen = new Set<string>()
  const wrong: string[] = []
  let possible = 0
  for (const body of fc.sample(request, { numRuns: 10_000, seed: 5 })) {
    const found = taken(body)
    seen.add(JSON.stringify(body))
    if (recogniser.recognise({}, readRequest(body)).kind === 'possible') possible++
    if (found !== null) wrong.push(`${found}: ${JSON.stringify(body.messages.at(-1))} under ${JSON.stringify(body.messages[0]).slice(0, 120)}`)
  }
  t.strictSame([...new Set(wrong)], [])
  t.ok(seen.size > 5_000, `${seen.size} different ones`)
  t.ok(possible > 500, `${possible} were looked at against what is recorded`)
})

const warmfork = await startWarmfork(t)

t.test('a summary by structure and instruction is forked, and says that no agent file knew it', async (t) => {
  for (const [i, shape] of ['structured', 'flattened'].entries()) {
    const built = conversation({ seed: `generic-${i}`, groups: 6, outputTokens: 300, finished: true })
    const main = { model: simulatorModel, ...built } as ChatBody
    await warmfork.main({ main, summary: main })
    const said = built.messages.slice(1)
    const since = warmfork.since()
    const reply = await warmfork.chat({ model: simulatorModel, messages: shape === 'structured' ? [summariser, ...said, ask('Go.')] : [summariser, ask(flattenings['headings, name {json}']!.parts(said).join(''))] })
    t.equal(reply.warmfork['decision'], 'forked', shape)
    t.ok(isFork(since.generations()[0]!.body))
    t.match(await warmfork.receipt(reply), { agent: 'generic', head_messages: built.messages.length })
  }
})

t.test('what turns out to be no summary is relayed without receipt and is evidence like any other', async (t) => {
  const said = conversation({ seed: 'chat', groups: 6, outputTokens: 300 }).messages.map((message) => (message.role === 'tool' ? ask(message.content!) : { role: message.role, content: message.content || 'Yes.' }))
  const main = { model: simulatorModel, messages: [...said, ask('Summarize our conversation, please.')] }
  const since = warmfork.since()
  const first = await warmfork.chat(main)
  t.strictSame(first.warmfork, {})
  t.ok(since.generations()[0]!.body.equals(bytes(main)))
  const summary = await warmfork.chat({ model: simulatorModel, messages: [summariser, ...main.messages.slice(1), ask('Go.')] })
  t.equal(summary.warmfork['decision'], 'forked')
  t.match(await warmfork.receipt(summary), { head_messages: main.messages.length })
})

t.test('agents.generic: false passes such a summary as the main request that it may be', async (t) => {
  const off = await startWarmfork(t, { config: { agents: { generic: false } } })
  const main = { model: simulatorModel, messages, tools } as ChatBody
  await off.main({ main, summary: main })
  t.strictSame((await off.chat({ model: simulatorModel, messages: [summariser, ...turns, ask('Go.')] })).warmfork, {})
})
