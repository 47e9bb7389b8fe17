// Agents as data: what their summary requests look like. One file per agent in config/agents, read at start.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'

/** A marker is a few words: never a third party's prompt (and enough, since several traits must agree). */
const marker = z.string().refine((text) => text.length >= 8 && text.trim().split(/\s+/).length <= 6, 'a marker has at most six words')

const schema = z.strictObject({
  agent: z.string().min(1),
  /** Releases that it was checked with. */
  versions: z.array(z.string()).min(1),
  /** How the history stands in the request: as messages, or as one text with labels. */
  shape: z.enum(['structured', 'flattened']),
  traits: z.strictObject({
    /** Stands in the leading system text. */
    system: marker.optional(),
    /** Stands in the last message. */
    last: marker.optional(),
    /** What the request's `tools` look like. */
    tools: z.enum(['absent', 'empty', 'absent-or-empty', 'present']),
  }),
  reply: z.strictObject({
    /** Without it in the visible text the agent does not take the reply for a summary. */
    closing_tag: z.string().min(3).optional(),
  }).default({}),
}).refine((file) => file.traits.system !== undefined || file.traits.last !== undefined, 'an agent needs a marker: system, last, or both')

export type Agent = z.infer<typeof schema>

/**
 * Reads every agent file of a folder, in the order of their names.
 * @throws Error naming file and fault
 */
export function loadAgents(folder: string): Agent[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.yaml')).sort()
  return files.map((name) => {
    const read = schema.safeParse(parse(readFileSync(join(folder, name), 'utf8')))
    if (!read.success) {
      const issue = read.error.issues[0]!
      throw new Error(`agent file ${name}: ${issue.path.join('.') || 'file'}: ${issue.message}`)
    }
    return read.data
  })
}
