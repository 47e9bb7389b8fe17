// `npm run fuzz`: 100 000 mutated requests over raw sockets, until something gives.

import { parseArgs } from 'node:util'
import { fuzz } from './fuzzing.ts'

const { values } = parseArgs({ options: { requests: { type: 'string', default: '100000' }, seed: { type: 'string', default: String(Date.now() % 100_000) } } })
const { requests, statuses, faults } = await fuzz(Number(values.requests), Number(values.seed), 64)
console.log(`seed ${values.seed}: ${requests} requests, replies by status (0: none): ${JSON.stringify(statuses)}`)
for (const fault of faults.slice(0, 20)) console.log(fault)
console.log(faults.length === 0 ? 'no crash, no hang, no mix-up' : `${faults.length} faults`)
process.exitCode = faults.length === 0 ? 0 : 1
