// What the simulated model says in the demo: reads one file after the other, then answers, then summarises.

import type { Reply, ReplyRequest } from '../simulator/simulator.ts'
import { instruction } from './agent.ts'
import { files } from './workspace.ts'

const answer = 'Two sessions share one write handle, and the second flush drops the batch of the first. ' +
  'I gave each session a handle of its own in src/write.ts. All tests pass.'

const summary = 'Goal: the index writer must not lose entries when two sessions end at once. ' +
  `Read so far: ${files.join(', ')}. ` +
  'Cause: both sessions flush through one handle, so the second flush drops the first batch. ' +
  'Done: one handle per session in src/write.ts; all tests pass. Next: a test with three sessions, then the changelog.'

export function script({ body }: ReplyRequest): Reply {
  const messages = body.messages as { role: string, content?: unknown }[]
  if (String(messages.at(-1)?.content).includes(instruction)) return { content: summary }
  const next = files[messages.filter(({ role }) => role === 'tool').length]
  if (next === undefined) return { content: answer }
  return { content: `I read ${next}.`, toolCalls: [{ name: 'read_file', arguments: { path: next } }] }
}
