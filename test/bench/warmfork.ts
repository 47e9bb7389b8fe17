// warmfork in a process of its own, for benchmarks. Arguments: engine, fork.mode. Prints where it listens.

import { pino } from 'pino'
import { startApp } from '../../src/app.ts'
import { configSchema } from '../../src/config.ts'

const [engine, mode] = process.argv.slice(2)
const config = configSchema.parse({ upstream: { url: engine }, server: { port: 0 }, admin: { port: 0 }, fork: { mode }, proof: { timeout_ms: 60_000 } })
const { url, adminUrl } = await startApp(config, pino({ level: 'silent' }))
console.log(JSON.stringify({ url, admin_url: adminUrl }))
