import t from 'tap'
import { endAtGroup, hasOpenGroup, openGroup } from '../../src/summary/tool-groups.ts'
import { answer, assistant, calls, chatRequest, user } from '../helpers/chat-requests.ts'

function read(...messages: object[]): ReturnType<typeof chatRequest>['messages'] {
  return chatRequest({ messages }).messages
}

t.test('a group is open until each of its calls is answered [case 53]', async (t) => {
  t.equal(openGroup(read(user('a'))), -1)
  t.equal(openGroup(read(user('a'), calls('a', 'b'))), 1)
  t.equal(openGroup(read(user('a'), calls('a', 'b'), answer('a'))), 1)
  t.equal(openGroup(read(user('a'), calls('a', 'b'), answer('b'), answer('a'))), -1)
  t.equal(openGroup(read(user('a'), calls('a', 'b'), answer('a'), answer('a'))), 1)
})

t.test('an answer before the call, or by the id of an earlier group, answers nothing', async (t) => {
  t.equal(openGroup(read(answer('a'), calls('a'))), 1)
  t.equal(openGroup(read(calls('a'), answer('a'), calls('a'))), 2)
})

t.test('calls without ids are counted', async (t) => {
  const call = { role: 'assistant', tool_calls: [{}, {}] }
  t.equal(openGroup(read(call, { role: 'tool', content: 'x' })), 0)
  t.equal(openGroup(read(call, { role: 'tool', content: 'x' }, { role: 'tool', content: 'y' })), -1)
})

t.test('a user who only quotes an id answers nothing', async (t) => {
  t.equal(openGroup(read(calls('a'), { role: 'user', tool_call_id: 'a', content: 'x' })), 0)
})

t.test('any group of a run may be the open one', async (t) => {
  t.equal(hasOpenGroup(read(calls('a'), answer('a'), calls('b'), answer('b'))), false)
  t.equal(hasOpenGroup(read(calls('a'), calls('b'), answer('b'))), true)
  t.equal(hasOpenGroup(read(calls('a'), user('x'), calls('b'), answer('a'), answer('b'))), true)
  t.equal(hasOpenGroup(read()), false)
})

t.test('a run ends before a group that it does not hold whole', async (t) => {
  const messages = read(user('a'), calls('a', 'b'), answer('a'), answer('b'), assistant('done'))
  t.strictSame([0, 1, 2, 3, 4, 5].map((length) => endAtGroup(messages, length)), [0, 1, 1, 1, 4, 5])
})

t.test('a call answered twice keeps its group together, in the evidence and in what follows', async (t) => {
  const messages = read(user('a'), calls('a'), answer('a'), answer('a', 'again'), assistant('done'))
  t.strictSame([3, 4].map((length) => endAtGroup(messages, length)), [1, 4])
  const once = read(user('a'), calls('a'), answer('a'))
  t.equal(endAtGroup(once, 3, read(answer('a', 'again'))[0]), 1)
  t.equal(endAtGroup(once, 3, read(user('b'))[0]), 3)
})
