// node test/agents/make-fixture.ts name …: makes wire fixtures for npm test of what a run captured. Structure, roles,
// labels, cuts and numbers stay; every text is rewritten, prompts and tool descriptions are shortened.

import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { endpointAt } from '../../src/endpoint/endpoints.ts'
import { loadAgents } from '../../src/summary/agents.ts'
import { replay, writeFixture, type FixtureExchange } from '../helpers/agent-fixture.ts'
import { agentsHome } from './install.ts'
import { recipes } from './recipes.ts'
import { rewrite } from './rewrite-text.ts'

interface Captured {
  readonly home: string
  readonly work: string
  readonly exchanges: readonly { readonly target: string, readonly rawHeaders: readonly string[], readonly body: string, readonly status: number, readonly warmfork: Record<string, string> }[]
}

const folder = fileURLToPath(new URL('../fixtures/agents', import.meta.url))
const agents = loadAgents(fileURLToPath(new URL('../../config/agents', import.meta.url)))
/** Headers that say which conversation a request belongs to. */
const idHeaders = /^(x-.*session.*|session[-_]id|x-affinity|thread-id)$/i
/** Members that are no text of anybody's. */
const plainMembers = new Set(['role', 'type', 'model', 'tool_choice', 'object', 'effort', 'reasoning_effort', 'format', 'status', 'include', 'display', 'ttl'])
const maxSummaries = 3
/** vLLM leaves out a block of system text that begins so. */
const billing = 'x-anthropic-billing-header:'
/** Beyond this, text that is never part of a transcript is shortened. */
const longestPrompt = 400

mkdirSync(folder, { recursive: true })
for (const name of process.argv.slice(2)) {
  const recipe = recipes.find((each) => each.name === name)
  if (!recipe) throw new Error(`no recipe is called ${name}`)
  const captured = JSON.parse(readFileSync(join(agentsHome, 'captures', name, 'exchanges.json'), 'utf8')) as Captured
  const markers = agents.filter(({ agent }) => agent === recipe.agent).flatMap(({ traits, reply }) => [traits.system, traits.starts, traits.last, reply.closing_tag])
    .filter((marker) => marker !== undefined).concat(billing)
  const traits = agents.flatMap(({ agent, traits: { header } }) => (agent === recipe.agent && header ? [header] : []))
  const exchanges = chosen(captured).map((exchange): FixtureExchange => ({
    kind: 'decision' in exchange.warmfork ? 'summary' : 'other',
    target: exchange.target,
    headers: exchange.rawHeaders.flatMap((header, i, all) => (i % 2 === 0 ? keptHeader(header, all[i + 1]!, markers, traits) : [])),
    body: rewriteBody(exchange.body, captured, markers),
  }))
  const fixture = { agent: recipe.agent ?? 'generic', version: recipe.version, exchanges, expected: [] }
  const opened: (() => Promise<void>)[] = []
  const replayed = await replay({ teardown: (close) => opened.push(close) }, fixture)
  for (const close of opened) await close()
  const expected = replayed.flatMap(({ summary }) => (summary ? [{ decision: summary.decision, reason: summary.reason, headMessages: summary.headMessages }] : []))
  writeFixture(join(folder, `${name}.json`), { ...fixture, expected })
  const run = chosen(captured).flatMap(({ warmfork }) => (warmfork['decision'] ? [warmfork['fallback-reason'] ?? warmfork['decision']] : []))
  // Compared by whoever makes the fixture: the run's decisions, and those of its replay.
  console.log(name, run.join(', '), '|', expected.map(({ decision, reason, headMessages }) => `${reason ?? decision} ${headMessages}`).join(', '))
}
process.exit(0)

/** Ids are rewritten; of a header that recognition looks at stays what it looks for. */
function keptHeader(name: string, value: string, markers: readonly string[], traits: readonly { readonly name: string, readonly contains: string }[]): string[] {
  const trait = traits.find((each) => each.name === name.toLowerCase())
  if (trait) return [name, `{${value.includes(trait.contains) ? trait.contains : ''}}`]
  return idHeaders.test(name) ? [name, rewrite(value, markers)] : []
}

