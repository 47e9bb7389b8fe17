// The demo as a user runs it. Its times are the simulator's, so nothing is asserted about them.

import { fileURLToPath } from 'node:url'
import t from 'tap'
import { run } from './helpers/processes.ts'

const demo = fileURLToPath(new URL('../src/demo/demo.ts', import.meta.url))

/** `<|im_start|>assistant` and a line feed, Qwen3's generation prompt. */
const generationPromptTokens = 3

t.test('the demo shows a session, its compaction as a fork, and the receipt', async (t) => {
  const { code, stdout, stderr } = await run(process.execPath, [demo], {})
  t.equal(code, 0)
  t.equal(stderr, '')
  t.match(stdout, /The engine is the simulator/)
  t.notMatch(stdout, '\u001b', 'colours are for terminals')
  t.notMatch(stdout, /^\{/m, 'no log line in between')

  const receipt = new Map([...stdout.matchAll(/^ {2}(x-warmfork-[a-z-]+|[a-z]+_[a-z_]+) +(\S+) {2}/gm)].map(([, name, value]) => [name!, value!]))
  t.equal(receipt.get('x-warmfork-decision'), 'forked')
  t.equal(receipt.get('x-warmfork-eligible'), 'true')
  t.equal(receipt.get('x-warmfork-fork-sent'), 'true')
  t.equal(receipt.get('x-warmfork-cache-hit-verified'), 'false')
  t.equal(receipt.get('prompt_ids_confirmed'), 'true')

  const [parentTokens] = tokensOf(stdout, 'main 10')
  t.ok(parentTokens! > 19_000 && parentTokens! < 21_000, `the session grows to about 20 000 tokens: ${parentTokens}`)
  t.ok(Number(receipt.get('x-warmfork-common-prefix-tokens')) >= parentTokens! - generationPromptTokens, 'the common prefix is the whole parent')

  const [, standaloneCached] = tokensOf(stdout, 'straight to the engine')
  const [, forkCached] = tokensOf(stdout, 'through warmfork')
  t.equal(standaloneCached, 0, 'the standalone request is cold')
  t.ok(forkCached! >= Number(receipt.get('reusable_tokens')))
  t.equal(Number(receipt.get('engine_cached_tokens')), forkCached)
})

/** The numbers in a row of a table, whose thousands are set apart. */
function tokensOf(stdout: string, row: string): number[] {
  const line = stdout.split('\n').find((each) => each.startsWith(`  ${row} `)) ?? ''
  return line.slice(row.length + 2).trim().split(/ {2,}/).map((cell) => Number(cell.replaceAll(' ', '')))
}
