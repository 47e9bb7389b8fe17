// POST /v1/chat/completions: its own chat form, byte for byte.

import { openAiErrors } from '../errors.ts'
import { addEvent, addReply } from '../wire/chat-reply.ts'
import { readChatRequest } from '../wire/chat-request.ts'
import { readTokenIds } from '../wire/token-ids.ts'
import { asksForTokenIds, asksForUsage, chatForkBody } from './chat-body.ts'
import { ChatEdit } from './chat-edit.ts'
import { chatOptions } from './chat-options.ts'
import type { Endpoint } from './endpoint.ts'

export const chat: Endpoint = {
  name: 'chat',
  path: '/v1/chat/completions',
  itemsKey: 'messages',
  options: chatOptions,
  errors: openAiErrors,
  reply: {
    // The finish, usage and end events.
    tailBytes: 64 * 1024,
    addEvent,
    addReply,
    promptIds: (json) => readTokenIds(json, '"prompt_token_ids":['),
  },
  read(body) {
    const request = readChatRequest(body)
    return request && {
      endpoint: chat, body, members: request.members, chat: request,
      items: request.messages.map(({ slice }) => slice),
      itemsEnd: request.messages.map((_, i) => i + 1),
    }
  },
  forkBody: chatForkBody,
  edit(summary) {
    return new ChatEdit({ usage: asksForUsage(summary.chat), tokenIds: asksForTokenIds(summary.chat) })
  },
  fromChat: () => null,
}
