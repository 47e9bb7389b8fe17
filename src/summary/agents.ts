// Agents as data: what their summary requests look like. One file per agent in config/agents and in agents.directory,
// read at start.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseDocument } from 'yaml'
import { z } from 'zod'
import { nearest } from '../config/nearest.ts'
import { showName } from '../config/show.ts'
import { packageRoot } from '../package-root.ts'

// The text given as `error` completes the sentence "<key> must be …".

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
  tools,
}, section).refine((given) => given.system !== undefined || given.starts !== undefined || given.last !== undefined || given.header !== undefined, { error: 'given a marker: system, starts, last or header' })

const schema = z.strictObject({
  agent: name('the name of the agent'),
  /** Releases that it was checked with. */
  versions: z.array(name('a list of releases'), { error: 'a list of releases' }).min(1, { error: 'a list of releases' }),
  /** How the history stands in the request: as messages, or as one text with labels. */
  shape: oneOf('structured', 'flattened'),
  traits,
  reply: z.strictObject({
    /** Without it in the visible text the agent does not take the reply for a summary. */
    closing_tag: z.string({ error: 'a closing tag' }).min(3, { error: 'a closing tag' }).optional(),
  }, section).default({}),
}, { error: 'keys and values, as in config/agents' })

export type Agent = z.infer<typeof schema> & {
  /** Where it was read from. */
  readonly file: string
}

const keysOf: Readonly<Record<string, readonly string[]>> = {
  '': Object.keys(schema.shape), traits: ['endpoint', 'header', 'system', 'starts', 'last', 'tools'], 'traits.header': ['name', 'contains'], reply: ['closing_tag'],
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
  const document = parseDocument(text, { prettyErrors: false })
  const [broken] = document.errors
  if (broken) return { fault: `The agent file ${path} is not YAML (${broken.message.replace(/[:\n].*$/s, '')}): correct it.` }
  const parsed = schema.safeParse(document.toJS())
  if (parsed.success) return { agent: { ...parsed.data, file: path } }
  return { fault: sentence(path, parsed.error.issues[0]!) }
}

function sentence(path: string, issue: z.core.$ZodIssue): string {
  const key = issue.path.filter((part) => typeof part === 'string').join('.')
  if (issue.code === 'unrecognized_keys') {
    const [unknown] = issue.keys as [string]
    const meant = nearest(unknown, keysOf[key] ?? [])
    return `The agent file ${path} has a key ${showName(key === '' ? unknown : `${key}.${unknown}`)} that is none of an agent file: ${meant ? `did you mean ${meant}?` : 'remove it.'}`
  }
  return `The agent file ${path} is wrong at ${key === '' ? 'its beginning' : key}, which must be ${issue.message}: correct it there.`
}
