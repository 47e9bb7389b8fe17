// A conversation that was summarised before begins with that summary. A later request brings it in a place of its own
// (`previous summary`), not in the transcript: the messages that hold it then need not stand in the transcript.

import { readText, type ChatRequest } from '../wire/chat-request.ts'
import { sharedLength } from './text-search.ts'
import { forms } from './transcript-pieces.ts'

/** Messages within which the summary must come: the question that it answers, itself. */
const maxLead = 2
/** Shortest text that can be an earlier summary, in characters. */
const shortest = 200
/** Longest text around it, in characters: the agent's own note on what it is, tags, a list of files. */
const longestNote = 400
/** Lines behind which it may begin. */
const maxLinesBefore = 12
/** Shortest line that says something, in characters, and how far around a summary one is looked for. */
const tellingLine = 16
const nearby = 800
/** Places that are tried for one line. */
const maxPlaces = 8
/** Characters of a line that are searched for. */
const sample = 64

export interface EarlierSummary {
  /** Messages behind the system text that lead up to it and hold it. */
  readonly lead: number
  /** Where it ends in the request's text. */
  readonly end: number
}

/** An earlier summary that stands in the request too. It stays in the request's text: an instruction may refer to it there. */
export function earlierSummary(text: string, evidence: ChatRequest): EarlierSummary | null {
  for (let lead = 1; lead <= maxLead; lead++) {
    const message = evidence.messages[evidence.frontLength + lead - 1]
    if (!message || (message.role !== 'user' && message.role !== 'assistant') || message.callIds.length > 0) return null
    const content = readText(evidence.body, message.slice).trim()
    const end = endOfMost(text, content)
    if (end !== null) return { lead, end }
    // The question in front of it: `What did we do so far?`
    if (content.length > longestNote) return null
  }
  return null
}

/** Where all but the agent's own note of a message ends in the text, in one piece; null where it is not there. */
function endOfMost(text: string, content: string): number | null {
  if (content.length < shortest) return null
  let at = 0
  for (let line = 0; line < maxLinesBefore && at <= longestNote; line++) {
    // Summaries of one conversation begin alike.
    let found = text.indexOf(content.slice(at, at + sample))
    for (let tries = 0; found >= 0 && tries < maxPlaces; tries++, found = text.indexOf(content.slice(at, at + sample), found + 1)) {
      const shared = sharedInSomeForm(text, found, content, at)
      if (shared >= shortest && content.length - shared <= longestNote && isNoteAround(text, found, content, at, shared)) return found + shared
    }
    const next = content.indexOf('\n', at)
    if (next < 0) return null
    at = next + 1 + /^\s*/.exec(content.slice(next + 1, next + 65))![0].length
  }
  return null
}

/** Whether what a message holds beside the summary is a note of the agent's: none of its lines stands in the request there. */
function isNoteAround(text: string, found: number, content: string, at: number, shared: number): boolean {
  const end = found + shared
  return !standsIn(content.slice(0, at), text.slice(Math.max(0, found - nearby), found)) &&
    !standsIn(content.slice(at + shared), text.slice(end, end + nearby))
}

/** Whether a line of a note stands in a text. Where it does, the summary there is another one that reads alike. */
function standsIn(note: string, beside: string): boolean {
  return note.split('\n').some((line) => line.trim().length >= tellingLine && beside.includes(line.trim()))
}

/** How far a text goes on from a position, in whichever form: what looks like a note behind it may be its own end, escaped. */
function sharedInSomeForm(text: string, found: number, content: string, at: number): number {
  const rest = content.slice(at)
  return Math.max(...forms.map((form) => sharedLength(text, found, form(rest, content))))
}
