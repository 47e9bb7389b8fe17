// Server-sent events as Starlette writes them: the head goes out at once, events when the engine has something.

import type { ServerResponse } from 'node:http'
import { writeHead } from './answer.ts'
import { errorObject } from './errors.ts'

export interface EventStream {
  send(event: object): void
  /** With an `event` line, as responses and messages have it. */
  named(name: string, event: object): void
  /** vLLM's way to fail after the head: an error event, then [DONE] and a clean end. */
  fail(message: string): void
  done(): void
  /** Ends the body cleanly without [DONE]. */
  cut(): void
}

export function openEventStream(response: ServerResponse): EventStream {
  writeHead(response, 200, { 'content-type': 'text/event-stream; charset=utf-8', 'transfer-encoding': 'chunked' })
  response.flushHeaders()
  const send = (event: object): void => {
    response.write(`data: ${JSON.stringify(event)}\n\n`)
  }
  return {
    send,
    named: (name, event) => response.write(`event: ${name}\ndata: ${JSON.stringify(event)}\n\n`),
    fail(message) {
      send(errorObject(message, 'InternalServerError', null, 500))
      response.end('data: [DONE]\n\n')
    },
    done: () => response.end('data: [DONE]\n\n'),
    cut: () => response.end(),
  }
}
