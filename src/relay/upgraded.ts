// A client's socket that the HTTP server has let go: from then on nothing else listens to it, closes it or bounds its time.
// Never leaves one open because its client does nothing, and never lets a part look whole.

import type { Socket } from 'node:net'

/** How long a client may take to read its last bytes, in ms. */
const drainMs = 60_000
/** How long it may then take to close, in ms: one that still sends would lose them to a reset. */
const lingerMs = 1_000

export interface Upgraded {
  readonly socket: Socket
  /** Set while the client has part of a reply without length or chunks: there an orderly close would be the reply's end. */
  onlyResetTells: boolean
  /** Sends the last bytes, throws away what still comes, and closes. */
  endWith(bytes?: Buffer): void
  /** Closes at once. */
  destroy(): void
}

/**
 * Takes over a socket, to be called in the event that hands it over: a reset that nobody hears ends the process.
 * @param all holds it as long as it is open
 */
export function takeUpgraded(socket: Socket, all: Set<Upgraded>): Upgraded {
  let ending = false
  const upgraded: Upgraded = {
    socket,
    onlyResetTells: false,
    endWith(bytes) {
      if (ending || socket.destroyed) return
      ending = true
      socket.removeAllListeners('data')
      socket.resume()
      let timer = setTimeout(upgraded.destroy, drainMs)
      socket.once('finish', () => {
        clearTimeout(timer)
        timer = setTimeout(upgraded.destroy, lingerMs)
      })
      socket.once('close', () => clearTimeout(timer))
      socket.end(bytes ?? '')
    },
    destroy() {
      if (upgraded.onlyResetTells && !socket.writableFinished) socket.resetAndDestroy()
      else socket.destroy()
    },
  }
  all.add(upgraded)
  socket.setTimeout(0)
  socket.setNoDelay(true)
  socket.on('error', () => {})
  // A half close counts as gone, as it does for vLLM, unless the client has its last bytes to read.
  socket.once('end', () => {
    if (!ending) socket.destroy()
  })
  socket.once('close', () => all.delete(upgraded))
  return upgraded
}
