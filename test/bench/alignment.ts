// `npm run bench:align`: CPU time of aligning a flattened transcript with the recorded conversation, by size, and of
// texts made to be slow. The time should grow as the text does.

import { flattenedCoverage } from '../../src/summary/flattened.ts'
import { chat } from '../../src/endpoint/chat.ts'
import { conversation, type Message } from '../helpers/conversation.ts'
import { flattenings } from '../helpers/transcripts.ts'

const rounds = 7
const megabyte = 1 << 20

console.log('transcript              messages  covered   CPU, median and worst of 7')
for (const size of [0.5, 1, 2, 4]) {
  const messages = session(size)
  for (const name of ['brackets, pretty JSON', 'XML, escaped', 'JSON', 'brackets, tags around users, blank outputs', 'labels of its own']) {
    measure(`${size} MB, ${name}`, messages, flattenings[name]!.parts(messages).join('\n'))
  }
}
const line = 'the same line again and again\n'
measure('one line, repeated', [{ role: 'user', content: line }, { role: 'assistant', content: line }, { role: 'user', content: line }], line.repeat(200_000 / line.length))
const growing = Array.from({ length: 600 }, (_, i): Message => ({ role: i % 2 === 0 ? 'user' : 'assistant', content: 'a b '.repeat(i + 1).trim() }))
measure('each a prefix of the next', growing, growing.map(({ content }) => content).join('\n\n'))
measure('one text for all of them', growing, 'a b '.repeat(50_000))
const calls: Message = {
  role: 'assistant', content: null,
  tool_calls: Array.from({ length: 1500 }, (_, i) => ({ id: `c${i}`, type: 'function', function: { name: 'a', arguments: JSON.stringify({ b: 'a b '.repeat(20) }) } })),
}
const answers = calls.tool_calls!.map(({ id }): Message => ({ role: 'tool', tool_call_id: id, content: 'a b '.repeat(20) }))
measure('one message, 1 500 calls', [{ role: 'user', content: 'a b '.repeat(20) }, calls, ...answers], 'a b '.repeat(50_000))

/** A conversation whose transcript is about so many MB long, 1 000 messages to one. */
function session(size: number): Message[] {
  const groups = Math.round(size * 500)
  const messages = conversation({ seed: 'alignment', groups, outputTokens: 400, finished: true }).messages.slice(1)
  const length = messages.reduce((sum, { content }) => sum + content!.length, 0)
  const grown = Math.max(0, Math.round((size * megabyte - length) / groups))
  return messages.map((message, i) => (message.role === 'tool' ? { ...message, content: `${message.content}\n${`${i} `.repeat(grown / (String(i).length + 1))}` } : message))
}

function measure(name: string, messages: readonly Message[], transcript: string): void {
  const body = Buffer.from(JSON.stringify({ messages: [{ role: 'system', content: 'You work here.' }, ...messages] }))
  const asked = Buffer.from(JSON.stringify({ messages: [{ role: 'user', content: `Condense this talk.\n\n${transcript}` }] }))
  const times: number[] = []
  let covered = 0
  for (let round = 0; round < rounds; round++) {
    const evidence = chat.read(body)!
    const summary = chat.read(asked)!
    const before = process.cpuUsage()
    const coverage = flattenedCoverage(evidence, summary)
    const spent = process.cpuUsage(before)
    times.push((spent.user + spent.system) / 1000)
    covered = coverage.covered ? coverage.headLength - 1 : 0
  }
  times.sort((a, b) => a - b)
  console.log(`${name.padEnd(52)} ${String(messages.length).padStart(5)} ${String(covered).padStart(6)} ${times[3]!.toFixed(1).padStart(8)} ms ${times.at(-1)!.toFixed(1).padStart(8)} ms`)
}
