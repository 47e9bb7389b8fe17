// A conversation's first message, where two requests write it differently: agents put blocks of their own (date,
// environment, skills) beside the user's words, and renew or leave them out. Says what is to be told of the difference.

import { textInsides, type ChatRequest, type Message } from '../wire/chat-request.ts'
import { membersOf } from '../wire/json-slices.ts'

/** Messages behind the first that must be the same: they show that it is one conversation. */
const fewestBehind = 3

/** Words in the names of tags that wrap what an agent says of the place and the time. */
const blockWords = /^(?:reminders?|environment|env|context|date|time|datetime|timestamp|workspace|info|information)$/i

/** An id of a call that no other conversation has by chance: letters and digits, or many digits. */
const randomId = /(?=[0-9]*[a-z])(?=[a-z]*[0-9])[0-9a-z]{8,}|[0-9]{12,}/i

/**
 * What the first message of a summary request says beyond the recorded one's.
 * @param recorded the recorded request
 * @param asked the summary request
 * @param behind how many messages behind the first are the same in both, byte for byte
 * @returns the texts, as JSON writes them; null where the two are not one message, or the recorded one says what the
 *   summary request does not ask for. A block that is gone from it is no such thing where the ids of calls prove that
 *   both are one conversation.
 */
export function additionsToFirst(recorded: ChatRequest, asked: ChatRequest, behind: number): Buffer[] | null {
  const ours = recorded.messages[recorded.frontLength]
  const theirs = asked.messages[asked.frontLength]
  if (behind < fewestBehind || !ours || !theirs) return null
  const texts = textsOf(recorded, ours)
  const askedTexts = textsOf(asked, theirs)
  // The user's own words come last.
  if (!texts || !askedTexts || !texts.at(-1)?.equals(askedTexts.at(-1)!)) return null

  const additions: Buffer[] = []
  let at = 0
  for (const text of texts) {
    const found = askedTexts.findIndex((other, i) => i >= at && other.equals(text))
    if (found >= 0) {
      additions.push(...askedTexts.slice(at, found))
      at = found + 1
    } else if (!isBlock(text) || !hasRandomIds(recorded, behind)) return null
  }
  return at === askedTexts.length ? additions : null
}

/** The texts of a user's message that is nothing else, as JSON writes them; null for any other. */
function textsOf({ body }: ChatRequest, { role, slice }: Message): Buffer[] | null {
  if (role !== 'user' || (membersOf(body, slice.start) ?? []).some(({ key }) => key !== 'role' && key !== 'content')) return null
  const texts = (textInsides(body, slice) ?? []).filter((text) => text.length > 0)
  return texts.length > 0 ? texts : null
}

/** Whether a text is one tag of an agent's about the place and the time, from its beginning to its end. */
function isBlock(text: Buffer): boolean {
  const said = text.toString('utf8').replace(/\\[nrt]/g, ' ').trim()
  const name = /^<([a-z][\w-]{0,63})[\s>]/i.exec(said)?.[1]
  if (name === undefined || !wordsOfName(name).some((word) => blockWords.test(word))) return false
  // Between two such tags may stand what the user said.
  const closing = `</${name}>`
  return said.endsWith(closing) && said.indexOf(closing) === said.length - closing.length
}

/** The words of `current_date`, `system-reminder`, `userInfo`. */
function wordsOfName(name: string): string[] {
  return name.replace(/([a-z])([A-Z])/g, '$1-$2').split(/[-_]/)
}

function hasRandomIds({ messages, frontLength }: ChatRequest, behind: number): boolean {
  return messages.slice(frontLength + 1, frontLength + 1 + behind).some(({ callIds }) => callIds.some((id) => randomId.test(id)))
}
