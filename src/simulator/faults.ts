// Trouble that a test asks for on any route: what a sick engine, a gateway or a network does.

import type { ServerResponse } from 'node:http'
import { type Answer, send, writeHead } from './answer.ts'

export interface FaultRequest {
  readonly method: string
  /** Path without the query. */
  readonly path: string
  readonly body: Buffer
}

/** `rewrite`, `half` and `delay` touch whole answers; a running chat fails by its script instead (Reply.fail). */
export type Fault =
  /** Another answer in place of the real one; JSON unless `contentType` says otherwise. */
  | { readonly kind: 'answer', readonly status: number, readonly body: string, readonly contentType?: string }
  /** The real answer's JSON, changed: ids that are not integers, a member missing. */
  | { readonly kind: 'rewrite', readonly change: (answer: any) => unknown }
  /** The head and the first half of the body, then a reset. */
  | { readonly kind: 'half' }
  /** The connection ends before a head. */
  | { readonly kind: 'reset' }
  /** No answer at all, until the client goes. */
  | { readonly kind: 'silence' }
  /** The real answer, later. */
  | { readonly kind: 'delay', readonly ms: number }

/** Answers a request whose answer is known, with the fault if there is one. */
export async function sendWithFault(response: ServerResponse, answer: Answer, fault: Fault | undefined): Promise<void> {
  switch (fault?.kind) {
    case undefined:
      return send(response, answer)
    case 'answer':
      return send(response, {
        status: fault.status, headers: { 'content-type': fault.contentType ?? 'application/json' }, body: fault.body,
      })
    case 'rewrite':
      return send(response, { ...answer, body: JSON.stringify(fault.change(JSON.parse(answer.body))) })
    case 'half': {
      const body = Buffer.from(answer.body)
      writeHead(response, answer.status, { 'content-length': String(body.length), ...answer.headers })
      response.write(body.subarray(0, Math.floor(body.length / 2)), () => response.destroy())
      return
    }
    case 'reset':
      response.destroy()
      return
    case 'silence':
      return
    case 'delay':
      await new Promise((resolve) => setTimeout(resolve, fault.ms))
      return send(response, answer)
  }
}
