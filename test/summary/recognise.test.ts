import t from 'tap'
import { Recogniser } from '../../src/summary/recognise.ts'
import { builtInAgents, loadAgents } from '../../src/summary/agents.ts'
import { chat } from '../../src/endpoint/chat.ts'
import { answer, assistant, bytes, calls, readRequest, system, tool, user } from '../helpers/chat-requests.ts'

/** Read from files as a user writes them. */
const agents = loadAgents(t.testdir({
  '1-both.yaml': 'agent: both\nversions: ["1"]\nshape: structured\ntraits:\n  system: condense a talk\n  last: write "it" down now\n  tools: absent\n',
  '2-warm.yaml': 'agent: warm\nversions: ["1"]\nshape: structured\ntraits:\n  last: write <it> down now\n  tools: present\n',
  '3-front.yaml': 'agent: front\nversions: ["1"]\nshape: structured\ntraits:\n  system: only condense\n  tools: absent-or-empty\n',
  '4-empty.yaml': 'agent: empty\nversions: ["1"]\nshape: structured\ntraits:\n  last: with empty tools\n  tools: empty\n',
}))
const recogniser = new Recogniser(agents)
const condense = { role: 'system', content: 'You condense a talk.' }
const tools = [tool('look')]

function kind(body: object | string, headers: Record<string, string> = {}): string {
  const raw = bytes(body)
  if (recogniser.plainOf(headers, raw)) return 'main'
  const found = recogniser.recognise(headers, chat.read(raw))
  return found.kind === 'summary' ? `summary of ${found.agent?.agent ?? 'nobody'}` : found.kind
}

t.test('every trait of a data file must hold', async (t) => {
  t.equal(kind({ messages: [condense, user('a'), user('Please write "it" down now.')] }), 'summary of both')
  t.equal(kind({ messages: [system, user('a'), user('Please write "it" down now.')] }), 'main')
  t.equal(kind({ messages: [condense, user('a'), user('Please go on.')] }), 'main')
  t.equal(kind({ messages: [condense, user('Please write "it" down now.'), assistant('no')] }), 'main')
  t.equal(kind({ messages: [condense, user('Please write "it" down now.')], tools }), 'main')
  t.equal(kind({ messages: [condense, user('Please write "it" down now.')], tools: [] }), 'main')
  t.equal(kind({ messages: [condense, user('Please write "it" down now.')], tools: null }), 'summary of both')
})

t.test('absent, empty and present tools are told apart', async (t) => {
  t.equal(kind({ messages: [user('write <it> down now')], tools }), 'summary of warm')
  t.equal(kind({ messages: [user('write <it> down now')], tools: [] }), 'main')
  t.equal(kind({ messages: [user('this is with empty tools')], tools: [] }), 'summary of empty')
  t.equal(kind({ messages: [user('this is with empty tools')] }), 'main')
  for (const theirs of [{}, { tools: [] }, { tools: null }]) t.equal(kind({ messages: [{ role: 'system', content: 'only condense' }, user('a')], ...theirs }), 'summary of front')
})

t.test('a tool’s output or an assistant’s text that quotes a marker asks for no summary', async (t) => {
  t.equal(kind({ messages: [user('a'), calls('c'), answer('c', 'const marker = "write <it> down now"')], tools }), 'main')
  t.equal(kind({ messages: [user('a'), assistant('I will write <it> down now.')], tools }), 'main')
})

t.test('an instruction may be a trailing system message, and in parts', async (t) => {
  t.equal(kind({ messages: [user('a'), { role: 'system', content: 'write <it> down now' }], tools }), 'summary of warm')
  t.equal(kind({ messages: [user('a'), { role: 'user', content: [{ type: 'text', text: 'Now' }, { type: 'text', text: 'write <it> down now' }] }], tools }), 'summary of warm')
})

t.test('a system marker counts only in the leading system text', async (t) => {
  t.equal(kind({ messages: [user('a'), condense, user('write "it" down now')] }), 'main')
})

t.test('what the client says beats what its request looks like', async (t) => {
  const summary = { messages: [condense, user('write "it" down now')] }
  t.equal(kind(summary, { 'x-warmfork-request': 'main' }), 'main')
  t.equal(kind(summary, { 'x-warmfork-request': 'side' }), 'side')
  t.equal(kind({ messages: [user('a')] }, { 'x-warmfork-request': 'summary' }), 'summary of nobody')
  t.equal(kind(summary, { 'x-warmfork-request': 'summary' }), 'summary of both')
  t.equal(kind({ messages: [] }, { 'x-warmfork-request': 'conversation-summary' }), 'conversation-summary')
  t.equal(kind('not json', { 'x-warmfork-request': 'summary' }), 'summary of nobody')
  t.equal(kind({ messages: [user('a')] }, { 'x-warmfork-request': 'nonsense' }), 'main')
})