/** Of every summary the requests around it, and the first side requests. */
function chosen({ exchanges }: Captured): Captured['exchanges'] {
  const chats = exchanges.filter(({ target, status }) => endpointAt(target.split('?')[0]!) && status === 200)
  const summaries = chats.flatMap((exchange, i) => ('decision' in exchange.warmfork ? [i] : [])).slice(0, maxSummaries)
  const wanted = new Set(summaries.flatMap((i) => [i - 2, i - 1, i, i + 1]))
  const side = chats.flatMap(({ body }, i) => (i < 4 && JSON.parse(body).tools === undefined ? [i] : []))
  return chats.filter((_, i) => wanted.has(i) || side.includes(i))
}

function rewriteBody(json: string, { home, work }: Captured, markers: readonly string[]): object {
  const body = JSON.parse(shorterNotes(json.replaceAll(work, '/notes').replaceAll(home, '/home')))
  const text = (value: string): string => rewrite(value, markers)
  const walk = (value: unknown, key: string): unknown => {
    if (typeof value === 'string') return plainMembers.has(key) ? value : text(value)
    if (Array.isArray(value)) return value.map((each) => walk(each, key))
    if (value === null || typeof value !== 'object') return value
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, walk(each, name)]))
  }
  return Object.fromEntries(Object.entries(body).map(([key, value]) => {
    if (key === 'messages' || key === 'input') return [key, (value as any[]).map((message) => walk(shortenedPrompt(message, markers), ''))]
    if (key === 'system' && Array.isArray(value)) return [key, value.map((block) => walk({ ...block, text: shortened(block.text, markers) }, ''))]
    if (key === 'tools') return [key, (value as any[]).map((tool) => rewriteTool(tool, text))]
    return [key, walk(value, key)]
  }))
}

/** Lines from the middle of the notes away, the same ones wherever a note is printed and in whatever escaping. */
function shorterNotes(json: string): string {
  return json.replace(/\\+n(?:(?!\\+n)[^"])*?Depot \d+-(\d+): (?:(?!\\+n)[^"])*?round \d+\.(?=\\+n|\\*")/g, (line, number) => (Number(number) > 4 && Number(number) < 25 || Number(number) > 28 && Number(number) < 45 ? '' : line))
}

/** System text, and what an agent puts in front of the user's words, shortened but for its markers. */
function shortenedPrompt(message: any, markers: readonly string[]): any {
  const isFront = message.role === 'system' || message.role === 'developer'
  const shorten = (text: string): string => (isFront || text.startsWith('<system-reminder>') ? shortened(text, markers) : text)
  if (typeof message.content === 'string') return { ...message, content: shorten(message.content) }
  if (!Array.isArray(message.content)) return message
  return { ...message, content: message.content.map((part: any) => (typeof part.text === 'string' ? { ...part, text: shorten(part.text) } : part)) }
}

function shortened(text: string, markers: readonly string[]): string {
  if (text.length <= longestPrompt) return text
  const front = text.slice(0, longestPrompt)
  return [front, ...markers.filter((marker) => text.includes(marker) && !front.includes(marker))].join('\n')
}

/** A tool's name and the names and types of its arguments. */
function rewriteTool(tool: any, text: (value: string) => string): object {
  if (tool.function) return { type: 'function', function: rewriteFunction(tool.function, text) }
  if (tool.input_schema) {
    const { name, description, input_schema: parameters, ...rest } = tool
    const { parameters: schema, ...named } = rewriteFunction({ name, description, parameters }, text)
    return { ...named, input_schema: schema, ...rest }
  }
  const { type, strict, tools } = tool
  if (type !== 'function' && !tools) return { type, ...(tool.name ? { name: text(tool.name), description: text((tool.description ?? '').slice(0, 60)) } : {}) }
  const { parameters, ...named } = rewriteFunction(tool, text)
  return {
    type, ...named, ...(strict === undefined ? {} : { strict }),
    ...(tools ? { tools: tools.map((each: any) => rewriteTool(each, text)) } : { parameters }),
  }
}

function rewriteFunction({ name, description, parameters }: any, text: (value: string) => string): { name: string, description: string, parameters: object } {
  const { properties = {}, required = [] } = parameters ?? {}
  return {
    name: text(name),
    description: text((description ?? '').slice(0, 60)),
    parameters: {
      type: 'object',
      properties: Object.fromEntries(Object.entries(properties).map(([key, schema]: [string, any]) => [text(key), { type: schema.type ?? 'string' }])),
      required: required.map(text),
    },
  }
}
