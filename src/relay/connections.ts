// Which client connections are open, which of them carry an unfinished reply, and which are one too many.
// Node counts a reply as over once end() was called, although its bytes may still wait for a slow client; closing such a
// connection would cut it.

import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export interface Connections {
  /** Open connections, those that are turned away left out. */
  count(): number
  /**
   * Whether a connection's request is answered. One that came when as many as may be were open is turned away, unless
   * there is room by now, or by closing an idle one: its request gets an error and it is closed.
   */
  admits(socket: Socket): boolean
  /**
   * Notes a request; `over` is called once, when its reply is finished or its connection is gone.
   * @returns the reply of the request before it on its connection, if that is not finished
   */
  enter(response: ServerResponse, over: () => void): ServerResponse | null
  /** The replies of a connection that are not finished. */
  unfinished(socket: Socket): readonly ServerResponse[]
  /** A connection that carries another protocol from now on only counts. */
  leave(socket: Socket): void
  /** From now on a connection is closed as soon as it carries nothing; the client is told where that is possible. */
  drain(): void
}

/** A connection that was used less than so many ms ago may be about to be used again: it makes no room. */
const restMs = 1_000

/** How many connections beyond the limit may wait to be told so, and how long each may take to ask, in ms. */
const waitingAtATime = 64
const waitingMs = 5_000

/** How many requests of one connection may wait for each other; no client that is meant well sends half as many. */
const pipelinedAtATime = 100

interface Idle {
  /** In performance.now(). */
  readonly since: number
  /** What had been read of the socket by then: more is the head of a request. */
  readonly bytesRead: number
}

/**
 * Watches all connections of a server and closes the idle ones in Node's place.
 * @param limit most connections that are served at a time; null for as many as there are
 */
export function trackConnections(server: Server, limit: number | null): Connections {
  const replies = new Map<Socket, Set<ServerResponse>>()
  /** The one idle for longest first. */
  const idle = new Map<Socket, Idle>()
  /** Those beyond the limit, with what closes them. */
  const waiting = new Map<Socket, NodeJS.Timeout>()
  const tunnels = new Set<Socket>()
  let draining = false

  const count = () => replies.size - waiting.size + tunnels.size

  const closeIdle = () => {
    for (const [socket, { bytesRead }] of idle) if (socket.bytesRead === bytesRead) socket.destroy()
  }
  const makesRoom = () => limit === null || count() < limit || closeLongestIdle()
  const isIdle = (socket: Socket) => void idle.set(socket, { since: performance.now(), bytesRead: socket.bytesRead })

  function closeLongestIdle(): boolean {
    for (const [socket, { since, bytesRead }] of idle) {
      if (waiting.has(socket) || socket.bytesRead > bytesRead) continue
      if (performance.now() - since < restMs) return false
      forget(socket)
      socket.destroy()
      return true
    }
    return false
  }

  function forget(socket: Socket): void {
    clearTimeout(waiting.get(socket))
    waiting.delete(socket)
    idle.delete(socket)
    replies.delete(socket)
    tunnels.delete(socket)
  }

  server.on('connection', (socket: Socket) => {
    if (!makesRoom()) {
      if (waiting.size >= waitingAtATime) return void socket.destroy()
      waiting.set(socket, setTimeout(() => socket.destroy(), waitingMs))
    }
    replies.set(socket, new Set())
    isIdle(socket)
    socket.once('close', () => forget(socket))
  })
  // server.close() calls this.
  server.closeIdleConnections = closeIdle

  return {
    count,
    admits(socket) {
      if (!waiting.has(socket)) return true
      clearTimeout(waiting.get(socket))
      if (!makesRoom()) return false
      waiting.delete(socket)
      return true
    },
    enter(response, over) {
      const socket = response.req.socket
      const running = replies.get(socket)
      let before: ServerResponse | null = null
      if (running) {
        if (running.size >= pipelinedAtATime) socket.destroy()
        for (const earlier of running) before = earlier
        running.add(response)
      }
      idle.delete(socket)
      if (draining) response.shouldKeepAlive = false
      response.once('close', () => {
        running?.delete(response)
        if (running?.size === 0 && replies.has(socket)) isIdle(socket)
        over()
        if (draining) closeIdle()
      })
      return before
    },
    leave(socket) {
      replies.delete(socket)
      idle.delete(socket)
      tunnels.add(socket)
    },
    unfinished: (socket) => [...(replies.get(socket) ?? [])],
    drain() {
      draining = true
      for (const running of replies.values()) {
        for (const response of running) response.shouldKeepAlive = false
      }
      closeIdle()
    },
  }
}
