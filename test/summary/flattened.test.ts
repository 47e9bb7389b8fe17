// What a flattened request covers: single cases, each for one way to be wrong.

import t from 'tap'
import { flattenedCoverage } from '../../src/summary/flattened.ts'
import { answer, assistant, readRequest, system, user } from '../helpers/chat-requests.ts'

const condenser = { role: 'system', content: 'You condense talks.' }

function call(id: string, args: object, name = 'read_file', text: string | null = null): object {
  return { role: 'assistant', content: text, tool_calls: [{ id, type: 'function', function: { name, arguments: JSON.stringify(args) } }] }
}

/** Messages of the evidence that the head keeps behind its system text, and the directive's text; or the reason for none. */
function cover(messages: readonly object[], ask: string | readonly object[]): { turns: number, text: string } | string {
  const asked = typeof ask === 'string' ? [condenser, user(ask)] : ask
  const coverage = flattenedCoverage(readRequest({ messages: [system, ...messages] }), readRequest({ messages: asked }))
  return coverage.covered ? { turns: coverage.headLength - 1, text: coverage.text! } : coverage.reason
}

const output = (what: string): string => `${what} begins here and goes on for a while, line after line, until it ends with ${what}.`
const talk = [
  user('Please find out why the index is rebuilt at every start.'),
  call('c1', { path: 'src/index.ts' }), answer('c1', output('the index')),
  call('c2', { path: 'src/start.ts' }), answer('c2', output('the start')),
  assistant('It is rebuilt because the stamp is written too late.'),
]
const written = (from: number, to: number): string => [
  '[User]: Please find out why the index is rebuilt at every start.',
  '[Assistant tool call]: read_file({"path":"src/index.ts"})', `[Tool result]: ${output('the index')}`,
  '[Assistant tool call]: read_file({"path":"src/start.ts"})', `[Tool result]: ${output('the start')}`,
  '[Assistant]: It is rebuilt because the stamp is written too late.',
].slice(from, to).join('\n\n')

