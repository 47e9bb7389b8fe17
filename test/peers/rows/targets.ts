// Targets and methods go on as they came.

import { send, sendBytes } from '../../helpers/http.ts'
import { reply } from '../../helpers/raw-engine.ts'
import { must, type Row } from '../row.ts'

const targets = [
  '/v1//models/Qwen%2FQwen3?x=%zz&x=2',
  '/v1/models/%zz',
  '/v1/models;v=1?',
  '/v1/%6Dodels',
  '/v1/models?a=/../b&c=%2e%2e/',
  "/v1/models/{a}|b\\c^`'\"",
  `/v1/models/${'x'.repeat(3_000)}`,
]

async function methodsPass(stage: Parameters<Row['check']>[0], methods: readonly string[]): Promise<void> {
  const { engine, port } = await stage.before((request) => request.socket.write(reply('200 OK', [], request.method)))
  const failed: string[] = []
  for (const method of methods) {
    const bare = await send(port, { method })
    const seen = engine.requests.pop()
    const full = await send(port, { method, body: `body of ${method}` })
    const seenFull = engine.requests.pop()
    if (bare.status !== 200 || bare.body.toString() !== method || seen?.body.length !== 0) failed.push(`${method} (${bare.status})`)
    else if (full.status !== 200 || seenFull?.body.toString() !== `body of ${method}`) failed.push(`${method} with a body (${full.status})`)
  }
  must(failed.length === 0, `not ${failed.join(', ')}`)
}

export const targetsAndMethods: readonly Row[] = [
  {
    name: 'targets go on byte for byte',
    cases: [29],
    async check(stage) {
      const { engine, port } = await stage.before(({ socket }) => socket.write(reply('200 OK', ['connection', 'close'])))
      const changed: string[] = []
      for (const target of targets) {
        const answer = await sendBytes(port, `GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
        const seen = engine.requests.pop()
        if (!answer.startsWith('HTTP/1.1 200 ')) changed.push(`${target.slice(0, 40)}: ${answer.slice(9, 12)}`)
        else if (seen?.target !== target) changed.push(`${target.slice(0, 40)} as ${seen?.target.slice(0, 40)}`)
      }
      must(changed.length === 0, `${changed.length} of ${targets.length} not: ${changed.map((one) => `\`${one.replaceAll('|', '¦').replaceAll('`', '´')}\``).join(', ')}`)
    },
  },
  { name: 'GET, POST, PUT, PATCH, DELETE and OPTIONS pass, with and without a body', cases: [29], check: (stage) => methodsPass(stage, ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) },
  { name: 'rare methods pass too', cases: [29], check: (stage) => methodsPass(stage, ['QUERY', 'PROPFIND', 'PURGE', 'M-SEARCH', 'LINK']) },
  {
    name: 'HTTP/1.0 requests pass, without a host too',
    async check(stage) {
      const { port } = await stage.before(({ socket }) => socket.write(reply('200 OK', [])))
      const answer = await sendBytes(port, 'GET /v1/x HTTP/1.0\r\n\r\n')
      must(/^HTTP\/1\.[01] 200 /.test(answer), answer.slice(0, 12))
    },
  },
]
