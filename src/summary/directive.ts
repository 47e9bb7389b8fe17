// The one message that follows the head (R4): the agent's own instruction in a frame that says what the material is.

import { textInsides } from '../wire/chat-request.ts'
import type { Slice } from '../wire/json-slices.ts'

const frame = 'The conversation above is the material for the request below. Reply with the requested summary alone: ' +
  'do not mention this request, do not continue the conversation, and do not call a tool.'

/** For a summary request that brings no instruction of its own. */
const checkpoint = 'Write a summary of the conversation above that lets another assistant carry on from here without reading it. ' +
  'State the goal, the decisions made and why, what was done with the exact names of files, commands and values that matter, ' +
  'what is still open, and the next steps.'

const alsoFirst = '[The first message of the conversation holds also:]'

/**
 * The directive as a JSON message, made of the request's own escaped bytes: nothing in them is re-serialised.
 * @param body the summary request's body
 * @param foreignFront the summariser's own system messages
 * @param instruction its trailing instruction, or null
 * @param additions what its first message says beyond the conversation's
 * @returns null where one of them holds anything but text
 */
export function directive(body: Buffer, foreignFront: readonly Slice[], instruction: Slice | null, additions: readonly Buffer[] = []): Buffer | null {
  const asked = [...foreignFront, ...(instruction ? [instruction] : [])].map((message) => ({ message, texts: textInsides(body, message) }))
  if (asked.some(({ texts }) => texts === null)) return null
  const textsOf = (isInstruction: boolean): Buffer[] =>
    asked.filter(({ message }) => (message === instruction) === isInstruction).flatMap(({ texts }) => texts!).filter((text) => text.length > 0)
  const front = textsOf(false)
  const trailing = textsOf(true)
  const quoted = additions.length > 0 ? [escaped(alsoFirst), ...additions] : []
  return framed([...front, ...quoted, ...(front.length + trailing.length > 0 ? trailing : [escaped(checkpoint)])])
}

/** The directive of a flattened request, whose text had to be taken apart. */
export function directiveOf(text: string): Buffer {
  return framed([escaped(text)])
}

function framed(insides: readonly Buffer[]): Buffer {
  const parts = [escaped(frame), ...insides].flatMap((part, i) => (i === 0 ? [part] : [blankLine, part]))
  return Buffer.concat([Buffer.from('{"role":"user","content":"'), ...parts, Buffer.from('"}')])
}

const blankLine = Buffer.from('\\n\\n')

function escaped(text: string): Buffer {
  return Buffer.from(JSON.stringify(text).slice(1, -1))
}
