// POST /v1/responses: items of a conversation, turned into chat messages by vLLM. What it stores is not ours to see.

import { openAiErrors } from '../errors.ts'
import type { Endpoint } from './endpoint.ts'
import { asksForMessages, responsesForkBody } from './responses-body.ts'
import { calibrateResponses, responsesShape } from './responses-calibration.ts'
import { ResponseEdit } from './responses-edit.ts'
import { ResponseTranslator } from './responses-from-chat.ts'
import { responsesOptions } from './responses-options.ts'
import { addEvent, addReply, promptIds } from './responses-reply.ts'
import { responsesAsChat } from './responses-to-chat.ts'

export const responses: Endpoint = {
  name: 'responses',
  path: '/v1/responses',
  itemsKey: 'input',
  options: responsesOptions,
  errors: openAiErrors,
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
  edit: (summary) => new ResponseEdit(asksForMessages(summary)),
  fromChat: (summary) => new ResponseTranslator(summary),
  shape: responsesShape,
  calibrate: calibrateResponses,
}
