// The parts of a plan, each timed alone on the same bytes.

import { structuredCoverage } from '../../src/summary/coverage.ts'
import { directive } from '../../src/summary/directive.ts'
import { chat } from '../../src/endpoint/chat.ts'
import { asFollowing, forkMessages, ownMessages } from '../../src/fork/build.ts'
import { optionsAgainstFork } from '../../src/fork/options.ts'
import { tokenizeBody } from '../../src/engine/prompt.ts'
import { isWholeJson } from '../../src/wire/chat-request.ts'
import { commonPrefix, readTokenIds } from '../../src/wire/token-ids.ts'

/** @returns name and CPU time in ms, as often as one plan does it */
export function partsOfAPlan(main: object, summary: object, tokens: number): [string, number][] {
  const mainBody = Buffer.from(JSON.stringify(main))
  const summaryBody = Buffer.from(JSON.stringify(summary))
  const evidence = chat.read(mainBody)!
  const request = chat.read(summaryBody)!
  const coverage = structuredCoverage(evidence, request)
  if (!coverage.covered) throw new Error('the summary request does not cover the conversation')
  const parts = {
    evidence, summary: request, headLength: coverage.headLength, following: asFollowing(request, coverage.following),
    directive: directive(summaryBody, coverage.foreignFront, coverage.instruction)!,
  }
  const dialect = { renamesReasoning: true, effortSetsThinking: true }
  const ids = Array.from({ length: tokens }, (_, i) => (i * 7919) % 150_000)
  const answer = Buffer.from(JSON.stringify({ count: tokens, max_model_len: 262_144, tokens: ids }))
  const read = readTokenIds(answer, '"tokens":[')!
  const other = Uint32Array.from(read)

  return [
    ['reading the evidence', timed(() => chat.read(mainBody))],
    ['reading the summary request', timed(() => chat.read(summaryBody))],
    ['checking that it is JSON to the last byte', timed(() => isWholeJson(summaryBody))],
    ['coverage and directive', timed(() => {
      structuredCoverage(evidence, request)
      directive(summaryBody, coverage.foreignFront, coverage.instruction)
    })],
    ['comparing options', timed(() => optionsAgainstFork(evidence, request))],
    ['three bodies for /tokenize', timed(() => {
      tokenizeBody({ options: evidence.chat, messages: ownMessages(evidence.chat) }, dialect, true)
      tokenizeBody({ options: evidence.chat, messages: ownMessages(evidence.chat) }, dialect, false)
      tokenizeBody({ options: evidence.chat, messages: forkMessages(parts) }, dialect, true)
    })],
    ["token ids of three answers and the reply", 4 * timed(() => readTokenIds(answer, '"tokens":['))],
    ['common prefixes', 2 * timed(() => commonPrefix(read, other))],
    ['splicing the fork', timed(() => chat.forkBody(parts, { toolChoiceNone: true, maxTokens: 4096 }))],
  ]
}

/** CPU time of one call in ms, compiled code. */
function timed(part: () => unknown): number {
  const calls = 40
  for (let call = 0; call < calls; call++) part()
  const before = process.threadCpuUsage()
  for (let call = 0; call < calls; call++) part()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000 / calls
}
