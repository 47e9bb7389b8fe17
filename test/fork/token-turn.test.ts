// The join of a turn: where the head's text ends in the evidence's prompt, and what is put behind it.

import t from 'tap'
import type { Rendered } from '../../src/engine/engine.ts'
import type { Prompt } from '../../src/engine/prompt.ts'
import { headText, measureHeadText, measureTurn, placeTurn } from '../../src/fork/token-turn.ts'
import { readChatRequest, type ChatRequest } from '../../src/wire/chat-request.ts'

const ids = (...list: number[]): Uint32Array => Uint32Array.from(list)
const look = 90

t.test('the head ends where prompt and probe meet again', async (t) => {
  // 1 2: before; 50 51 52: the text; 7 8: what closes it; 9: the reply's opening
  t.same(headText(ids(1, 2, 50, 51, 52, 7, 8, 9), ids(1, 2, 80, look, 7, 8, 9), look), { end: 5, merged: ids() })
})

t.test('a token merged of the end of the text and of what follows stays in the head', async (t) => {
  // 527 is 52 and 7 in one
  const text = headText(ids(1, 2, 50, 51, 527, 8, 9), ids(1, 2, 80, look, 7, 8, 9), look)
  t.same(text, { end: 5, merged: ids(7) })
  t.same(placeTurn(ids(1, 2, 50, 51, 527, 8, 9), text!, { turn: ids(7, 8, 3, 4) }), ids(1, 2, 50, 51, 527, 8, 3, 4), 'and is not written twice')
  t.equal(placeTurn(ids(1, 2, 50, 51, 527, 8, 9), text!, { turn: ids(6, 8, 3, 4) }), null, 'no join where the turn begins with something else')
})

t.test('a message that the template leaves out has no end', async (t) => {
  t.equal(headText(ids(1, 2, 3), ids(1, 2, 3), look), null)
})

t.test('a probe whose last word cannot be found has no end', async (t) => {
  t.equal(headText(ids(1, 2, 50, 7), ids(1, 2, 81, 82, 7), look), null)
})

t.test('a text that ends as the probe does is probed with another one', async (t) => {
  const request = conversation([{ role: 'user', content: 'Have a quick look' }])
  const probes: string[] = []
  const render = words((prompt) => void probes.push(String(prompt.messages.at(-1))))
  const turn = (await measureTurn(request, 1, [directive], render))!
  const prompt = await render({ options: request, messages: [Buffer.from('{"role":"user","content":"Have a quick look"}')] }) as { ids: Uint32Array }
  const text = await measureHeadText(request, 1, prompt.ids, turn.sentinels, render)
  t.match(probes.at(-1), 'Zebra crossing')
  t.equal(text?.end, prompt.ids.length - 2)
})

t.test('a turn is what stands behind the text, with the marks that close it', async (t) => {
  const turn = await measureTurn(conversation([{ role: 'user', content: 'Hi' }]), 1, [directive], words())
  t.equal(said(turn!.turn), '</user> <user> Sum up. </user> <assistant>')
})

t.test('the small conversation is the last group of the evidence, behind its own system text', async (t) => {
  const seen: string[] = []
  const request = conversation([
    { role: 'system', content: 'Rules' }, { role: 'user', content: 'Go' },
    { role: 'assistant', content: 'first', tool_calls: [call('a')] }, { role: 'tool', tool_call_id: 'a', content: 'old' },
    { role: 'assistant', content: 'second', tool_calls: [call('b'), call('c')] },
    { role: 'tool', tool_call_id: 'b', content: 'one' }, { role: 'tool', tool_call_id: 'c', content: 'two' },
  ])
  await measureTurn(request, 7, [directive], words((prompt) => void seen.push(said(read(prompt)))))
  t.equal(seen[0], '<system> Rules </system> <user> Look it up. </user> <assistant> second </assistant> <tool> one </tool> <tool> Quick look </tool> <assistant>')
})

t.test('words of the probe in the system text do not move the turn', async (t) => {
  const request = conversation([{ role: 'system', content: 'Have a Quick look first' }, { role: 'user', content: 'Hi' }])
  const turn = await measureTurn(request, 2, [directive], words())
  t.equal(said(turn!.turn), '</user> <user> Sum up. </user> <assistant>')
})

t.test('system text at the join: a turn where the template leaves it in its place, none where it moves it', async (t) => {
  const last = conversation([{ role: 'user', content: 'Go' }, { role: 'system', content: 'Seen' }])
  const behind = [Buffer.from('{"role":"system","content":"Late"}'), directive]
  const first = conversation([{ role: 'user', content: 'Go' }])
  t.equal(said((await measureTurn(last, 2, [directive], words()))!.turn), '</system> <user> Sum up. </user> <assistant>')
  t.equal(said((await measureTurn(first, 1, behind, words()))!.turn), '</user> <system> Late </system> <user> Sum up. </user> <assistant>')
  const moving = words(undefined, (messages) => [...messages].sort((a, b) => Number(b.includes('"system"')) - Number(a.includes('"system"'))))
  t.equal(await measureTurn(last, 2, [directive], moving), null, 'the conversation behind it would be lost')
  t.equal(await measureTurn(first, 1, behind, moving), null, 'it would be lost itself')
  t.ok(await measureTurn(conversation([{ role: 'system', content: 'Rules' }, { role: 'user', content: 'Go' }]), 2, [directive], moving))
})

t.test('a template that takes no such conversation gives no turn', async (t) => {
  t.equal(await measureTurn(conversation([{ role: 'user', content: 'Hi' }]), 1, [directive], async () => ({ fault: 'refused' })), null)
})

const directive = Buffer.from('{"role":"user","content":"Sum up."}')

function call(id: string): object {
  return { id, type: 'function', function: { name: 'look', arguments: '{}' } }
}

function conversation(messages: object[]): ChatRequest {
  return readChatRequest(Buffer.from(JSON.stringify({ model: 'm', messages })))!
}

const vocabulary: string[] = []

/** A template and tokenizer of whole words: every message in tags of its role. */
function words(
  seen: (prompt: Prompt) => void = () => {}, order: (messages: readonly Buffer[]) => readonly Buffer[] = (messages) => messages,
): (prompt: Prompt) => Promise<Rendered> {
  return async (prompt) => {
    seen(prompt)
    return { ids: read({ ...prompt, messages: order(prompt.messages) }), window: null }
  }
}

function read(prompt: Prompt): Uint32Array {
  const text = prompt.messages.flatMap((json) => {
    const { role, content } = JSON.parse(json.toString('utf8')) as { role: string, content: string }
    return [`<${role}>`, ...content.split(' '), `</${role}>`]
  })
  return Uint32Array.from([...text, '<assistant>'].map((word) => {
    if (!vocabulary.includes(word)) vocabulary.push(word)
    return vocabulary.indexOf(word)
  }))
}

function said(list: Uint32Array): string {
  return [...list].map((id) => vocabulary[id]).join(' ')
}
