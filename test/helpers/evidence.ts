// Evidence for tests of the pure core.

import type { Evidence } from '../../src/conversation/evidence.ts'
import { chat } from '../../src/endpoint/chat.ts'
import { bytes } from './chat-requests.ts'

let count = 0

/** Evidence of a request body, with what a test says of it. */
export function evidenceOf(body: object | string | Buffer, said: Partial<Evidence> = {}): Evidence {
  return {
    id: `e${++count}`, tenant: 't', endpoint: chat, conversation: null, body: bytes(body), plain: null, routing: [], sessionToken: [], completedAt: 0,
    promptTokens: null, finish: 'stop', replyText: null, ids: null, forkFailed: false, ...said,
  }
}
