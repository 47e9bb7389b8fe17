// Errors of ours on the responses endpoint: OpenAI's, and for a stream a failed response.

import { openAiErrors, type ErrorForm } from '../errors.ts'

export const responsesErrors: ErrorForm = {
  body: openAiErrors.body,
  /** Agents look for `response.failed`, OpenAI's SDKs for an `error` in any event. */
  event(code, message, type) {
    const response = { id: 'resp_warmfork', object: 'response', status: 'failed', error: { code, message }, output: [], incomplete_details: null, usage: null }
    const data = { error: { message, type, param: null, code }, response, sequence_number: 0, type: 'response.failed' }
    return Buffer.from(`event: response.failed\ndata: ${JSON.stringify(data)}\n\n`)
  },
}
