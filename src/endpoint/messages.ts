// POST /v1/messages: Anthropic's form, turned into chat by vLLM. It tells no token ids.

import type { Endpoint } from './endpoint.ts'
import { messagesForkBody } from './messages-body.ts'
import { calibrateMessages, messagesShape } from './messages-calibration.ts'
import { messagesErrors } from './messages-errors.ts'
import { MessageTranslator } from './messages-from-chat.ts'
import { messagesOptions } from './messages-options.ts'
import { addEvent, addReply } from './messages-reply.ts'
import { messagesAsChat, sameMessage } from './messages-to-chat.ts'

export const messages: Endpoint = {
  name: 'messages',
  path: '/v1/messages',
  itemsKey: 'messages',
  sameItem: sameMessage,
  options: messagesOptions,
  errors: messagesErrors,
  reply: {
    // The events that stop the last block and the message.
    tailBytes: 64 * 1024,
    addEvent,
    addReply,
    promptIds: () => null,
  },
  read(body) {
    const read = messagesAsChat(body)
    return read && { endpoint: messages, body, ...read }
  },
  forkBody: messagesForkBody,
  edit: () => ({
    reply: (json) => json,
    event: ({ raw }) => raw,
    failed: (code, message, type) => Buffer.concat([Buffer.from('event: error\ndata: '), messagesErrors.body(code, message, type), Buffer.from('\n\n')]),
  }),
  fromChat: (_summary, promptTokens) => new MessageTranslator(promptTokens),
  shape: messagesShape,
  calibrate: calibrateMessages,
}