t.test('a transcript is replaced by a reference, and the instruction around it stays', async (t) => {
  const found = cover(talk, `Condense.\n\n<conversation>\n${written(0, 6)}\n</conversation>\n\nKeep the names.`)
  t.match(found, { turns: 6 })
  const { text } = found as { text: string }
  t.match(text, /^You condense talks\.\n\nCondense\.\n\n<conversation>\n\[User\]: \[Here stood the beginning of the conversation\./)
  t.match(text, /\n<\/conversation>\n\nKeep the names\.$/)
  t.notMatch(text, /index|stamp/)
})

t.test('a kept tail stays out of the head, even where its words occur in the instruction', async (t) => {
  const tail = [...talk, user('go on'), assistant('Done.'), user('1')]
  for (const instruction of ['go on', 'Then go on with the next steps.', 'Done.', '1', '1. State the goal.\n2. Done.\n\ngo on']) {
    t.match(cover(tail, `<conversation>\n${written(0, 6)}\n</conversation>\n\n${instruction}`), { turns: 6 }, instruction)
  }
})

t.test('a call that is made again and again is not taken for the first one', async (t) => {
  const polls = [user('Watch the build until it is done.'), ...[1, 2, 3, 4, 5, 6].flatMap((i) => [call(`c${i}`, {}, 'poll_build'), answer(`c${i}`, `${i * 10} percent of the build is done`)])]
  const line = (i: number): string => `[Assistant tool call]: poll_build({})\n\n[Tool result]: ${i * 10} percent of the build is done`
  const ask = (...shown: number[]): string => `<conversation>\n[User]: Watch the build until it is done.\n\n${shown.map(line).join('\n\n')}\n</conversation>\n\nCondense.`
  t.match(cover(polls, ask(1, 2, 3, 4)), { turns: 9 })
  // The first message, and then the middle.
  t.equal(cover(polls, ask(4, 5, 6)), 'coverage_unproven')
  t.equal(cover(polls, `<conversation>\n${[4, 5, 6].map(line).join('\n\n')}\n</conversation>`), 'coverage_unproven')
  const gap = cover(polls, ask(1, 2, 5, 6))
  t.match(gap, { turns: 5 })
  t.match((gap as { text: string }).text, /50 percent[^]*60 percent/)
})

t.test('a result that begins like another and is cut is told from one that goes on differently', async (t) => {
  const same = 'PASS of the suite with four hundred and twelve tests in it, '
  const runs = [user('Run the tests until they pass twice in a row, please.'), call('a', { command: 'npm test' }), answer('a', `${same}first run took nine seconds`), call('b', { command: 'npm test' }), answer('b', `${same}second run took three`)]
  const ask = (result: string): string => `[User]: Run the tests until they pass twice in a row, please.\n\n[Assistant tool call]: run({"command":"npm test"})\n\n[Tool result]: ${result}\n\nNow condense.`
  const conversation = runs.map((message) => JSON.parse(JSON.stringify(message).replaceAll('"read_file"', '"run"')) as object)
  t.equal(cover(conversation, ask(`${same}second run took three`)), 'mid_range')
  t.match(cover(conversation, ask(`${same}[truncated]`)), { turns: 3 })
  t.match(cover(conversation, ask(`${same}first...\n\n[12 more characters truncated]`)), { turns: 3 })
})

t.test('a transcript that ends inside a tool group leaves the group out', async (t) => {
  const found = cover(talk, `${written(0, 4)}\n\nCondense.`)
  t.match(found, { turns: 3 })
  t.match((found as { text: string }).text, /src\/start\.ts/)
})

t.test('a transcript that begins in the middle is mid_range, and one of another talk unproven', async (t) => {
  t.equal(cover(talk, `${written(2, 6)}\n\nCondense.`), 'mid_range')
  t.equal(cover(talk, '[User]: Something else.\n\n[Assistant]: Yes.\n\nCondense.'), 'coverage_unproven')
  t.equal(cover(talk, 'Give a title to: Please find out why the index is rebuilt at every start.'), 'coverage_unproven')
})

t.test('results in the place of others are no blank results', async (t) => {
  const pruned = written(0, 6).replace(output('the index'), 'The output is described elsewhere.')
  t.equal(cover(talk, `${pruned}\n\nCondense.`), 'mid_range')
  t.match(cover(talk, `${written(0, 6).replace(output('the index'), '').replace(output('the start'), '[output omitted]')}\n\nCondense.`), { turns: 6 })
})

t.test('thinking that was not recorded is kept, quoted', async (t) => {
  const found = cover(talk, `${written(0, 3)}\n\n[Assistant reasoning]: The start comes next, since it\nwrites the stamp.\n\n${written(3, 6)}\n\nCondense.`)
  t.match(found, { turns: 6 })
  t.match((found as { text: string }).text, /\n> \[Assistant reasoning\]: The start comes next, since it\n> writes the stamp\./)
})

t.test('thinking inside recorded text may be missing in the transcript', async (t) => {
  const thinking = talk.with(5, assistant('<think>So that is it.</think>\n\nIt is rebuilt because the stamp is written too late.'))
  t.match(cover(thinking, `${written(0, 6)}\n\nCondense.`), { turns: 6 })
})

t.test('the history may stand in the system text, or over many parts and messages', async (t) => {
  t.match(cover(talk, [{ role: 'system', content: `Condense this talk:\n${written(0, 6)}` }]), { turns: 6 })
  t.match(cover(talk, [{ role: 'system', content: `Condense this talk:\n${written(0, 6)}` }, user('Now.')]), { turns: 6 })
  t.match(cover(talk, [condenser, { role: 'user', content: written(0, 6).split('\n\n').map((text) => ({ type: 'text', text })) }]), { turns: 6 })
  t.match(cover(talk, [condenser, user(written(0, 3)), user(written(3, 6)), { role: 'system', content: 'Condense it.' }]), { turns: 6 })
  t.equal(cover(talk, [condenser, user(written(0, 6)), assistant('Yes?'), user('Condense it.')]), 'coverage_unproven')
  t.equal(cover(talk, [condenser, { role: 'user', content: [{ type: 'text', text: written(0, 6) }, { type: 'image_url', image_url: { url: 'data:,' } }] }]), 'media_unsupported')
})

t.test('tools are left out, or the conversation’s own', async (t) => {
  const tools = [{ type: 'function', function: { name: 'look' } }]
  const evidence = readRequest({ messages: [system, ...talk], tools })
  const ask = { messages: [condenser, user(written(0, 6))] }
  for (const theirs of [{}, { tools: [] }, { tools }]) t.match(flattenedCoverage(evidence, readRequest({ ...ask, ...theirs })), { covered: true })
  t.match(flattenedCoverage(evidence, readRequest({ ...ask, tools: [{ type: 'function', function: { name: 'other' } }] })), { covered: false, reason: 'prefix_changed' })
})

const earlier = `The index was looked at first. ${'It is written in three places, each with a stamp of its own. '.repeat(6)}The next step is the start.`
const rest = talk.slice(3)
const request = (transcript: string): Record<string, string> => ({
  'behind the transcript': `<conversation>\n${transcript}\n</conversation>\n\n<prior-summary>\n${earlier}\n</prior-summary>\n\nCondense both.`,
  'in front of it': `Condense.\n\nPrevious summary:\n${earlier}\n\nConversation:\n${transcript}`,
})

for (const [where, ask] of Object.entries(request(written(3, 6)))) {
  for (const [what, lead] of [
    ['the summary alone', [user(earlier)]],
    ['a question and the summary as its answer', [user('What did we do so far?'), assistant(earlier)]],
    ['a note of the agent with the summary in tags', [user(`The talk before this point was condensed into this:\n\n<summary>\n${earlier}\n</summary>`)]],
    ['the summary and a list of files', [user(`Context summary:\n\n${earlier}\n\n## Files\n- src/index.ts`)]],
  ] as const) {
    // Then it is the transcript's first message, and is aligned as one.
    if (where === 'in front of it' && what === 'the summary alone') continue
    t.test(`an earlier summary ${where} is covered by ${what}, and stays where the instruction looks for it`, async (t) => {
      const found = cover([...lead, ...rest], ask)
      t.match(found, { turns: lead.length + 3 })
      t.match((found as { text: string }).text, earlier.slice(0, 200))
      t.notMatch((found as { text: string }).text, /start\.ts/)
    })
  }
}

t.test('an earlier summary that the request does not hold is not covered', async (t) => {
  t.not(typeof cover([user(earlier), ...rest], `<conversation>\n${written(3, 6)}\n</conversation>\n\nCondense.`), 'object')
  // A long answer that follows a skipped question is no earlier summary.
  t.not(typeof cover([user('What is it?'), assistant(earlier), ...talk], `[Assistant]: ${earlier}\n\n${written(0, 6)}\n\nCondense.`), 'object')
})

t.test('another earlier summary that reads alike is not covered', async (t) => {
  const long = 'It is written in three places, each with a stamp of its own, and nobody knows which is right. '.repeat(4)
  const state = (looked: string, next: string): string => `# Goal\nFind out why the index is rebuilt.\n# Looked at so far: ${looked}\n${long}\n# Next\n${next}\nThen the stamp is compared with the file's own date.`
  const old = state('the index', 'Look at the start.')
  for (const now of [state('the index and the start', 'Look at the start.'), state('the index', 'Look at the end of it.')]) {
    for (const where of ['behind the transcript', 'in front of it']) {
      const ask = (summary: string): string => request(written(3, 6))[where]!.replace(earlier, summary)
      t.match(cover([user('What did we do so far?'), assistant(old), ...rest], ask(old)), { turns: 5 }, where)
      t.type(cover([user('What did we do so far?'), assistant(now), ...rest], ask(old)), 'string', where)
    }
  }
})

t.test('an earlier summary that is the first segment of the transcript is aligned like any other', async (t) => {
  const found = cover([user(earlier), ...rest], `## Message 1\n[User]: ${earlier}\n\n${written(3, 6)}\n\nCondense.`)
  t.match(found, { turns: 4 })
  t.notMatch((found as { text: string }).text, /three places/)
  const inFront = cover([user(earlier), ...rest], request(written(3, 6))['in front of it']!)
  t.match(inFront, { turns: 4 })
  t.match((inFront as { text: string }).text, /Previous summary:\n\[Here stood[^]*> Conversation:/)
})

t.test('lines that repeat and messages that begin alike take no time that grows with their square', async (t) => {
  const line = 'the same line again and again\n'
  cover([user(line), assistant(line), user(line)], line.repeat(10_000))
  const growing = Array.from({ length: 500 }, (_, i) => (i % 2 === 0 ? user : assistant)('a b '.repeat(i + 1).trim()))
  t.match(cover(growing, growing.map((message) => (message as { content: string }).content).join('\n\n')), { turns: 500 })
  t.equal(cover(growing, 'a b '.repeat(50_000)), 'mid_range')
  const many = Array.from({ length: 2000 }, (_, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content: `x${'('.repeat(200)}` }))
  cover(many, '('.repeat(200_000))
  cover(many, `x${'('.repeat(200)} `.repeat(1_000))
  cover([user('a '.repeat(100)), ...talk], '<a '.repeat(70_000))
})
