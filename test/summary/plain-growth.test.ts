// Of a body that grows a recorded one only what is new is searched for markers: with the same result as searching all.

import t from 'tap'
import { growth } from '../../src/conversation/content.ts'
import { builtInAgents, loadAgents } from '../../src/summary/agents.ts'
import { Recogniser } from '../../src/summary/recognise.ts'

const agents = loadAgents(builtInAgents)
const filler = 'one line of a file that an agent has read\\n'.repeat(2_000)
const tools = '"tools":[{"type":"function","function":{"name":"read","parameters":{}}}]'
const forms: Record<string, (messages: string) => string> = {
  'tools in front': (messages) => `{"model":"m",${tools},"messages":[${messages}],"stream":true}`,
  'tools behind': (messages) => `{"model":"m","messages":[${messages}],${tools}}`,
  'no tools': (messages) => `{"model":"m","messages":[${messages}]}`,
}
const system = '{"role":"system","content":"You help."}'
const user = (text: string) => `{"role":"user","content":"${text}"}`

for (const [form, write] of Object.entries(forms)) {
  t.test(`a marker in what is new is found, wherever it begins: ${form}`, async (t) => {
    for (const agent of agents.filter(({ traits }) => !traits.header)) {
      const marker = JSON.stringify(agent.traits.starts ?? agent.traits.last ?? agent.traits.system!).slice(1, -1)
      const recogniser = new Recogniser(agents, { generic: true })
      const recorded = Buffer.from(write(`${system},${user(filler)}`))
      const plain = recogniser.plainOf({}, recorded)
      t.ok(plain)
      for (const added of [`${user('go on')},${user(marker)}`, user(marker), user(`${'x'.repeat(5_000)}${marker}`)]) {
        const body = Buffer.from(write(`${system},${user(filler)},${added}`))
        const grown = { plain, growth: growth(recorded, body, { itemsKey: 'messages' })! }
        t.ok(grown.growth)
        t.equal(recogniser.plainOf({}, body, grown), null, marker)
      }
      const next = Buffer.from(write(`${system},${user(filler)},${user('go on')}`))
      t.strictSame(recogniser.plainOf({}, next, { plain, growth: growth(recorded, next, { itemsKey: 'messages' })! }), plain)
    }
  })
}

t.test('what stands in front of the messages or behind them is searched when it is not the recorded', async (t) => {
  const recogniser = new Recogniser(agents)
  const recorded = Buffer.from(`{"model":"m","messages":[${user(filler)}]}`)
  const plain = recogniser.plainOf({}, recorded)
  t.ok(plain)
  for (const body of [
    `{"metadata":{"warmfork":{"request":"summary"}},"messages":[${user(filler)},${user('x')}]}`,
    `{"model":"m","messages":[${user(filler)},${user('x')}],"metadata":{"warmfork":{"request":"summary"}}}`,
  ].map((text) => Buffer.from(text))) {
    t.equal(recogniser.plainOf({}, body, { plain, growth: growth(recorded, body, { itemsKey: 'messages' })! }), null)
  }
})

t.test('a recorded body that was not plain spares nothing', async (t) => {
  const recogniser = new Recogniser(agents)
  const marker = agents.find(({ traits }) => traits.system !== undefined)!.traits.system!
  const recorded = Buffer.from(`{"messages":[{"role":"system","content":${JSON.stringify(marker)}},${user(filler)}],${tools}}`)
  const body = Buffer.from(`{"messages":[{"role":"system","content":${JSON.stringify(marker)}},${user(filler)},${user('x')}]}`)
  t.equal(recogniser.plainOf({}, recorded), null)
  t.strictSame(recogniser.plainOf({}, body, { plain: null, growth: growth(recorded, body, { itemsKey: 'messages' })! }), recogniser.plainOf({}, body))
})

t.test('a word of the act in what is new is found, and tools that come with it', async (t) => {
  const recogniser = new Recogniser(agents, { generic: true })
  const talk = (texts: string[], rest = '') => Buffer.from(`{"model":"m","messages":[${[system, ...texts.map(user)].join(',')}]${rest}}`)
  for (const rest of ['', ',"tools":[],"max_tokens":1000', ',"tools":null']) {
    const recorded = talk(['hello'], rest)
    const plain = recogniser.plainOf({}, recorded)
    t.strictSame(plain, { hasTools: false })
    const grown = (body: Buffer) => recogniser.plainOf({}, body, { plain, growth: growth(recorded, body, { itemsKey: 'messages' })! })
    t.strictSame(grown(talk(['hello', 'go on'], rest)), plain)
    for (const said of ['summarize the conversation', `${'x '.repeat(6_000)}condense the history`, 'summar\\u0069ze']) t.equal(grown(talk(['hello', said], rest)), null, said.slice(-30))
    t.strictSame(grown(talk(['hello', 'summarize this'], `,${tools}`)), { hasTools: true }, 'a request with tools is none')
  }
})
