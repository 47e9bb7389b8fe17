// A conversation that was summarised before begins with that summary. A later request brings it in a place of its own
// (`previous summary`), not in the transcript: the messages that hold it then need not stand in the transcript.

import { readText, type ChatRequest } from '../wire/chat-request.ts'
import { sharedLength } from './text-search.ts'

/** Messages within which the summary must come: the question that it answers, itself. */
const maxLead = 2
/** Shortest text that can be an earlier summary, in characters. */
const shortest = 200
/** Longest text around it, in characters: the agent's own note on what it is, tags, a list of files. */
const longestNote = 400
/** Lines behind which it may begin. */
const maxLinesBefore = 12
/** Characters of a line that are searched for. */
const sample = 64

/**
 * How many messages behind the system text lead up to and hold an earlier summary that stands in the request too.
 * The summary stays in the request's text: an instruction may refer to it there.
 */
export function earlierSummary(text: string, evidence: ChatRequest): number {
  for (let lead = 1; lead <= maxLead; lead++) {
    const message = evidence.messages[evidence.frontLength + lead - 1]
    if (!message || (message.role !== 'user' && message.role !== 'assistant') || message.callIds.length > 0) return 0
    const content = readText(evidence.body, message.slice).trim()
    if (isMostlyIn(text, content)) return lead
    // The question in front of it: `What did we do so far?`
    if (content.length > longestNote) return 0
  }
  return 0
}

/** Whether all but the agent's own note of a message stands in the text, in one piece. */
function isMostlyIn(text: string, content: string): boolean {
  if (content.length < shortest) return false
  let at = 0
  for (let line = 0; line < maxLinesBefore && at >= 0 && at <= longestNote; line++) {
    const found = text.indexOf(content.slice(at, at + sample))
    const shared = found < 0 ? 0 : sharedLength(text, found, content, at)
    if (shared >= shortest && content.length - shared <= longestNote) return true
    const next = content.indexOf('\n', at)
    if (next < 0) return false
    at = next + 1 + /^\s*/.exec(content.slice(next + 1, next + 65))![0].length
  }
  return false
}
