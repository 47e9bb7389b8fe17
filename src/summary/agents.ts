// Agents as data: what their summary requests look like. One file per agent in config/agents and in agents.directory,
// read at start.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument } from 'yaml'
import { z } from 'zod'
import { lineOf } from '../config/file.ts'
import { isMapping, valueAt } from '../config/keys.ts'
import { nearest } from '../config/nearest.ts'
import { shorten, showName, showValue } from '../config/show.ts'
import { packageRoot } from '../package-root.ts'

// The text given as `error` completes the sentence "<key> is <value>, but must be …".

/** A marker is a few words: never a third party's prompt (and enough, since several traits must agree). */
const markerError = 'a text of at least eight characters and at most six words'
const marker = z.string({ error: markerError }).refine((text) => text.trim().length >= 8 && text.trim().split(/\s+/).length <= 6, { error: markerError })

const name = (what: string) => z.string({ error: what }).min(1, { error: what })

function oneOf<const T extends readonly string[]>(...names: T) {
  return z.enum(names, { error: `one of ${names.join(', ')}` })
}

/** What the request's `tools` look like; `one-foreign` is one tool that the conversation does not have. */
const tools = oneOf('absent', 'empty', 'absent-or-empty', 'one-foreign', 'present')

const section = { error: 'a section with keys indented below it' }

/** Headers have names without regard to case. */
const header = z.strictObject({
  name: name('the name of a header').toLowerCase(),
  /** Stands in its value. */
  contains: marker,
}, section)

const traits = z.strictObject({
  /** Where the request is sent; any endpoint where it is left out. */
  endpoint: oneOf('chat', 'responses', 'messages').optional(),
  header: header.optional(),
  /** Stands in the leading system text. */
  system: marker.optional(),
  /** A text of the last message begins with it: somebody who quotes it says something else first. */
  starts: marker.optional(),
  /** Stands in the last message. */
  last: marker.optional(),
  /** Its system text is another than the recorded conversation's: for an instruction in words that a user may type too. */
  front: oneOf('foreign').optional(),
  tools,
}, section).refine((given) => given.system !== undefined || given.starts !== undefined || given.last !== undefined || given.header !== undefined, { error: 'one with a marker (system, starts, last or header)' })

// Without quotes YAML takes 1.10 for a number, and its zero is lost.
const releases = 'a list of texts in quotes, as in ["1.0"]'

const schema = z.strictObject({
  agent: name('the name of the agent'),
  /** Releases that it was checked with. */
  versions: z.array(name(releases), { error: releases }).min(1, { error: releases }),
  /** How the history stands in the request: as messages, or as one text with labels. */
  shape: oneOf('structured', 'flattened'),
  traits,
  reply: z.strictObject({
    /** Without it in the visible text the agent does not take the reply for a summary. */
    closing_tag: z.string({ error: 'a closing tag' }).min(3, { error: 'a closing tag' }).optional(),
  }, section).default({}),
})

export type Agent = z.infer<typeof schema> & {
  /** Where it was read from. */
  readonly file: string
}

const keysOf: Readonly<Record<string, readonly string[]>> = {
  '': Object.keys(schema.shape), traits: ['endpoint', 'header', 'system', 'starts', 'last', 'front', 'tools'], 'traits.header': ['name', 'contains'], reply: ['closing_tag'],
}

/** Agent files that cannot be used. Its message is one sentence a fault, with file, key and what to do. */
export class AgentFilesError extends Error {
  readonly faults: readonly string[]

  constructor(faults: readonly string[]) {
    super(faults.join('\n'))
    this.faults = faults
  }
}

export const builtInAgents = fileURLToPath(new URL('config/agents/', packageRoot))

/** The built-in agents, and those in a folder of the user's own, whose files replace built-in ones of the same name. */
export function knownAgents(directory: string | null): Agent[] {
  if (directory === null) return loadAgents(builtInAgents)
  const own = loadAgents(directory)
  const replaced = new Set(filesIn(directory))
  // What a user added is asked first.
  return [...own, ...loadAgents(builtInAgents, replaced)]
}

