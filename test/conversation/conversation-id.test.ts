import t from 'tap'
import { conversationInBody, conversationInHeaders, idInBody, stringAtPath } from '../../src/conversation/conversation-id.ts'
import { chatRequest } from '../helpers/chat-requests.ts'

const sources = { headers: ['x-conversation-id', 'x-session-id'], bodyFields: ['metadata.conversation_id', 'prompt_cache_key'] }
const inHeaders = (headers: Record<string, string>): string | null => conversationInHeaders(headers, sources)
const inBody = (body: object): string | null => conversationInBody(chatRequest({ messages: [], ...body }), sources)

t.test('the header set on purpose comes first, then the configured ones in their order', async (t) => {
  t.equal(inHeaders({ 'x-warmfork-conversation': 'a', 'x-conversation-id': 'b' }), inHeaders({ 'x-warmfork-conversation': 'a' }))
  t.equal(inHeaders({ 'x-session-id': 'c', 'x-conversation-id': 'b' }), inHeaders({ 'x-conversation-id': 'b' }))
  t.equal(inHeaders({ 'x-conversation-id': '', 'x-session-id': 'c' }), inHeaders({ 'x-session-id': 'c' }))
  t.not(inHeaders({ 'x-session-id': 'c' }), inHeaders({ 'x-session-id': 'd' }))
  t.equal(inHeaders({ 'x-other': 'a' }), null)
})

t.test('the same id in another header, or in the body, is the same conversation', async (t) => {
  t.equal(inHeaders({ 'x-session-id': 'c' }), inHeaders({ 'x-warmfork-conversation': 'c' }))
  t.equal(inBody({ prompt_cache_key: 'c' }), inHeaders({ 'x-session-id': 'c' }))
})

t.test('body fields are looked up in their order, also inside objects', async (t) => {
  t.equal(inBody({ prompt_cache_key: 'b', metadata: { conversation_id: 'a' } }), inBody({ metadata: { conversation_id: 'a' } }))
  t.equal(inBody({ prompt_cache_key: 'b', metadata: { conversation_id: '' } }), inBody({ prompt_cache_key: 'b' }))
  for (const none of [{}, { metadata: null }, { metadata: 'conversation_id' }, { metadata: [] }, { metadata: { conversation_id: 5 } }, { prompt_cache_key: null }, { 'metadata.conversation_id': 'a' }]) {
    t.equal(inBody(none), null, JSON.stringify(none))
  }
})

t.test('escapes do not make another conversation, and the written form is kept for searching', async (t) => {
  const escaped = chatRequest('{"messages":[],"prompt_cache_k\\u0065y":"\\u0061"}')
  t.equal(conversationInBody(escaped, sources), inBody({ prompt_cache_key: 'a' }))
  t.equal(String(idInBody(escaped, sources)), '"\\u0061"')
  t.equal(idInBody(chatRequest({ messages: [] }), sources), null)
})

t.test('an id of 10 kB, and one with control characters, becomes a short name that tells nothing', async (t) => {
  for (const id of ['x'.repeat(10_000), 'a\u0000b\n\u001b[2J', '../../etc', '漢'.repeat(3000)]) {
    t.match(inBody({ prompt_cache_key: id }), /^[\w-]{22}$/)
  }
  t.not(inBody({ prompt_cache_key: 'x'.repeat(10_000) }), inBody({ prompt_cache_key: 'x'.repeat(10_001) }))
})

t.test('a path through anything but objects leads nowhere', async (t) => {
  const request = chatRequest({ messages: [], a: { b: { c: 'deep', n: 1 } } })
  t.equal(stringAtPath(request, ['a', 'b', 'c']), 'deep')
  for (const path of [['a'], ['a', 'b'], ['a', 'b', 'n'], ['a', 'x'], ['a', 'b', 'c', 'd'], []]) t.equal(stringAtPath(request, path), null, path.join('.'))
})
