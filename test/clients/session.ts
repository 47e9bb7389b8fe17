// What the client tests have in common: one tool, one script for the model, and the summary request of opencode 1.2.

import type { Reply, ReplyRequest } from '../../src/simulator/simulator.ts'
import { asksForSummary, sameForAll, summaryInstruction, summarySystem, type Warmfork } from '../helpers/warmfork.ts'

export { summaryInstruction, summarySystem }

export const system = 'You are a coding agent. Read before you edit.'
export const question = 'Which of the files of this workspace parses dates? Look at each.'
export const answer = 'src/file-2.ts parses dates: “ISO 8601”, with a test. ✓'
export const summary = 'Asked: which file parses dates. Found: src/file-2.ts — „ISO 8601“. Next: nothing. ✓'

/** Long enough that a fork saves more than fork.min_saved_tokens. */
export function readFile({ path }: { path: string }): string {
  return Array.from({ length: 60 }, (_, line) => `${line + 1}: export const value${line} = parse('${path}', ${line * 7}) // "quoted" \\ and\ttab`).join('\n')
}

export const readFileParameters = {
  type: 'object',
  properties: { path: { type: 'string', description: 'Path from the root' } },
  required: ['path'],
} as const

/** Reads three files, one call at a time, then answers; a summary request gets the summary. */
export function script(request: ReplyRequest): Reply {
  if (asksForSummary(request)) return { content: summary }
  const read = request.body.messages.filter(({ role }: { role: string }) => role === 'tool').length
  return read < 3 ? { content: 'I look.', toolCalls: [{ name: 'read_file', arguments: { path: `src/file-${read}.ts` } }] } : { content: answer }
}

/** A fetch that keeps the bytes of every reply, for clients that take one. */
export function keepingFetch(): { fetch: typeof fetch, bodies: Promise<Buffer>[] } {
  const bodies: Promise<Buffer>[] = []
  return {
    bodies,
    fetch: async (...args) => {
      const response = await fetch(...args)
      bodies.push(response.clone().arrayBuffer().then((bytes) => Buffer.from(bytes)))
      return response
    },
  }
}

/** Replies without what differs from one generation to the next. */
export async function comparable(bodies: readonly Promise<Buffer>[]): Promise<string[]> {
  return (await Promise.all(bodies)).map((body) => sameForAll({ body }))
}

/** The bodies that the engine got to generate from, in order, without the ids that it gave to calls before. */
export function generated(since: ReturnType<Warmfork['since']>): string[] {
  return since.generations().map(({ body }) => body.toString('utf8').replace(/chatcmpl-tool-[0-9a-f]+/g, 'call'))
}

/** Waits until a condition holds, at most so many ms. @returns whether it came to hold */
export async function holds(condition: () => boolean, withinMs: number): Promise<boolean> {
  for (const deadline = performance.now() + withinMs; performance.now() < deadline; await new Promise((resolve) => setTimeout(resolve, 5))) {
    if (condition()) return true
  }
  return condition()
}
