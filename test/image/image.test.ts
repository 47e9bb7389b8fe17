// The image: built from the Dockerfile, run without root in front of an engine, checked by its own health check, ended by SIGTERM.

import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { parse } from 'yaml'
import { freePort, startRealEngine } from '../helpers/real-engine.ts'
import { openBuilder, readCompose } from './buildah.ts'
import { descendantRunning, killTree, userOf } from './processes.ts'

const tag = 'localhost/warmfork'
const given = process.env.WARMFORK_TEST_ENGINE

t.setTimeout(0)

const builder = await openBuilder()
const image = await builder.build(tag)
t.teardown(() => builder.removeImage(tag))

t.test('the image says how it is run, stopped and checked', async t => {
  t.match(image.User, /^[1-9]\d*:[1-9]\d*$/, 'not root, and by number for runAsNonRoot')
  t.equal(image.Entrypoint[0], 'node', 'no shell between the runtime and node')
  t.equal(image.StopSignal, 'SIGTERM', 'the signal that warmfork drains on')
  t.equal(image.Healthcheck.Test[0], 'CMD', 'no shell in the health check')
  t.strictSame(Object.keys(image.ExposedPorts), ['8080/tcp'], 'the admin port is not offered')
  t.ok(image.Env.includes('WARMFORK_HOST=0.0.0.0'), 'warmfork is reached from outside the container')
})

t.test('the image holds what it needs at run time and nothing else', async t => {
  const container = await builder.create(tag)
  t.teardown(() => builder.remove(container))
  const there = async (path: string) => (await finished(builder.run(container, image, {}, ['test', '-e', path]))).code === 0
  for (const path of ['/app/dist/main.js', '/app/config/default.yaml', '/app/package.json', '/app/node_modules/fastify']) t.ok(await there(path), path)
  for (const path of ['/app/src', '/app/test', '/app/node_modules/typescript', '/app/node_modules/tap']) t.notOk(await there(path), path)
})

t.test('without an engine the container refuses to start and says what to give', async t => {
  const container = await builder.create(tag)
  t.teardown(() => builder.remove(container))
  const { code, output } = await finished(builder.run(container, image, {}, image.Entrypoint))
  t.equal(code, 2)
  t.match(output, /WARMFORK_UPSTREAM/)
})

t.test('a container in front of an engine', async t => {
  const engine = given === undefined ? await startRealEngine({ model: 'small' }) : undefined
  if (engine) t.teardown(() => engine.close())
  const upstream = engine?.url ?? given!

  const container = await builder.create(tag)
  t.teardown(() => builder.remove(container))
  const [port, adminPort] = [await freePort(), await freePort()]
  const env = { WARMFORK_UPSTREAM: upstream, WARMFORK_PORT: String(port), WARMFORK_ADMIN_PORT: String(adminPort) }
  const warmfork = builder.run(container, image, env, image.Entrypoint)
  t.teardown(() => killTree(warmfork.pid!))
  const ended = finished(warmfork)
  const healthy = async () => (await finished(builder.run(container, image, env, image.Healthcheck.Test.slice(1)))).code === 0

  t.ok(await within(20_000, healthy), "the image's health check passes")
  const node = descendantRunning(warmfork.pid!, /^\S*node \/app\/dist\/main\.js$/)
  t.equal(userOf(node), Number(image.User.split(':')[0]), 'warmfork does not run as root')

  const { data: [{ id: model }] } = await (await fetch(`http://127.0.0.1:${port}/v1/models`)).json() as { data: [{ id: string }] }
  const chat = (content: string) => fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content }] }),
  })
  const reply = await chat('Say something.')
  t.equal(reply.status, 200)
  t.match(await reply.json(), { object: 'chat.completion', choices: [{ message: { content: /\w/ }, finish_reason: 'stop' }] })

  const running = chat('Once more, slowly. '.repeat(1_000))
  await sleep(200)
  const stoppedAt = Date.now()
  process.kill(node, image.StopSignal as NodeJS.Signals)
  t.equal((await running).status, 200, 'a reply that runs is let finish')
  t.equal((await ended).code, 0, 'SIGTERM ends it with 0')
  t.ok(Date.now() - stoppedAt < 30_000, 'within the grace that the compose file gives')
  t.notOk(await healthy(), "the image's health check fails afterwards")
})

t.test('the compose file publishes warmfork alone, on loopback', async t => {
  for (const [name, service] of Object.entries(await services())) {
    if (name.startsWith('warmfork')) t.match(service.ports, [/^127\.0\.0\.1:8080:8080/], name)
    else t.equal(service.ports, undefined, `${name} is reached through warmfork only`)
  }
})

t.test("warmfork waits for a healthy engine, and knows the engine's name", async t => {
  const all = await services()
  for (const [name, engine] of [['warmfork', 'vllm'], ['warmfork-cpu', 'vllm-cpu']] as const) {
    t.match(all[name]?.depends_on, { [engine]: { condition: 'service_healthy' } })
    t.equal(all[name]?.environment.WARMFORK_UPSTREAM, `http://${engine}:8000`)
    t.ok(all[engine]?.healthcheck, `${engine} has a health check`)
    for (const flag of ['--enable-prefix-caching', '--enable-prompt-tokens-details']) t.ok(all[engine]?.command.includes(flag), `${engine} ${flag}`)
  }
})

async function services(): Promise<Record<string, ComposeService>> {
  return parse(await readCompose('--profile', 'cpu')).services
}

interface ComposeService {
  readonly ports?: readonly string[]
  readonly command: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly healthcheck?: object
}

async function finished(child: ChildProcess): Promise<{ code: number | null; output: string }> {
  const [[code], out, err] = await Promise.all([once(child, 'close'), text(child.stdout!), text(child.stderr!)])
  return { code, output: out + err }
}

async function within(ms: number, holds: () => Promise<boolean>): Promise<boolean> {
  for (const deadline = Date.now() + ms; Date.now() < deadline; await sleep(500)) if (await holds()) return true
  return false
}
