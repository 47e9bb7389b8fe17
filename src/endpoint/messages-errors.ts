// Errors of ours on the messages endpoint, in Anthropic's form; the stable code stands beside its type.

import type { ErrorForm } from '../errors.ts'

export const messagesErrors: ErrorForm = {
  body: (code, message, type) => Buffer.from(JSON.stringify({ type: 'error', error: { type, message, code } })),
  event: (code, message, type) => Buffer.concat([Buffer.from('event: error\ndata: '), messagesErrors.body(code, message, type), Buffer.from('\n\n')]),
}
