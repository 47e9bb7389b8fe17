// All rows, by concern.

import type { Row } from '../row.ts'
import { bodies } from './bodies.ts'
import { clientAbort } from './client-abort.ts'
import { connections } from './connections.ts'
import { framing } from './framing.ts'
import { headers } from './headers.ts'
import { streams } from './streams.ts'
import { targetsAndMethods } from './targets.ts'
import { upstreamDeath } from './upstream-death.ts'
import { websocket } from './websocket.ts'

export const concerns: Readonly<Record<string, readonly Row[]>> = {
  'Streams': streams,
  'Clients that go': clientAbort,
  'Engines that die': upstreamDeath,
  'Connections': connections,
  'Bodies and replies': bodies,
  'Headers': headers,
  'Targets and methods': targetsAndMethods,
  'Framing': framing,
  'Websockets': websocket,
}
