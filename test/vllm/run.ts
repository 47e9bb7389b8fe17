// npm run test:vllm: all suites that need a real vLLM, with one start of it for each checkpoint.

import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { qwen3Tokenizer } from '../../src/simulator/tokenizer.ts'
import { engineContract } from '../contract/engine-contract.ts'
import { installVllm, startRealEngine, type RealEngine, type RealEngineOptions } from '../helpers/real-engine.ts'
import { systemFirst } from '../helpers/system-first.ts'
import { forkSuite } from './fork-suite.ts'
import { messagesConversion } from './messages-conversion.ts'
import { messagesForkSuite } from './messages-fork-suite.ts'
import { responsesConversion } from './responses-conversion.ts'
import { responsesForkSuite } from './responses-fork-suite.ts'
import { thinkingForkSuite } from './thinking-fork-suite.ts'

t.setTimeout(0)

await t.test('the chat form of responses requests', async t => responsesConversion(t, await installVllm()))
await t.test('the chat form of messages requests', async t => messagesConversion(t, await installVllm()))

await withEngine({ model: 'large' }, async (t, engine) => {
  await t.test('the contract', t => engineContract(t, engine))
  await t.test('forks', t => forkSuite(t, engine))
  await t.test('forks of responses', t => responsesForkSuite(t, engine))
  await t.test('forks of messages', t => messagesForkSuite(t, engine))
})

await withEngine({ model: 'think', extraArgs: ['--enable-scale-out'] }, async (t, engine) => {
  await t.test('the contract', t => engineContract(t, { ...engine, thinks: true, scaleOut: true }))
  await t.test('forks', t => thinkingForkSuite(t, engine))
  await t.test('forks of responses', t => responsesForkSuite(t, engine, { reasoning: true, placement: 'tokens' }))
  await t.test('forks of messages', t => messagesForkSuite(t, engine, { reasoning: true, placement: 'tokens' }))
})

// The messages endpoint moves inline system text to the front then.
await withEngine({ model: 'small', extraArgs: ['--chat-template', templateFile(systemFirst)] }, async (t, engine) => {
  await t.test('forks of messages where system text comes first', t => messagesForkSuite(t, engine))
})

function templateFile(change: (original: string) => string): string {
  const file = join(mkdtempSync(join(tmpdir(), 'warmfork-template-')), 'template.jinja')
  writeFileSync(file, change(qwen3Tokenizer().chatTemplate))
  return file
}

async function withEngine(options: RealEngineOptions, suites: (t: Test, engine: RealEngine) => Promise<void>): Promise<void> {
  await t.test(`vLLM with ${options.model}`, async t => {
    const engine = await startRealEngine(options)
    t.teardown(() => engine.close())
    await suites(t, engine)
  })
}
