import t from 'tap'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { engineContract } from './engine-contract.ts'

for (const blockSize of [16, 128]) {
  t.test(`the simulator keeps the contract with blocks of ${blockSize}`, async (t) => {
    const simulator = await startSimulator({ blockSize, decodeSecondsPerToken: 0.001 })
    t.teardown(() => simulator.close())
    await engineContract(t, { url: simulator.url, model: 'qwen3-simulated', blockSize })
  })
}

t.test('a thinking simulator keeps the contract', async (t) => {
  const simulator = await startSimulator({
    decodeSecondsPerToken: 0.001, reasoningParser: true, scaleOut: true, reply: () => ({ reasoning: 'Let me see what happened.', content: 'Well.' }),
  })
  t.teardown(() => simulator.close())
  await engineContract(t, { url: simulator.url, model: 'qwen3-simulated', blockSize: 16, thinks: true, scaleOut: true })
})
