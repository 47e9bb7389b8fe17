import t from 'tap'
import { structuredCoverage, type Coverage, type Covered } from '../../src/summary/coverage.ts'
import { bytesOf } from '../../src/wire/json-slices.ts'
import { answer, assistant, calls, readRequest, system, tool, user } from '../helpers/chat-requests.ts'

const foreign = { role: 'system', content: 'You write summaries.' }
const instruction = user('Summarise.')
const turns = [user('one'), assistant('two'), user('three'), assistant('four'), user('five')]

function coverage(evidence: object[], summary: object[], options: { tools?: unknown, theirTools?: unknown } = {}): Coverage {
  return structuredCoverage(
    readRequest({ messages: evidence, ...('tools' in options ? { tools: options.tools } : {}) }),
    readRequest({ messages: summary, ...('theirTools' in options ? { tools: options.theirTools } : {}) }),
  )
}

interface Seen {
  head: number
  following: number
  instruction: boolean
  foreign: number
  warm: boolean
  sameStart: boolean
}

function seen(covered: Coverage): Seen | string {
  if (!covered.covered) return covered.reason
  return {
    head: covered.headLength, following: covered.following.length, instruction: covered.instruction !== null,
    foreign: covered.foreignFront.length, warm: covered.looksWarm, sameStart: covered.sameStart,
  }
}

t.test('the whole conversation under another system text is covered whole [case 46]', async (t) => {
  t.strictSame(seen(coverage([system, ...turns], [foreign, ...turns, instruction])),
    { head: 6, following: 0, instruction: true, foreign: 1, warm: false, sameStart: false })
})

t.test('an older part alone shortens the head, and the kept tail is not covered', async (t) => {
  t.strictSame(seen(coverage([system, ...turns], [foreign, ...turns.slice(0, 2), instruction])),
    { head: 3, following: 0, instruction: true, foreign: 1, warm: false, sameStart: false })
})

t.test('a changed later message ends the head before it, and the rest follows as it came', async (t) => {
  const summary = readRequest({ messages: [foreign, turns[0]!, turns[1]!, user('THREE'), turns[3]!, turns[4]!, instruction] })
  const covered = structuredCoverage(readRequest({ messages: [system, ...turns] }), summary) as Covered
  t.equal(covered.headLength, 3)
  t.strictSame(covered.following.map(({ slice }) => JSON.parse(String(bytesOf(summary.chat.body, slice))) as object), [user('THREE'), turns[3], turns[4]])
  t.strictSame(JSON.parse(String(bytesOf(summary.chat.body, covered.instruction!))), instruction)
})

t.test('messages since the evidence follow the head in order', async (t) => {
  t.strictSame(seen(coverage([system, ...turns], [foreign, ...turns, calls('a'), answer('a'), instruction])),
    { head: 6, following: 2, instruction: true, foreign: 1, warm: false, sameStart: false })
})

t.test('a changed first message covers nothing', async (t) => {
  t.equal(seen(coverage([system, ...turns], [foreign, user('ONE'), ...turns.slice(1), instruction])), 'coverage_unproven')
  t.equal(seen(coverage([system, ...turns], [foreign])), 'coverage_unproven')
  t.equal(seen(coverage([system], [foreign, ...turns])), 'coverage_unproven')
})

t.test('one byte of white space in a message is another message', async (t) => {
  const pretty = readRequest(`{"messages":[${JSON.stringify(system)},{"role": "user","content":"one"}]}`)
  t.strictSame(structuredCoverage(pretty, readRequest({ messages: [system, ...turns, instruction] })), { covered: false, reason: 'coverage_unproven' })
})

t.test('a summary that starts later is of the middle', async (t) => {
  t.equal(seen(coverage([system, ...turns], [foreign, ...turns.slice(2), instruction])), 'mid_range')
})

t.test('an equal text later on does not make the beginning a middle', async (t) => {
  const repeating = [user('go on'), assistant('a'), user('go on'), assistant('b')]
  t.strictSame(seen(coverage([system, ...repeating], [foreign, repeating[0]!, repeating[3]!, instruction])),
    { head: 2, following: 1, instruction: true, foreign: 1, warm: false, sameStart: false })
})

t.test('a cut inside a tool group ends the head before the group [case 53]', async (t) => {
  const evidence = [system, user('one'), calls('a', 'b'), answer('a'), answer('b'), assistant('done')]
  const heads = (upTo: number): unknown => {
    const found = seen(coverage(evidence, [foreign, ...evidence.slice(1, upTo), instruction]))
    return typeof found === 'string' ? found : [found.head, found.following]
  }
  t.equal(heads(1), 'coverage_unproven')
  t.strictSame(heads(2), [2, 0])
  // The call without its answers would follow the head: not whole.
  t.equal(heads(3), 'incomplete_tool_group')
  t.equal(heads(4), 'incomplete_tool_group')
  t.strictSame(heads(5), [5, 0])
  t.strictSame(heads(6), [6, 0])
})