/**
 * Reads every agent file of a folder, in the order of their names.
 * @param except names of files that are not read
 * @throws AgentFilesError
 */
export function loadAgents(folder: string, except: ReadonlySet<string> = new Set()): Agent[] {
  const read = filesIn(folder).filter((file) => !except.has(file)).map((file) => readAgent(join(folder, file)))
  const faults = read.flatMap((result) => ('fault' in result ? [result.fault] : []))
  if (faults.length > 0) throw new AgentFilesError(faults)
  return read.flatMap((result) => ('agent' in result ? [result.agent] : []))
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((file) => /\.ya?ml$/.test(file)).sort()
  } catch {
    throw new AgentFilesError([`agents.directory is ${JSON.stringify(folder)}, but no folder can be read there: create it, or correct the path.`])
  }
}

function readAgent(path: string): { agent: Agent } | { fault: string } {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    return { fault: `The agent file ${path} cannot be read: change its permissions, or take it out of the folder.` }
  }
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const [broken] = document.errors
  if (broken) {
    const { line, col } = lines.linePos(broken.pos[0])
    return { fault: `The agent file ${path} is not YAML at line ${line}, column ${col} (${broken.message.replace(/[:\n].*$/s, '')}): correct it there.` }
  }
  const values = toValues(document)
  if (!isMapping(values)) return { fault: `The agent file ${path} does not hold keys and values: write it like those in config/agents.` }
  const parsed = schema.safeParse(values)
  if (parsed.success) return { agent: { ...parsed.data, file: path } }
  const { issues } = parsed.error
  const place = (keyPath: readonly string[]) => `(agent file ${path}${keyPath.length === 0 ? '' : `, line ${lineOf(document, lines, keyPath)}`})`
  // A key that is missing may be there misspelt.
  const unknown = issues.find((issue) => issue.code === 'unrecognized_keys')
  return { fault: unknown === undefined ? wrongValue(issues[0]!, document, text, values, place) : unknownKey(unknown, place) }
}

function toValues(document: Document.Parsed): unknown {
  try {
    return document.toJS()
  } catch {
    // Aliases that multiply without end.
    return null
  }
}

type PlaceOf = (keyPath: readonly string[]) => string

function unknownKey({ path, keys: [unknown] }: z.core.$ZodIssueUnrecognizedKeys, place: PlaceOf): string {
  const keyPath = [...path.map(String), unknown!]
  const section = path.join('.')
  const dotted = (section: string, key: string) => (section === '' ? key : `${section}.${key}`)
  const near = nearest(unknown!, keysOf[section] ?? [])
  const elsewhere = Object.entries(keysOf).find(([, keys]) => keys.includes(unknown!))
  const meant = near !== null ? dotted(section, near) : elsewhere && dotted(elsewhere[0], unknown!)
  return `${showName(keyPath.join('.'))} ${place(keyPath)} is not a key of an agent file: ${meant === undefined ? 'remove it.' : `did you mean ${meant}?`}`
}

function wrongValue(issue: z.core.$ZodIssue, document: Document.Parsed, text: string, values: Record<string, unknown>, place: PlaceOf): string {
  // The path of an entry of a list ends with its index.
  const keyPath = issue.path.filter((part) => typeof part === 'string')
  const key = keyPath.join('.')
  const value = valueAt(values, key)
  if (value === undefined) return `${key} is missing ${place(keyPath.slice(0, -1))}, but must be ${issue.message}: add it there.`
  return `${key} is ${asWritten(document.getIn(keyPath, true), text) ?? showValue(key, value)} ${place(keyPath)}, but must be ${issue.message}: change it there.`
}

/**
 * Numbers as they stand in the file, where 1.10 is not 1.1.
 * @returns null for a text, a section, and what is longer than a line
 */
function asWritten(node: unknown, text: string): string | null {
  if (!isNode(node) || !node.range || isMap(node) || (isScalar(node) && typeof node.value === 'string')) return null
  const written = text.slice(node.range[0], node.range[1])
  return written === '' || /^-\s|\n/.test(written) ? null : shorten(written)
}
