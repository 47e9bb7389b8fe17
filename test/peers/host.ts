// A process that starts a proxy on Node in front of an engine whenever it is told to, and ends it again.
// Argument: which proxy. Messages: { origin } is answered with { port }, { close: port } with { closed: port }.

import { startHttpProxy } from './http-proxy.ts'
import type { Running } from './row.ts'
import { startWarmfork } from './warmfork.ts'

const start = process.argv[2] === 'warmfork' ? startWarmfork : startHttpProxy
const running = new Map<number, Running>()

process.on('message', async (told: { origin: string } | { close: number }) => {
  if ('origin' in told) {
    const started = await start(told.origin)
    running.set(started.port, started)
    process.send!({ origin: told.origin, port: started.port })
  } else {
    await running.get(told.close)?.close()
    running.delete(told.close)
    process.send!({ closed: told.close })
  }
})
process.on('disconnect', () => process.exit())
