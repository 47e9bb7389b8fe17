// An answer as a value, so that a fault can still change it before it is sent.

import { STATUS_CODES, type ServerResponse } from 'node:http'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export function jsonAnswer(status: number, body: object): Answer {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
}

/**
 * Begins an answer with the headers that uvicorn and vLLM's CORS put around the route's own, in their order. No
 * `connection` or `keep-alive` header, although the connection is kept: a client cannot know that it ends after 5 s.
 */
export function writeHead(response: ServerResponse, status: number, headers: Readonly<Record<string, string>>): void {
  response.removeHeader('connection')
  response.writeHead(status, STATUS_CODES[status], {
    date: new Date().toUTCString(), server: 'uvicorn', ...headers, vary: 'Origin',
  })
}

export function send(response: ServerResponse, answer: Answer): void {
  const body = Buffer.from(answer.body)
  const { allow, ...headers } = answer.headers
  writeHead(response, answer.status, {
    ...(allow === undefined ? {} : { allow }), 'content-length': String(body.length), ...headers,
  })
  response.end(body)
}
