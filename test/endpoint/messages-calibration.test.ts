// What shows that /v1/messages prefills the chat form: the render endpoint, or what is cached under a salt of its own.

import t from 'tap'
import type { Calibrated } from '../../src/engine/calibration.ts'
import { messages } from '../../src/endpoint/messages.ts'
import { isFork, opencodeSession, startWarmfork } from '../helpers/warmfork.ts'
import { spokenMessages } from '../helpers/endpoints/messages.ts'

const calibrated: Calibrated = { state: 'calibrated', proof: 'tokenize', dialect: { renamesReasoning: true, effortSetsThinking: true }, toolChoiceNone: true, replyKeys: { reply: [], choice: [], message: [] } }
const request = messages.read(Buffer.from(JSON.stringify({
  model: 'm', max_tokens: 9, system: 'secret words', cache_salt: 'secret', output_config: { effort: 'high' }, tools: [{ name: 'secret', description: 'secret words', input_schema: {}, defer_loading: true }],
  messages: [
    { role: 'user', content: 'secret words' }, { role: 'system', content: 'secret words' },
    { role: 'assistant', content: [{ type: 'thinking', thinking: 'secret words' }, { type: 'tool_use', id: 'secret', name: 'secret', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'secret', content: 'secret words' }] },
  ],
})))!

const blockSize = 16

interface World {
  /** Ids that the endpoint prefills more than the chat form has, in what it counts. */
  readonly more?: number
  /** What a completion finds of its prompt, or its status; undefined is not told. */
  readonly cached?: (prompt: number) => number | undefined | null
  readonly none?: 'hides tools'
  readonly render?: number[] | number
  readonly complete?: number
}

/** An engine whose prompts have some ids, and one for each word of what fills them. */
async function calibrate({ more = 0, cached = (prompt) => prompt - 1, none, render = 404, complete = 200 }: World, { asked = [], size = blockSize }: { asked?: string[], size?: number | null } = {}): Promise<object> {
  const say = (status: number, json: object) => ({ status, body: Buffer.from(JSON.stringify(json)) }) as never
  const idsOf = (chat: string): number[] => Array.from({ length: 100 + (chat.match(/ a/g) ?? []).length }, (_, i) => i % 7)
  let chat = ''
  let hides = false
  return await messages.calibrate!(request, calibrated, async (target, body) => {
    asked.push(`${target} ${body}`)
    if (target === '/v1/messages') hides = none === 'hides tools' && body.includes('"tool_choice"')
    if (target === '/tokenize') {
      chat = body.toString()
      return say(200, { tokens: idsOf(chat) })
    }
    if (target === '/v1/messages/render') return typeof render === 'number' ? say(render, {}) : say(200, { token_ids: [...idsOf(chat), ...render] })
    if (target === '/v1/completions') return say(complete, { usage: { prompt_tokens_details: { cached_tokens: hides ? 0 : cached(JSON.parse(body.toString()).prompt.length) } } })
    return say(200, { usage: { input_tokens: idsOf(chat).length + more - 16, cache_read_input_tokens: 16, output_tokens: 1 } })
  }, size)
}

t.test('the render endpoint tells the ids', async (t) => {
  const asked: string[] = []
  t.match(await calibrate({ render: [] }, { asked }), { state: 'calibrated', toolChoiceNone: true, countedOnly: undefined })
  t.equal(asked.length, 2)
  t.match(await calibrate({ render: [1] }), { state: 'uncalibrated' })
  t.match(await calibrate({ render: 500 }), { state: 'unanswered' })
})

t.test('where it is not there, a completion finds under a salt what a message prefilled', async (t) => {
  const asked: string[] = []
  t.match(await calibrate({}, { asked }), { state: 'calibrated', toolChoiceNone: true, countedOnly: undefined })
  t.notOk(asked.join().includes('secret'), 'with none of the request’s words')
  const [message, completion] = asked.slice(-2).map((each) => JSON.parse(each.slice(each.indexOf('{'))))
  t.equal(message.cache_salt, completion.cache_salt)
  t.match(message.cache_salt, /^warmfork-calibration-[0-9a-f-]{36}$/)
  t.match(message, { output_config: { effort: 'high' }, tool_choice: { type: 'none' }, tools: [{ defer_loading: true }], max_tokens: 1, stream: false })
  t.equal(completion.prompt.length % blockSize, 1, 'whole blocks, and one id more')
  const again: string[] = []
  await calibrate({}, { asked: again })
  t.notOk(again.join().includes(message.cache_salt), 'another one each time')
  t.match(await calibrate({ none: 'hides tools', cached: (prompt) => prompt - 1 }), { state: 'calibrated', toolChoiceNone: false }, 'tools are hidden when none may be called')
})

t.test('where that shows less, counts are all that is known, and other counts are another prompt', async (t) => {
  const counted = { state: 'calibrated', countedOnly: true }
  t.match(await calibrate({ cached: () => 0 }), counted, 'as many ids, and others')
  t.match(await calibrate({ cached: (prompt) => prompt - 1 - blockSize }), counted, 'the last block is another')
  t.match(await calibrate({ cached: () => null }), counted, 'cached tokens are not told')
  t.match(await calibrate({ cached: () => undefined }), counted)
  t.match(await calibrate({ complete: 404 }), counted)
  t.match(await calibrate({}, { size: null }), counted, 'the size of blocks is not told')
  t.match(await calibrate({ more: 1 }), { state: 'uncalibrated' })
})

