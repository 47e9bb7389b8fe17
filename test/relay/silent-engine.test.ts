// [case 13] undici gives up after 300 s without a head or a byte; vLLM may prefill and think for longer.
// warmfork runs on a clock a hundred times as fast: more than six minutes of its time pass here in four seconds.

import { fileURLToPath } from 'node:url'
import t from 'tap'
import { send, sleep } from '../helpers/http.ts'
import { run } from '../helpers/processes.ts'
import { chunk, lastChunk, startRawEngine, streamHead } from '../helpers/raw-engine.ts'
import { warmforkListening } from '../helpers/run-warmfork.ts'

// They mostly wait.
t.jobs = 3

const fastClock = `--import=${fileURLToPath(new URL('../helpers/fast-clock.ts', import.meta.url))}`
const silenceMs = 4_000

t.test('an engine that is silent for minutes, before its head and inside its reply, is waited for [case 13]', { timeout: 30_000 }, async (t) => {
  const engine = await startRawEngine(t, async ({ socket, target }) => {
    if (target === '/v1/chat/completions') await sleep(silenceMs)
    socket.write(`${streamHead}${chunk('data: 1\n\n')}`)
    if (target !== '/v1/chat/completions') await sleep(silenceMs)
    socket.write(`${chunk('data: 2\n\n')}${lastChunk}`)
  })
  const warmfork = await warmforkListening(t, { args: ['--upstream', engine.origin], env: { NODE_OPTIONS: fastClock } })
  const port = Number(new URL(warmfork.url).port)
  const targets = ['/v1/chat/completions', '/v1/completions']
  for (const got of await Promise.all(targets.map((target) => send(port, { target, body: '{}' })))) {
    t.equal(got.status, 200)
    t.ok(got.whole)
    t.equal(got.body.toString(), 'data: 1\n\ndata: 2\n\n')
  }
})

t.test('on that clock undici as it comes does give up: what is tested can fail', { timeout: 30_000 }, async (t) => {
  const engine = await startRawEngine(t)
  const ask = `import { request } from 'undici'; await request('${engine.origin}').catch((error) => console.log(error.code))`
  const { stdout } = await run(process.execPath, [fastClock, '--input-type=module', '-e', ask], {})
  t.equal(stdout, 'UND_ERR_HEADERS_TIMEOUT\n')
})
