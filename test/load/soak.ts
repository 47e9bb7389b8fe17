// `npm run soak`: ten minutes of mixed traffic before an engine that dies again and again.

import { parseArgs } from 'node:util'
import type { Usage } from './process.ts'
import { soak } from './soaking.ts'

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' }, agents: { type: 'string', default: '12' } } })
const seconds = Number(values.minutes) * 60
const found = await soak({ seconds, warmUpSeconds: Math.min(60, seconds / 4), agents: Number(values.agents), restartEverySeconds: Math.min(30, seconds / 8) })

const shown = (counts: Record<string, number>) => Object.entries(counts).sort().map(([name, count]) => `${name} ${count}`).join('; ') || 'none'
const usage = ({ rssMb, heldMb, evidenceMb, files }: Usage) => `${files} files open, ${heldMb.toFixed(1)} MB held, ${evidenceMb.toFixed(1)} of it evidence, process of ${rssMb.toFixed(0)} MB`
console.log(`${values.minutes} minutes, ${values.agents} agents, the engine died ${found.restarts} times`)
console.log(`requests   ${shown(found.tally)}`)
console.log(`summaries  ${shown(found.decisions)}`)
console.log(`warnings   ${shown(found.warnings)}`)
console.log(`after the warm-up, quiet  ${usage(found.before)}`)
for (const sample of found.samples) console.log(`at work                   ${usage(sample)}`)
console.log(`at the end, quiet         ${usage(found.after)}`)
for (const fault of found.faults.slice(0, 20)) console.log(fault)
console.log(found.faults.length === 0 ? 'nothing lost, nothing mixed up, and as it was' : `${found.faults.length} faults`)
process.exitCode = found.faults.length === 0 ? 0 : 1
