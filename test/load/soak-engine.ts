// The engine of the soak, in a process of its own, so that it can be killed: the simulator, which counts as far as it is
// asked to and says whose count it is. Arguments: the port. Answers `running` with how many requests run, and starts
// anew at `restart`.

import { startSimulator } from '../../src/simulator/simulator.ts'
import { counted, countedPieces } from './counting.ts'

const simulator = await startSimulator({
  port: Number(process.argv[2]),
  decodeSecondsPerToken: 0.01,
  reply: ({ prompt }) => ({ pieces: countedPieces(counted(prompt)) }),
})
process.on('message', (what) => {
  if (what === 'restart') simulator.restart()
  process.send!({ running: simulator.running })
})
process.on('disconnect', () => process.exit())
process.send!({ port: simulator.port })
