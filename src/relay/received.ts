// A request as the traffic server hands it on. What is dear and seldom asked for is made when it is asked for.

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { ErrorForm } from '../errors.ts'
import type { ClientRequest } from './types.ts'

export class ReceivedRequest implements ClientRequest {
  readonly target: string
  readonly path: string
  readonly body: Buffer
  readonly response: ServerResponse
  readonly errors: ErrorForm
  readonly receivedAt: number
  readonly #request: IncomingMessage
  #gone: AbortController | undefined

  constructor(request: IncomingMessage, response: ServerResponse, rest: Pick<ClientRequest, 'target' | 'path' | 'body' | 'errors' | 'receivedAt'>) {
    this.#request = request
    this.response = response
    this.target = rest.target
    this.path = rest.path
    this.body = rest.body
    this.errors = rest.errors
    this.receivedAt = rest.receivedAt
  }

  get method(): string {
    return this.#request.method ?? 'GET'
  }

  get rawHeaders(): readonly string[] {
    return this.#request.rawHeaders
  }

  get headers(): IncomingHttpHeaders {
    return this.#request.headers
  }

  /** Only who asks the engine something of his own needs it; made for every request it would cost as much as all headers. */
  get gone(): AbortSignal {
    return (this.#gone ??= this.#watch()).signal
  }

  #watch(): AbortController {
    const gone = new AbortController()
    const { response } = this
    if (hasLeft(response)) gone.abort()
    else response.once('close', () => hasLeft(response) && gone.abort())
    return gone
  }
}

/** Whether a client went before its reply was finished. */
export function hasLeft(response: ServerResponse): boolean {
  return response.destroyed && !response.writableFinished
}
