// The first message of a conversation, where an agent wrote it differently in the summary request: blocks of its own.

import t from 'tap'
import { structuredCoverage } from '../../src/summary/coverage.ts'
import { directive } from '../../src/summary/directive.ts'
import { answer, assistant, readRequest, system, user } from '../helpers/chat-requests.ts'

const words = 'Please find out why the index is rebuilt at every start.'
const skills = '<system-reminder>\nThese skills are there: batch, review.\n</system-reminder>'
const date = (day: number): string => `<system-reminder>Today is the ${day}th.</system-reminder>`
const first = (...texts: string[]): object => ({ role: 'user', content: texts.map((text) => ({ type: 'text', text })) })

function call(id: string): object {
  return { role: 'assistant', content: null, tool_calls: [{ id, type: 'function', function: { name: 'read_file', arguments: '{"path":"a"}' } }] }
}

const rest = (id: string): object[] => [call(id), answer(id), assistant('It is the stamp.')]
const foreign = { role: 'system', content: 'You write summaries.' }

/** Messages of the head, and what the directive says; or the reason for none. */
function cover(recorded: readonly object[], asked: readonly object[]): { head: number, text: string } | string {
  const [evidence, summary] = [readRequest({ messages: [system, ...recorded] }), readRequest({ messages: [foreign, ...asked, user('Summarise.')] })]
  const coverage = structuredCoverage(evidence, summary)
  if (!coverage.covered) return coverage.reason
  const message = directive(summary.chat.body, coverage.foreignFront, coverage.instruction, coverage.additions ?? [])
  return { head: coverage.headLength, text: JSON.parse(String(message)).content }
}

const id = 'call_9f31c2ab7de04711'

t.test('what an agent puts in front of the user’s words again goes into the directive', async (t) => {
  for (const recorded of [first(words), user(words), first(skills, words)]) {
    const found = cover([recorded, ...rest('c1')], [first(skills, date(3), words), ...rest('c1')]) as { head: number, text: string }
    t.match(found, { head: 5 })
    t.match(found.text, /holds also:\][^]*Today is the 3th[^]*Summarise\.$/)
    t.notMatch(found.text, words)
  }
})

t.test('a block that is gone or renewed is no other conversation where the ids of its calls are the same', async (t) => {
  const recorded = [first(skills, date(3), words), ...rest(id)]
  t.match(cover(recorded, [first(skills, words), ...rest(id)]), { head: 5 })
  const renewed = cover(recorded, [first(skills, date(4), words), ...rest(id)]) as { text: string }
  t.match(renewed, { head: 5, text: 'Today is the 4th.' })
  t.notMatch(renewed.text, 'skills')
})

t.test('it is another one where ids may be the same by chance', async (t) => {
  for (const chance of ['c1', 'call_0', 'functions.read_file:0', 'read_file_12']) {
    t.equal(cover([first(skills, date(3), words), ...rest(chance)], [first(skills, words), ...rest(chance)]), 'coverage_unproven', chance)
  }
})

t.test('what is gone must be a block of the agent’s, and the user’s words are the same', async (t) => {
  for (const gone of ['Be brief.', '<task>Be brief.</task>', '<system-reminder>Be brief.</system-reminder> And do it soon.',
    '<update>Be brief.</update>', '<runtime_error>It is stopped.</runtime_error>', '<env>The depot.</env> Be brief. <env>At noon.</env>', '<env>The depot.</envoy>']) {
    t.equal(cover([first(gone, words), ...rest(id)], [first(words), ...rest(id)]), 'coverage_unproven', gone)
  }
  t.equal(cover([first(skills, words), ...rest(id)], [first(skills, 'Something else.'), ...rest(id)]), 'coverage_unproven')
  t.equal(cover([first(skills), ...rest(id)], [first(skills, words), ...rest(id)]), 'coverage_unproven')
  t.equal(cover([first(words, skills), ...rest(id)], [first(words), ...rest(id)]), 'coverage_unproven')
  t.equal(cover([first(date(3), skills, words), ...rest(id)], [first(skills, date(3), words), ...rest('c1')]), 'coverage_unproven')
})

t.test('names of blocks are words of a tag, however they are joined', async (t) => {
  for (const name of ['env', 'environment_details', 'current-date', 'userInfo', 'System-Reminder', 'workspace_info', 'datetime', 'system-reminders']) {
    t.match(cover([first(`\n<${name} at="depot">Be brief.</${name}>\n\n`, words), ...rest(id)], [first(words), ...rest(id)]), { head: 5 }, name)
  }
})

t.test('a large text that only begins like a block is looked at without delay', async (t) => {
  const many = 200_000
  for (const gone of ['<'.concat('a'.repeat(many)), `<${'a'.repeat(many)}>${'</'.repeat(many)}`, `<env>${'</env>  '.repeat(many)}`, `<env>${'\n'.repeat(many)}.`]) {
    const from = performance.now()
    t.equal(cover([first(gone, words), ...rest(id)], [first(words), ...rest(id)]), 'coverage_unproven')
    t.ok(performance.now() - from < 2_000)
  }
})

t.test('little behind it, or anything but text in it, proves nothing', async (t) => {
  t.equal(cover([first(words), ...rest(id)], [first(skills, words), ...rest(id).slice(0, 2)]), 'coverage_unproven')
  t.equal(cover([first(words), ...rest('c1')], [first(skills, words), ...rest('c2')]), 'coverage_unproven')
  const picture = { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:,' } }, { type: 'text', text: words }] }
  t.equal(cover([picture, ...rest(id)], [first(words), ...rest(id)]), 'coverage_unproven')
  t.equal(cover([first(words), ...rest(id)], [picture, ...rest(id)]), 'coverage_unproven')
  t.equal(cover([{ role: 'user', name: 'ann', content: words }, ...rest(id)], [first(skills, words), ...rest(id)]), 'coverage_unproven')
})

t.test('an instruction that is missing leaves what the first message says in front of the built-in one', async (t) => {
  const summary = readRequest({ messages: [first(skills, words), ...rest(id)] })
  const coverage = structuredCoverage(readRequest({ messages: [system, first(words), ...rest(id)] }), summary)
  if (!coverage.covered) return void t.fail(coverage.reason)
  t.equal(coverage.looksWarm, false)
  t.match(JSON.parse(String(directive(summary.chat.body, coverage.foreignFront, coverage.instruction, coverage.additions ?? []))).content, /batch, review[^]*carry on from here/)
})
