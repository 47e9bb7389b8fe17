// The whole of warmfork with its default configuration, as `npm start -- --upstream` runs it.

import { pino } from 'pino'
import { startApp } from '../../src/app.ts'
import { configured } from '../helpers/warmfork.ts'
import type { Running } from './row.ts'

export async function startWarmfork(origin: string): Promise<Running> {
  const { url, close } = await startApp(configured(origin), pino({ level: 'silent' }))
  return { port: Number(new URL(url).port), close: () => close(0) }
}
