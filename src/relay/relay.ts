// A client's request to the engine and the reply back, as they came and when they come: the hot path out.
// Never parses a byte, and never lets half a reply look whole.

import type { ErrorCode } from '../errors.ts'
import { cut } from './cut.ts'
import { headersForClient, headersForEngine, headerValue } from './headers.ts'
import { hasLeft } from './received.ts'
import { sendError } from './respond.ts'
import type { ExchangeHandler, Relay, ReplyEnd, ReplyObserver, Upstream } from './types.ts'
import { connectTimedOut, outOfDescriptors } from './upstream.ts'

export interface RelayOptions {
  /** Headers on every reply, errors of ours included. Name, value, … */
  readonly replyHeaders?: readonly string[]
  /** Told once per reply whose observer threw; the client notices nothing. */
  readonly onObserverFault?: (error: unknown) => void
}

/**
 * Relays requests to one engine. `pass` tells its observer `complete` as soon as the engine's body has ended, so
 * that what is recorded is there before the client's next request; the promise waits until the client has it all.
 * A connection that was reset before any head counts as `upstream_died`, one that never was as `unreachable`.
 */
export function createRelay(upstream: Upstream, options: RelayOptions = {}): Relay {
  const everyReply = options.replyHeaders ?? []

  return {
    pass(request, passOptions = {}) {
      const { response } = request
      const addedHeaders = passOptions.replyHeaders ? [...passOptions.replyHeaders, ...everyReply] : everyReply
      const observer = guarded(passOptions.observer, options.onObserverFault)
      if (hasLeft(response)) {
        observer.end('client_gone')
        return Promise.resolve('client_gone')
      }

      return new Promise<ReplyEnd>((resolve) => {
        let ended: ReplyEnd | undefined
        let hasLength = false

        const leave = () => {
          if (ended === undefined) {
            ended = 'client_gone'
            exchange.abort()
            observer.end(ended)
          }
          resolve(ended === 'complete' && !response.writableFinished ? 'client_gone' : ended)
        }
        response.once('close', leave)

        const settle = (how: ReplyEnd) => {
          ended = how
          observer.end(how)
        }

        const handler: ExchangeHandler = {
          head(status, statusMessage, rawHeaders) {
            const headers = headersForClient(rawHeaders)
            hasLength = headerValue(headers, 'content-length') !== undefined
            headers.push(...addedHeaders)
            response.writeHead(status, statusMessage, headers)
            // Sends the head at once, like flushHeaders(), which would write it as UTF-8.
            response.write('', 'latin1')
            observer.head(status, rawHeaders)
          },
          data(chunk) {
            if (!response.write(chunk)) exchange.pause()
            observer.data(chunk)
          },
          end(rawTrailers) {
            if (rawTrailers.length > 0) response.addTrailers(pairs(headersForClient(rawTrailers)))
            response.end()
            settle('complete')
          },
          fault(fault, error) {
            if (response.headersSent) {
              cut(response, hasLength)
            } else if (fault !== 'unreachable') {
              sendError(response, request.errors, 'upstream_reset', addedHeaders)
            } else {
              sendError(response, request.errors, unreachable(error), addedHeaders)
            }
            settle(fault === 'unreachable' ? 'unreachable' : 'upstream_died')
          },
        }

        const exchange = upstream.exchange(
          {
            method: request.method,
            target: request.target,
            headers: headersForEngine(request.rawHeaders),
            body: request.body,
          },
          handler,
          { retryReused: true },
        )
        response.on('drain', () => exchange.resume())
      })
    },
  }
}

function unreachable(error: Error): ErrorCode {
  if (outOfDescriptors(error)) return 'out_of_descriptors'
  return connectTimedOut(error) ? 'upstream_timeout' : 'upstream_unreachable'
}

const nobody: ReplyObserver = { head() {}, data() {}, end() {} }

/** An observer that cannot hurt: after a throw it only hears the end, so that it can release what it holds. */
function guarded(observer: ReplyObserver | undefined, onFault: RelayOptions['onObserverFault']): ReplyObserver {
  if (observer === undefined) return nobody
  let faulty = false
  const fail = (error: unknown) => {
    if (!faulty) onFault?.(error)
    faulty = true
  }
  return {
    head(status, rawHeaders) {
      try {
        if (!faulty) observer.head(status, rawHeaders)
      } catch (error) {
        fail(error)
      }
    },
    data(chunk) {
      try {
        if (!faulty) observer.data(chunk)
      } catch (error) {
        fail(error)
      }
    },
    end(how) {
      try {
        observer.end(how)
      } catch (error) {
        fail(error)
      }
    },
  }
}

function pairs(raw: readonly string[]): [string, string][] {
  const result: [string, string][] = []
  for (let i = 0; i + 1 < raw.length; i += 2) result.push([raw[i]!, raw[i + 1]!])
  return result
}
