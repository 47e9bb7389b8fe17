// npm run test:vllm: one real vLLM for all suites that need one.

import t from 'tap'
import { startRealEngine } from '../helpers/real-engine.ts'
import { forkSuite } from './fork-suite.ts'

t.setTimeout(0)

const engine = await startRealEngine({ model: 'large' })
t.teardown(() => engine.close())

await t.test('forks', t => forkSuite(t, engine))
