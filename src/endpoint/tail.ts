// How a stream ended, by its last bytes: enough for evidence, without reading every event.

import { emptyReply, type ReplyState } from '../wire/reply.ts'
import { SseSplitter } from '../wire/sse.ts'
import type { ReplyReading } from './endpoint.ts'

/** The last events mostly stand in so few bytes; to read all of a long tail takes half a millisecond. */
const fewBytes = 8 * 1024

/**
 * @param tail the last bytes of the body
 * @param isWhole whether the tail is the whole body; else its first event is cut and left out
 * @returns finish, usage, end mark and errors; its text is that of some last events only
 */
export function readTail(reading: ReplyReading, tail: Buffer, isWhole: boolean): ReplyState {
  const few = tail.length > fewBytes && !tail.includes('"error"') ? readEvents(reading, tail.subarray(-fewBytes), false) : null
  return few !== null && few.finish !== null ? few : readEvents(reading, tail, isWhole)
}

/**
 * All that a stream says.
 * @param isWhole whether it begins with an event; else its first one is cut and left out
 */
export function readEvents(reading: ReplyReading, bytes: Buffer, isWhole: boolean): ReplyState {
  const events = new SseSplitter().push(bytes)
  const state = emptyReply()
  for (const event of isWhole ? events : events.slice(1)) reading.addEvent(state, event)
  return state
}
