// Answers of warmfork's own. Every one is JSON in its route's form with an exact length, and says who made it.

import { type ServerResponse, STATUS_CODES } from 'node:http'
import { errorDefinitions, openAiErrors, type ErrorCode, type ErrorForm } from '../errors.ts'

/** An error answer whose code does not stand in errors.ts: a reason, a verdict. */
export interface ErrorAnswer {
  readonly status: number
  /** Stable name; also the value of the header `x-warmfork-error`. */
  readonly code: string
  readonly message: string
  readonly type: string
}

/**
 * Answers with an error of ours; nothing must have been sent before.
 * @param extraHeaders name, value, …
 */
export function sendError(response: ServerResponse, form: ErrorForm, code: ErrorCode, extraHeaders: readonly string[] = []): void {
  sendErrorAnswer(response, form, { code, ...errorDefinitions[code] }, extraHeaders)
}

/**
 * Answers with an error that errors.ts does not hold; nothing must have been sent before.
 * @param extraHeaders name, value, …
 */
export function sendErrorAnswer(
  response: ServerResponse,
  form: ErrorForm,
  answer: ErrorAnswer,
  extraHeaders: readonly string[] = [],
): void {
  writeErrorAnswer(response, form, answer, extraHeaders)
  response.end()
}

/**
 * Writes the whole answer and leaves the response open, for one who must read on before he closes.
 * @param extraHeaders name, value, …
 */
export function writeErrorAnswer(
  response: ServerResponse,
  form: ErrorForm,
  answer: ErrorAnswer,
  extraHeaders: readonly string[] = [],
): void {
  const body = form.body(answer.code, answer.message, answer.type)
  response.writeHead(answer.status, [...errorHeaders(answer.code, body), ...extraHeaders])
  response.write(body)
}

/**
 * An error of ours as the bytes of a whole reply, for a socket on which no request could be read.
 * @param extraHeaders name, value, …
 */
export function errorReplyBytes(code: ErrorCode, extraHeaders: readonly string[] = []): Buffer {
  const { status, message, type } = errorDefinitions[code]
  const body = openAiErrors.body(code, message, type)
  const headers = [...errorHeaders(code, body), 'connection', 'close', ...extraHeaders]
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`
  for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`
  return Buffer.concat([Buffer.from(`${head}\r\n`, 'latin1'), body])
}

function errorHeaders(code: string, body: Buffer): string[] {
  return ['content-type', 'application/json', 'content-length', String(body.length), 'x-warmfork-error', code]
}
