// `npm run load`: a thousand streams of 20 events a second for a minute, each event looked at. Fails when one is lost,
// moved or merged, or memory grows; what warmfork adds in time is printed, and never fails.

import { parseArgs } from 'node:util'
import type { Found } from './paced-clients.ts'
import { runStreams } from './paced-streams.ts'

const { values } = parseArgs({ options: {
  streams: { type: 'string', default: '1000' },
  seconds: { type: 'string', default: '60' },
  'per-second': { type: 'string', default: '20' },
  beside: { type: 'string', default: '50' },
  'direct-seconds': { type: 'string', default: '10' },
} })
const streams = Number(values.streams)
const perSecond = Number(values['per-second'])
const options = { streams, perSecond, seconds: Number(values.seconds), beside: Number(values.beside), directSeconds: Number(values['direct-seconds']) }
const { faults, alone, warmfork, beside, usage } = await runStreams(options)

console.log(`${streams} streams, ${perSecond} events a second each, ${values.seconds} s; ${values.beside} streams straight to the engine at the same time`)
const row = (what: string, { events, perSecond, p50, p99, max }: Found) =>
  console.log(`  ${what.padEnd(28)}${String(events).padStart(9)} events, ${perSecond.toFixed(2)} a second; delay ms p50 ${p50.toFixed(2)}, p99 ${p99.toFixed(2)}, max ${max.toFixed(1)}`)
if (alone) row('before, all of them direct', alone)
row('direct', beside)
row('through warmfork', warmfork)
console.log(`  added delay                 p50 ${(warmfork.p50 - beside.p50).toFixed(2)} ms, p99 ${(warmfork.p99 - beside.p99).toFixed(2)} ms`)
const memory = usage.map(({ rssMb }) => rssMb.toFixed(0))
console.log(`  memory (RSS, MB, each s)    ${memory.join(' ')}`)
const [first, last] = [usage[0]!, usage.at(-1)!]
console.log(`  CPU of warmfork             ${(100 * (last.cpuSeconds - first.cpuSeconds) / (usage.length - 1)).toFixed(0)} % of one core; most files open ${Math.max(...usage.map(({ files }) => files))}`)
for (const fault of faults.slice(0, 20)) console.log(fault)
console.log(faults.length === 0 ? 'no event lost, moved or merged' : `${faults.length} faults`)
process.exitCode = faults.length === 0 ? 0 : 1
