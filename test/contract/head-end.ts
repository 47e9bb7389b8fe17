// Where a head ends in a fork's ids: the right way, and two wrong ways with the numbers that make them wrong.
//
// A head is the leading part of the evidence that the fork keeps. Its end in the fork's ids is the common prefix of the
// fork with a probe, less the header of the message after the head. The head is covered when it ends within the common
// prefix of the fork with the evidence's prompt.

import type { Test } from 'tap'
import { cachedTokens, chat, commonPrefix, type ContractEngine, freshText, reusable, tokenize } from './http.ts'

interface Message { role: string, content: string, [member: string]: unknown }

const tools = [{ type: 'function', function: { name: 'read', description: 'Reads a file.', parameters: { type: 'object' } } }]

function group(index: number, reasoning: boolean): Message[] {
  return [
    {
      role: 'assistant', content: `Step ${index}.`, ...(reasoning ? { reasoning: `I think about step ${index}.` } : {}),
      tool_calls: [{ id: `c${index}`, type: 'function', function: { name: 'read', arguments: `{"path": "file-${index}"}` } }],
    },
    { role: 'tool', tool_call_id: `c${index}`, content: `content of file ${index}` },
  ]
}

function evidence(first: string, reasoning: boolean): Message[] {
  return [
    { role: 'system', content: 'You are an engineer.' }, { role: 'user', content: first },
    ...group(1, reasoning), ...group(2, reasoning), ...group(3, reasoning),
  ]
}

const directive: Message = { role: 'user', content: 'Summarise the conversation above.' }
const otherDirective: Message = { role: 'user', content: 'Xylophones are loud.' }
/** What a turn of Qwen3 begins with before its content: <|im_start|>, the role, a newline. */
const headerTokens = 3

export async function headEnd(t: Test, engine: ContractEngine): Promise<void> {
  const ids = async (messages: Message[], options: object = {}): Promise<number[]> => await tokenize(engine, { messages, tools, ...options })

  await t.test('a covered head: the common prefix with a probe, less the header', async (t) => {
    const parent = evidence('Repair the parser.', false)
    const parentIds = await ids(parent)
    const fork = await ids([...parent, directive])
    const probe = await ids([...parent, otherDirective])
    const shared = commonPrefix(fork, parentIds)
    const end = commonPrefix(fork, probe) - headerTokens
    t.equal(end, (await ids(parent, { add_generation_prompt: false })).length, 'the evidence without its generation prompt')
    t.strictSame({ end, shared, fork: fork.length, parent: parentIds.length }, { end: 259, shared: 260, fork: 274, parent: 262 })
    t.ok(end <= shared, 'covered')

    t.equal(commonPrefix(fork, probe), 262, 'forgetting the header puts the end behind what is shared')
    t.ok(commonPrefix(fork, probe) > shared, 'and the covered head looks uncovered')
  })

  await t.test('an uncovered head: reasoning is dropped once a user message follows', async (t) => {
    const parent = evidence('Repair the parser.', true)
    const parentIds = await ids(parent)
    const fork = await ids([...parent, directive])
    const probe = await ids([...parent, otherDirective])
    const shared = commonPrefix(fork, parentIds)
    const end = commonPrefix(fork, probe) - headerTokens
    t.strictSame({ end, shared, fork: fork.length, parent: parentIds.length }, { end: 259, shared: 133, fork: 274, parent: 295 })
    t.ok(end > shared, 'not covered: the fork diverges where the first thought stood')

    const foreign = await ids([...parent, { role: 'assistant', content: 'Xylophones are loud.' }])
    const wrongEnd = commonPrefix(fork, foreign) - headerTokens
    t.equal(wrongEnd, 130, 'a probe of another role keeps the last user turn where it was, and the thoughts with it')
    t.ok(wrongEnd <= shared, 'so the uncovered head looks covered')
  })

  await t.test('a head that ends before messages that the fork keeps', async (t) => {
    const parent = evidence('Repair the parser.', false)
    const parentIds = await ids(parent)
    const tail = parent.slice(6)
    const fork = await ids([...parent, directive])
    const probe = await ids([...parent.slice(0, 6), { ...tail[0]!, content: 'Xylophones are loud.' }, ...tail.slice(1), directive])
    const end = commonPrefix(fork, probe) - headerTokens
    t.equal(end, (await ids(parent.slice(0, 6), { add_generation_prompt: false })).length)
    t.ok(end <= commonPrefix(fork, parentIds))
  })

  await t.test('rendered alone, a head in a tool loop keeps reasoning that parent and fork both drop', async (t) => {
    const parent: Message[] = [...evidence('Repair the parser.', true), { role: 'user', content: 'And now the lexer.' }, ...group(4, true)]
    const parentIds = await ids(parent)
    const fork = await ids([...parent, directive])
    const head = parent.slice(0, 8)
    const alone = await ids(head, { add_generation_prompt: false })
    const probe = await ids([...head, { role: 'user', content: 'Xylophones are loud.' }, ...parent.slice(9), directive])
    const end = commonPrefix(fork, probe) - headerTokens
    t.ok(end <= commonPrefix(fork, parentIds), 'in the fork the head is covered')
    t.ok(commonPrefix(alone, parentIds) < alone.length, 'alone it is no prefix of the evidence')
    t.ok(end < alone.length, 'and longer than it is in the fork')
  })

  await t.test('what the ids prove is what the engine reuses', async (t) => {
    for (const reasoning of [false, true]) {
      const parent = evidence(freshText(engine.blockSize), reasoning).concat(evidence(freshText(engine.blockSize), reasoning).slice(2))
      const main = await chat(engine, { messages: parent, tools, tool_choice: 'none' })
      const fork = await chat(engine, { messages: [...parent, directive], tools, tool_choice: 'none' })
      const shared = commonPrefix(main.prompt_token_ids, fork.prompt_token_ids)
      t.equal(cachedTokens(fork), reusable(shared, fork.prompt_token_ids.length, engine.blockSize), reasoning ? 'with reasoning' : 'without')
    }
  })
}
