// Which client connections carry an unfinished reply. Node counts a reply as over once end() was called, although
// its bytes may still wait for a slow client; closing such a connection would cut it.

import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export interface Connections {
  /** Notes a request; `over` is called once, when its reply is finished or its connection is gone. */
  enter(response: ServerResponse, over: () => void): void
  /** The replies of a connection that are not finished. */
  unfinished(socket: Socket): readonly ServerResponse[]
  /** A connection that carries another protocol from now on is no longer looked after here. */
  leave(socket: Socket): void
  /** From now on a connection is closed as soon as it carries nothing; the client is told where that is possible. */
  drain(): void
}

/** Watches all connections of a server and closes the idle ones in Node's place. */
export function trackConnections(server: Server): Connections {
  const replies = new Map<Socket, Set<ServerResponse>>()
  let draining = false

  const closeIdle = () => {
    for (const [socket, running] of replies) {
      if (running.size === 0) socket.destroy()
    }
  }
  server.on('connection', (socket: Socket) => {
    replies.set(socket, new Set())
    socket.once('close', () => replies.delete(socket))
  })
  // server.close() calls this.
  server.closeIdleConnections = closeIdle

  return {
    enter(response, over) {
      const socket = response.req.socket
      const running = replies.get(socket)
      running?.add(response)
      if (draining) response.shouldKeepAlive = false
      response.once('close', () => {
        running?.delete(response)
        over()
        if (draining) closeIdle()
      })
    },
    leave: (socket) => void replies.delete(socket),
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
