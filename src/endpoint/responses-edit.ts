// One fork's response as the client is to see it: without the messages that we asked for, and failed in order.

import { numberOption, option, stringOption, type WithMembers } from '../wire/chat-request.ts'
import { membersOf, skipSpace, type Slice } from '../wire/json-slices.ts'
import type { SseEvent } from '../wire/sse.ts'
import type { ReplyEdit } from './endpoint.ts'
import { messageLists } from './responses-reply.ts'
import { eventWithNulls, spliceNulls } from './splice-nulls.ts'

/** What an event of ours says of the response that it ends. */
interface Begun {
  readonly id: string | null
  readonly created_at: number | null
  readonly model: string | null
}

export class ResponseEdit implements ReplyEdit {
  readonly #keepsMessages: boolean
  #begun: Begun | null = null
  #last: Buffer | null = null

  /** @param keepsMessages the client asked for them itself */
  constructor(keepsMessages: boolean) {
    this.#keepsMessages = keepsMessages
  }

  reply(json: Buffer): Buffer {
    return this.#keepsMessages ? json : spliceNulls(json, listsOf(json))
  }

  event(event: SseEvent): Buffer {
    const { raw, data } = event
    if (data === null) return raw
    this.#begun ??= begunBy(data)
    this.#last = data
    return this.#keepsMessages ? raw : eventWithNulls(event, listsOf(data))
  }

  /** Agents look for `response.failed`, OpenAI's SDKs for an `error` in any event. */
  failed(code: string, message: string, type: string): Buffer {
    const begun = this.#begun ?? { id: 'resp_warmfork', created_at: Math.floor(Date.now() / 1000), model: null }
    const response = { ...begun, object: 'response', status: 'failed', error: { code, message }, output: [], incomplete_details: null, usage: null }
    const last = this.#last === null ? null : numberOption(objectIn(this.#last, 0), 'sequence_number')
    const data = { error: { message, type, param: null, code }, response, sequence_number: last === null ? 0 : last + 1, type: 'response.failed' }
    return Buffer.from(`event: response.failed\ndata: ${JSON.stringify(data)}\n\n`)
  }
}

function listsOf(json: Buffer): Slice[] {
  return messageLists(json).map(({ value }) => value)
}

/** The response that an event tells of; null for an event that holds none. */
function begunBy(data: Buffer): Begun | null {
  const at = option(objectIn(data, 0), 'response')
  if (!at) return null
  const response = objectIn(data, at.start)
  return { id: stringOption(response, 'id'), created_at: numberOption(response, 'created_at'), model: stringOption(response, 'model') }
}

function objectIn(body: Buffer, from: number): WithMembers {
  return { body, members: membersOf(body, skipSpace(body, from)) ?? [] }
}