t.test('evidence that ends inside a group is covered up to the group, and the summary brings the rest [case 53]', async (t) => {
  const evidence = [system, user('one'), calls('a', 'b'), answer('a')]
  t.equal(seen(coverage(evidence, [foreign, ...evidence.slice(1), instruction])), 'incomplete_tool_group')
  t.match(seen(coverage(evidence, [foreign, ...evidence.slice(1), answer('b'), instruction])), { head: 2, following: 3 })
  t.equal(seen(coverage([system, calls('a')], [foreign, calls('a'), instruction])), 'incomplete_tool_group')
})

t.test('evidence that ends with tool results, or with a user, is covered whole [case 53]', async (t) => {
  const ended = [system, user('one'), calls('a'), answer('a')]
  t.match(seen(coverage(ended, [foreign, ...ended.slice(1), instruction])), { head: 4, following: 0 })
  t.match(seen(coverage([...ended, user('two')], [foreign, ...ended.slice(1), user('two'), instruction])), { head: 5, following: 0 })
})

t.test('a group that is whole in the evidence and goes on in the summary is not cut', async (t) => {
  const evidence = [system, user('one'), calls('a'), answer('a')]
  t.match(seen(coverage(evidence, [foreign, ...evidence.slice(1), answer('a', 'again'), instruction])), { head: 2, following: 3 })
})

t.test('a new group that follows must be whole, wherever it stands [case 53]', async (t) => {
  t.equal(seen(coverage([system, ...turns], [foreign, ...turns, calls('a'), instruction])), 'incomplete_tool_group')
  t.equal(seen(coverage([system, ...turns], [foreign, ...turns, calls('a'), calls('b'), answer('b'), instruction])), 'incomplete_tool_group')
})

t.test('a system text of its own goes along, and the conversation’s own is none', async (t) => {
  t.match(seen(coverage([system, ...turns], [foreign, ...turns, instruction])), { head: 6, foreign: 1, sameStart: false, warm: false })
  t.match(seen(coverage([system, ...turns], [...turns, instruction])), { head: 6, foreign: 0, sameStart: false })
  t.match(seen(coverage([system, ...turns], [system, ...turns, instruction])), { head: 6, foreign: 0, sameStart: true, warm: true })
})

t.test('of several front messages those that are the conversation’s are not repeated', async (t) => {
  const developer = { role: 'developer', content: 'Be brief.' }
  t.match(seen(coverage([system, developer, ...turns], [system, foreign, ...turns, instruction])), { head: 7, foreign: 1, sameStart: false })
  t.match(seen(coverage([system, developer, ...turns], [system, ...turns, instruction])), { head: 7, foreign: 0, sameStart: false, warm: false })
  t.match(seen(coverage([system, developer, ...turns], [system, developer, ...turns, instruction])), { head: 7, foreign: 0, warm: true })
  t.match(seen(coverage([...turns], [foreign, ...turns, instruction])), { head: 5, foreign: 1, sameStart: false })
})

t.test('an instruction may be a trailing system message, or missing', async (t) => {
  t.match(seen(coverage([system, ...turns], [system, ...turns, foreign])), { head: 6, following: 0, instruction: true, foreign: 0 })
  t.match(seen(coverage([system, ...turns], [foreign, ...turns])), { head: 6, following: 0, instruction: false, foreign: 1, warm: false })
  t.match(seen(coverage([system, ...turns], [foreign, ...turns, assistant('six')])), { head: 6, following: 1, instruction: false })
  t.match(seen(coverage([system, ...turns], [system, ...turns])), { instruction: false, warm: false })
})

t.test('the last shared message is the conversation’s, never the instruction', async (t) => {
  t.match(seen(coverage([system, ...turns], [foreign, ...turns.slice(0, 3)])), { head: 4, following: 0, instruction: false })
})

t.test('of two trailing user messages the last is the instruction', async (t) => {
  t.match(seen(coverage([system, ...turns], [foreign, ...turns, user('six'), instruction])), { head: 6, following: 1, instruction: true })
})

t.test('a request that extends the evidence and its tools looks warm [case 47]', async (t) => {
  const tools = [tool('look'), tool('edit')]
  t.match(seen(coverage([system, ...turns], [system, ...turns, assistant('six'), instruction], { tools, theirTools: tools })), { warm: true, following: 1 })
  t.match(seen(coverage([system, ...turns], [system, ...turns.slice(0, 4), instruction], { tools, theirTools: tools })), { warm: false, sameStart: true, head: 5 })
})

t.test('tools that are left out, null or empty are inherited, and others are not', async (t) => {
  const tools = [tool('look', { '2': 1, '10': 1.5 }), tool('edit')]
  const with_ = (theirs: object): unknown => seen(coverage([system, ...turns], [system, ...turns, instruction], { tools, ...theirs }))
  for (const theirs of [{}, { theirTools: null }, { theirTools: [] }]) t.match(with_(theirs), { head: 6, sameStart: false, warm: false })
  t.match(with_({ theirTools: tools }), { sameStart: true })
  for (const other of [[tools[1], tools[0]], [tools[0]], [...tools, tool('more')], [tool('look'), tools[1]], [tool('noop')]]) {
    t.equal(with_({ theirTools: other }), 'prefix_changed')
  }
  t.equal(seen(coverage([system, ...turns], [system, ...turns, instruction], { theirTools: [tool('look')] })), 'prefix_changed')
})
