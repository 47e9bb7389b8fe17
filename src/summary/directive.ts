// The one message that follows the head (R4): the agent's own instruction in a frame that says what the material is.

import { textInsides } from '../wire/chat-request.ts'
import type { Slice } from '../wire/json-slices.ts'

const frame = 'The conversation above is the material for the request below. Reply with the requested summary alone: ' +
  'do not mention this request, do not continue the conversation, and do not call a tool.'

/** For a summary request that brings no instruction of its own. */
const checkpoint = 'Write a summary of the conversation above that lets another assistant carry on from here without reading it. ' +
  'State the goal, the decisions made and why, what was done with the exact names of files, commands and values that matter, ' +
  'what is still open, and the next steps.'

/**
 * The directive as a JSON message, made of the request's own escaped bytes: nothing in them is re-serialised.
 * @param body the summary request's body
 * @param foreignFront the summariser's own system messages
 * @param instruction its trailing instruction, or null
 * @returns null where one of them holds anything but text
 */
export function directive(body: Buffer, foreignFront: readonly Slice[], instruction: Slice | null): Buffer | null {
  const insides: Buffer[] = []
  for (const message of [...foreignFront, ...(instruction ? [instruction] : [])]) {
    const texts = textInsides(body, message)
    if (texts === null) return null
    insides.push(...texts.filter((text) => text.length > 0))
  }
  return framed(insides.length === 0 ? [escaped(checkpoint)] : insides)
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
