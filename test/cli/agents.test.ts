// `warmfork agents` and `warmfork classify FILE`, and what a folder of agent files does to a start, as a user runs them.

import t from 'tap'
import { runWarmfork } from '../helpers/run-warmfork.ts'

const mine = 'agent: mine\nversions: ["2.1", "2.2"]\nshape: flattened\ntraits:\n  system: condense a talk of mine\n  tools: absent-or-empty\n'
const secret = 'a secret that is never printed'
const summary = { messages: [{ role: 'system', content: 'You condense a talk of mine.' }, { role: 'user', content: secret }] }

t.test('warmfork agents lists agent, releases, shape and traits, the user’s own first', async (t) => {
  const cwd = t.testdir({ 'warmfork.yaml': 'agents:\n  directory: own\n', own: { 'mine.yaml': mine } })
  const { code, stdout, stderr } = await runWarmfork({ args: ['agents', '--config', 'warmfork.yaml'], cwd })
  t.strictSame([code, stderr], [0, ''])
  const lines = stdout.split('\n')
  t.match(lines[1], /^mine +2\.1, 2\.2 +flattened +absent-or-empty +system "condense a talk of mine" +own\/mine\.yaml$/)
  t.match(stdout, /\nopencode +1\.18\.33 +flattened +absent .*built in\n/)
  t.match(stdout, /agents\.generic is true/)
})

t.test('warmfork classify says what a request is taken for and why, trait by trait, and prints none of its text', async (t) => {
  const cwd = t.testdir({
    'warmfork.yaml': 'agents:\n  directory: own\n', own: { 'mine.yaml': mine },
    'body.json': JSON.stringify(summary),
    'elsewhere.json': JSON.stringify({ path: '/v1/chat/completions?x=1', headers: {}, body: summary }),
    'both.json': JSON.stringify({ headers: { 'X-Warmfork-Request': 'side' }, body: summary }),
    'text.json': JSON.stringify({ headers: {}, body: JSON.stringify({ ...summary, tools: [{ type: 'function', function: { name: 'look' } }] }) }),
    'title.json': JSON.stringify({ max_tokens: 200, messages: [{ role: 'user', content: `Summarize the conversation below.\n\n${secret}` }] }),
    'generic.json': JSON.stringify({ messages: [{ role: 'user', content: `Summarize the conversation below.\n\n${secret}` }] }),
  })
  const classify = async (file: string) => {
    const { code, stdout, stderr } = await runWarmfork({ args: ['classify', file, '--config', 'warmfork.yaml'], cwd })
    t.strictSame([code, stderr], [0, ''], file)
    t.notMatch(stdout, secret)
    return stdout
  }
  const body = await classify('body.json')
  t.match(body, /^taken for: a summary request of mine\nthe client says: nothing\nmine \(own\/mine\.yaml\), flattened:\n/)
  t.match(body, /\n {2}yes {2}system: "condense a talk of mine"\n/)
  t.match(body, /\n {2}yes {2}tools: absent-or-empty; the request's are absent\n/)
  t.equal(await classify('elsewhere.json'), body, 'the path of its endpoint')
  t.match(await classify('both.json'), /^taken for: a side request\nthe client says: x-warmfork-request "side"\n/)
  const tools = await classify('text.json')
  t.match(tools, /^taken for: a main request\n/)
  t.match(tools, /\n {2}no {3}tools: absent-or-empty; the request's are present \(1\)\n/)
  const generic = await classify('generic.json')
  t.match(generic, /^taken for: a summary request where it holds a recorded conversation, else a main request\n/)
  t.match(generic, /\n {2}yes {2}its system text or last message asks to condense the conversation/)
  const title = await classify('title.json')
  t.match(title, /^taken for: a main request\n/)
  t.match(title, /\n {2}no {3}it asks for more than 256 tokens, or sets no limit\n {2}yes {2}its system text or last message asks to condense/, 'what stands in the way is told from what does not')
})

t.test('a body alone is read as the endpoint would whose agent sends it', async (t) => {
  const asked = { role: 'user', content: [{ type: 'text', text: 'What is in a.txt?' }, { type: 'text', text: 'CRITICAL: Respond with TEXT ONLY. Summarise.' }] }
  const body = JSON.stringify({ model: 'm', max_tokens: 4000, system: [{ type: 'text', text: 'You code.' }], tools: [{ name: 'read', input_schema: { type: 'object' } }], messages: [asked] })
  const { stdout } = await runWarmfork({ args: ['classify', 'body.json'], cwd: t.testdir({ 'body.json': body }) })
  t.match(stdout, /^taken for: a summary request of claude-code\n/)
})

t.test('a file that cannot be classified, and a command without one, end with one sentence and code 2', async (t) => {
  const cwd = t.testdir({ 'not.json': '{"messages":', 'other.json': '{"input":7}', 'path.json': '{"path":"/v1/models","body":{"messages":[]}}' })
  for (const [args, sentence] of [
    [['classify', 'gone.json'], /^warmfork: The file "gone\.json" cannot be read: .*\n$/],
    [['classify', 'not.json'], /^warmfork: The file "not\.json" holds no request of \/v1\/chat\/completions.*: .*\n$/],
    [['classify', 'other.json'], /^warmfork: The file "other\.json" holds no request of \/v1\/chat\/completions.*: .*\n$/],
    [['classify', 'path.json'], /^warmfork: The file "path\.json" holds no request of \/v1\/chat\/completions.*: .*\n$/],
    [['classify'], /^warmfork: classify on the command line has no file: .*\n$/],
    [['agents', 'too-many'], /^warmfork: too-many on the command line belongs to no flag: .*\n$/],
  ] as const) {
    const { code, stdout, stderr } = await runWarmfork({ args: [...args], cwd })
    t.strictSame([code, stdout], [2, ''], String(args))
    t.match(stderr, sentence)
  }
})

t.test('a wrong agent file stops a start, and both commands, with file, key and fix', async (t) => {
  const cwd = t.testdir({ 'warmfork.yaml': 'agents:\n  directory: own\n', own: { 'mine.yaml': mine.replace('flattened', 'flat') } })
  for (const args of [['agents'], ['classify', 'warmfork.yaml'], ['--simulator', '--port', '0', '--admin-port', '0']]) {
    const { code, stderr } = await runWarmfork({ args: [...args, '--config', 'warmfork.yaml'], cwd })
    t.equal(code, 2, String(args))
    t.equal(stderr, 'warmfork: shape is "flat" (agent file own/mine.yaml, line 3), but must be one of structured, flattened: change it there.\n')
  }
})

t.test('agents.directory and agents.generic of the wrong kind are faults of the configuration', async (t) => {
  const cwd = t.testdir({ 'warmfork.yaml': 'agents:\n  directory: 7\n  generic: maybe\n' })
  const { code, stderr } = await runWarmfork({ args: ['agents', '--config', 'warmfork.yaml'], cwd })
  t.equal(code, 2)
  t.match(stderr, /agents\.directory is 7 \(warmfork\.yaml, line 2\), but must be null or the path of a folder/)
  t.match(stderr, /agents\.generic is "maybe" \(warmfork\.yaml, line 3\), but must be true or false/)
})