t.test('metadata says the same where no header does', async (t) => {
  t.equal(kind({ messages: [user('a')], metadata: { warmfork: { request: 'summary' } } }), 'summary of nobody')
  t.equal(kind({ metadata: { warmfork: { request: 'side' } }, messages: [condense, user('write "it" down now')] }), 'side')
  t.equal(kind({ messages: [user('a')], metadata: { warmfork: { request: 'summary' } } }, { 'x-warmfork-request': 'main' }), 'main')
  t.equal(kind({ messages: [user('a')], metadata: { warmfork: 'summary' } }), 'main')
})

t.test('markers are found at both ends of a large body without reading it', async (t) => {
  const long = user('x'.repeat(600_000))
  t.equal(kind({ messages: [system, long, user('write <it> down now')], tools }), 'summary of warm')
  t.ok(recogniser.plainOf({}, bytes({ messages: [user('a'), long, user('b')] })))
  t.equal(recogniser.plainOf({}, bytes({ messages: [{ role: 'system', content: 'only condense' }, long] })), null)
  t.ok(recogniser.plainOf({}, Buffer.alloc(0)))
})

t.test('a header and an endpoint are traits like any other, and a header spares the search in the body', async (t) => {
  const [agent] = loadAgents(t.testdir({
    'said.yaml': `agent: said\nversions: ["1"]\nshape: structured\ntraits:\n  endpoint: chat\n  header:\n    name: X-Kind\n    contains: '"kind":"condense"'\n  last: write it down\n  tools: absent\n`,
  }))
  const body = bytes({ messages: [user('a'), user('Please write it down.')] })
  const headers = { 'x-kind': '{"id":1,"kind":"condense"}' }
  const of = (traits: object): Recogniser => new Recogniser([{ ...agent!, traits: { ...agent!.traits, ...traits } }])
  t.ok(of({}).plainOf({}, body))
  t.ok(of({}).plainOf({ 'x-kind': '{"kind":"turn"}' }, body))
  t.equal(of({}).plainOf(headers, body), null)
  t.match(of({}).recognise(headers, chat.read(body)), { kind: 'summary', agent: { agent: 'said' } })
  t.match(of({}).recognise({}, chat.read(body)), { kind: 'main' })
  t.match(of({ last: 'write something else' }).recognise(headers, chat.read(body)), { kind: 'main' })
  t.match(of({ endpoint: 'responses' }).recognise(headers, chat.read(body)), { kind: 'main' })
})

const known = new Recogniser(loadAgents(builtInAgents))

/** The name of the built-in agent whose summary a request is taken for, if only beside what is recorded; else its kind. */
function takenFor(body: object): string {
  const found = known.recognise({}, readRequest(body))
  return 'agent' in found && found.agent ? found.agent.agent : found.kind
}

for (const { agent, traits, file } of loadAgents(builtInAgents).filter(({ traits }) => traits.system === undefined && traits.header === undefined)) {
  const { starts, last, endpoint } = traits
  if (endpoint !== undefined && endpoint !== 'chat') continue
  const theirs = traits.tools === 'present' || traits.tools === 'one-foreign' ? { tools } : traits.tools === 'empty' ? { tools: [] } : {}
  const asked = (text: string): string => takenFor({ messages: [system, user('a'), assistant('b'), user(text)], ...theirs })

  t.test(`${file.replace(/.*\//, '')}: a user who quotes its markers asks for no summary, and its own request is one`, async (t) => {
    const marks = [starts, last].filter((mark) => mark !== undefined)
    t.equal(asked(marks.join(', and so on.\n\n')), agent)
    t.equal(asked(`What does this mean?\n\n${marks.join(' … ')}`), 'main', 'in the middle')
    t.equal(asked(`"${marks.join(' … ')}": what does it mean?`), 'main', 'in quotes')
    t.equal(asked(`> ${marks.join('\n> ')}\n\nWhy was that sent?`), 'main', 'as a quotation')
    if (last !== undefined) t.equal(asked(`${starts} – where does this line come from?`), 'main', 'its first line at the start')
  })
}
