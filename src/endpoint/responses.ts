// POST /v1/responses: items of a conversation, turned into chat messages by vLLM. What it stores is not ours to see.

import type { Endpoint } from './endpoint.ts'
import { asksForMessages, responsesForkBody } from './responses-body.ts'
import { calibrateResponses, responsesShape } from './responses-calibration.ts'
import { responsesErrors } from './responses-errors.ts'
import { ResponseTranslator } from './responses-from-chat.ts'
import { responsesOptions } from './responses-options.ts'
import { addEvent, addReply, messageLists, promptIds } from './responses-reply.ts'
import { responsesAsChat } from './responses-to-chat.ts'
import { eventWithNulls, spliceNulls } from './splice-nulls.ts'

export const responses: Endpoint = {
  name: 'responses',
  path: '/v1/responses',
  itemsKey: 'input',
  options: responsesOptions,
  errors: responsesErrors,
  reply: {
    tailBytes: 64 * 1024,
    // It repeats the instructions, the tools and all that was said. No data holds a line feed as it is.
    lastEvent: Buffer.from('\nevent: response.completed'),
    addEvent,
    addReply,
    promptIds,
  },
  read(body) {
    const read = responsesAsChat(body)
    return read && { endpoint: responses, body, ...read }
  },
  forkBody: responsesForkBody,
  edit(summary) {
    const asked = asksForMessages(summary)
    const lists = (json: Buffer) => messageLists(json).map(({ value }) => value)
    return {
      reply: (json) => (asked ? json : spliceNulls(json, lists(json))),
      event: (event) => (asked || event.data === null ? event.raw : eventWithNulls(event, lists(event.data))),
    }
  },
  fromChat: (summary) => new ResponseTranslator(summary),
  shape: responsesShape,
  calibrate: calibrateResponses,
}