t.test('what vLLM makes of inline system text and of disabled thinking before a template is found out', async (t) => {
  const found = async (members: object, prefilled: (chat: any) => boolean): Promise<any> => {
    const request = messages.read(Buffer.from(JSON.stringify({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'a' }], ...members })))!
    let right = false
    return await messages.calibrate!(request, calibrated, async (target, body) => {
      if (target === '/tokenize') right = prefilled(JSON.parse(body.toString()))
      return { status: 200, body: Buffer.from(target === '/tokenize' ? `{"tokens":[${right ? 1 : 2}]}` : '{"token_ids":[1]}') } as never
    }, null)
  }
  const inline = { messages: [{ role: 'user', content: 'a' }, { role: 'system', content: 'b' }] }
  const stays = ({ messages }: any): boolean => messages[1].role === 'system'
  const moves = ({ messages }: any): boolean => messages[0].content === 'It is late.' && messages.every(({ role }: any, i: number) => i === 0 || role !== 'system')
  const low = ({ chat_template_kwargs: kwargs }: any): boolean => kwargs.reasoning_effort === 'low'
  t.strictSame((await found(inline, stays)).dialect, calibrated.dialect)
  t.strictSame((await found(inline, moves)).dialect, { ...calibrated.dialect, systemInFront: true })
  t.strictSame((await found({ thinking: { type: 'disabled' } }, low)).dialect, { ...calibrated.dialect, leastEffort: 'low' })
  t.strictSame((await found({ ...inline, thinking: { type: 'disabled' } }, (body) => moves(body) && low(body))).dialect, { ...calibrated.dialect, systemInFront: true, leastEffort: 'low' })
  t.match(await found({}, moves), { state: 'uncalibrated' })
  t.match(await found(inline, () => false), { state: 'uncalibrated' })
})

t.test('system text, attribution and texts are in it as the request has them', async (t) => {
  const sent = async (members: object): Promise<any> => {
    const request = messages.read(Buffer.from(JSON.stringify({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'a' }], ...members })))!
    let asked = ''
    await messages.calibrate!(request, calibrated, async (target, body) => {
      if (target === '/v1/messages/render') asked = body.toString()
      return { status: 200, body: Buffer.from('{"tokens":[1],"token_ids":[1]}') } as never
    }, null)
    return JSON.parse(asked)
  }
  const text = (words: string): object => ({ type: 'text', text: words })
  t.strictSame((await sent({ system: [text('x-anthropic-billing-header: secret;'), text('a')] })).system, ['x-anthropic-billing-header: a=1;', 'You calibrate.', ' Be brief.'].map(text))
  t.strictSame((await sent({ system: 'x-anthropic-billing-header: secret;' })).system, ['You calibrate.', ' Be brief.'].map(text))
  t.equal((await sent({})).system, undefined)
  t.strictSame((await sent({ tools: [] })).tools, [])
  t.equal((await sent({})).tools, undefined)
})

t.test('a budget of thinking, which vLLM holds against the limit, is left out; disabled thinking is not', async (t) => {
  const asked = async (thinking: object): Promise<boolean> => {
    const request = messages.read(Buffer.from(JSON.stringify({ model: 'm', max_tokens: 4_096, thinking, messages: [{ role: 'user', content: 'a' }] })))!
    let sent = ''
    await messages.calibrate!(request, calibrated, async (target, body) => {
      if (target === '/v1/messages/render') sent = body.toString()
      return { status: 200, body: Buffer.from('{"tokens":[1],"token_ids":[1]}') } as never
    }, null)
    return sent.includes('"thinking"')
  }
  t.equal(await asked({ type: 'enabled', budget_tokens: 2_048 }), false)
  t.equal(await asked({ type: 'adaptive' }), false)
  t.equal(await asked({ type: 'disabled' }), true)
})

for (const [name, engine, expected] of [
  ['an engine that does not render', {}, { decision: 'forked', proof: 'tokenize' }],
  ['one that tells no cached tokens', { promptTokensDetails: false }, { decision: 'passed', fallback_reason: 'tokenizer_uncalibrated', proof: null }],
  ['large blocks', { blockSize: 528 }, { decision: 'forked', proof: 'tokenize' }],
] as const) {
  t.test(`a summary that is not warm, before ${name}`, async (t) => {
    const warmfork = await startWarmfork(t, { spoken: { ...spokenMessages, engine: {} }, engine })
    const session = opencodeSession()
    await warmfork.main(session)
    const since = warmfork.since()
    const reply = await warmfork.chat(session.summary)
    t.match(await warmfork.receipt(reply), expected)
    t.equal(since.generations().filter(({ body }) => isFork(body)).length, expected.decision === 'forked' ? 1 : 0)
    if (expected.decision === 'forked') t.match(await warmfork.outcome(reply), { valid: true, engine_cached_tokens: (await warmfork.receipt(reply))['reusable_tokens'] })
  })
}
