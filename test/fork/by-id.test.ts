import t from 'tap'
import { mainLine, partsById } from '../../src/fork/by-id.ts'
import type { Evidence } from '../../src/conversation/evidence.ts'
import { answer, assistant, calls, readRequest, system, user } from '../helpers/chat-requests.ts'
import { evidenceOf } from '../helpers/evidence.ts'

const talk = [system, user('one'), assistant('two'), user('three')]

function parts(summary: object[], said: Partial<Evidence> = {}, messages: object[] = talk): { reason: string } | { head: number, following: string[], directive: string } {
  const body = { model: 'm', messages }
  const found = partsById(evidenceOf(body, said), readRequest(body), readRequest({ messages: summary }))
  return 'reason' in found ? { reason: found.reason } : { head: found.headLength, following: found.following.map(({ json }) => json.toString()), directive: found.directive.toString() }
}

t.test('the longest line of a conversation is the main one', async (t) => {
  const title = evidenceOf({ messages: [system, user('one')] })
  const main = evidenceOf({ messages: talk })
  t.match(mainLine([title, main]), { evidence: { id: main.id } })
  t.match(mainLine([title, evidenceOf('not json')]), { evidence: { id: title.id } })
})

t.test('with unreadable lines and with two as long there is none', async (t) => {
  t.strictSame(mainLine([evidenceOf('not json')]), { reason: 'unreadable_body' })
  t.strictSame(mainLine([evidenceOf({ messages: talk }), evidenceOf({ messages: talk })]), { reason: 'ambiguous_conversation' })
})

t.test('the head is all of the evidence, its reply follows, and the messages are the directive', async (t) => {
  t.match(parts([user('As XML.')], { replyText: 'four "4"' }), { head: 4, following: ['{"role":"assistant","content":"four \\"4\\""}'], directive: /As XML\./ })
  t.match(parts([], { replyText: null }), { head: 4, following: [], directive: /Write a summary of the conversation/ })
  t.match(parts([{ role: 'system', content: 'You write.' }, user('Now.')]), { directive: /You write\.\\n\\nNow\./ })
})

t.test('more than a directive, media, and an open call are refused', async (t) => {
  t.strictSame(parts([user('a'), user('b')]), { reason: 'coverage_unproven' })
  t.strictSame(parts([assistant('a')]), { reason: 'coverage_unproven' })
  t.strictSame(parts([{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }]), { reason: 'media_unsupported' })
  t.strictSame(parts([], { finish: 'tool_calls' }), { reason: 'incomplete_tool_group' })
  t.strictSame(parts([], {}, [user('one'), calls('a')]), { reason: 'incomplete_tool_group' })
  t.match(parts([], {}, [user('one'), calls('a'), answer('a')]), { head: 3 })
})
