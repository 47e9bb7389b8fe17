// How a stream ended, by its last bytes: enough for evidence, without reading every event.

import { emptyReply, type ReplyState } from '../wire/reply.ts'
import { SseSplitter } from '../wire/sse.ts'
import type { ReplyReading } from './endpoint.ts'

/**
 * @param tail the last bytes of the body
 * @param isWhole whether the tail is the whole body; else its first event is cut and left out
 */
export function readTail(reading: ReplyReading, tail: Buffer, isWhole: boolean): ReplyState {
  const events = new SseSplitter().push(tail)
  const state = emptyReply()
  for (const event of isWhole ? events : events.slice(1)) reading.addEvent(state, event)
  return state
}
