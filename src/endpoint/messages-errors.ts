// Errors of ours on the messages endpoint, in Anthropic's form; the stable code stands beside its type.

import type { ErrorForm } from '../errors.ts'

export const messagesErrors: ErrorForm = {
  body: (code, message, type) => Buffer.from(JSON.stringify({ type: 'error', error: { type, message, code } })),
}
