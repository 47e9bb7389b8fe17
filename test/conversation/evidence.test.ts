import t from 'tap'
import { endedWell, evidenceRequest } from '../../src/conversation/evidence.ts'
import { emptyReply, type ReplyState } from '../../src/wire/reply.ts'
import { evidenceOf } from '../helpers/evidence.ts'

function isEvidence(reply: Partial<ReplyState>, status = 200, cleanEnd = true): boolean {
  return endedWell(status, { ...emptyReply(), finish: 'stop', ...reply }, cleanEnd)
}

t.test('a reply that stopped, or called tools, and ended cleanly makes evidence (R1)', async (t) => {
  t.equal(isEvidence({}), true)
  t.equal(isEvidence({ finish: 'tool_calls', toolCalls: true }), true)
  t.equal(isEvidence({ done: true }), true)
  t.equal(isEvidence({ content: '' }), true)
  t.equal(isEvidence({}, 206), true)
})

t.test('each other end makes none (R1) [case 5] [case 10]', async (t) => {
  for (const status of [0, 101, 199, 300, 400, 422, 500]) t.equal(isEvidence({}, status), false, `status ${status}`)
  t.equal(isEvidence({}, 200, false), false, 'not ended cleanly')
  for (const finish of [null, 'length', 'abort', 'content_filter', '']) t.equal(isEvidence({ finish }), false, `finish ${finish}`)
  t.equal(isEvidence({ finish: null, done: true }), false, 'an end mark alone')
  t.equal(isEvidence({ error: true }), false, 'an error event')
  t.equal(isEvidence({ error: true, done: true }), false, 'an error event and an end mark')
  t.equal(isEvidence({ severalChoices: true }), false, 'several choices')
})

t.test('evidence is read as a chat request, or found unreadable, each time alike', async (t) => {
  const evidence = evidenceOf({ messages: [] })
  t.equal(evidenceRequest(evidence), evidenceRequest({ ...evidence, id: 'x' }))
  const other = evidenceOf('not json')
  t.equal(evidenceRequest(other), null)
  for (let i = 0; i < 100; i++) evidenceRequest(evidenceOf({ messages: [], i }))
  t.strictSame(evidenceRequest(evidence)!.chat.messages, [])
  t.equal(evidenceRequest(other), null)
})
