// The real process: what it says first, how it ends.

import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { packageRoot, packageVersion } from '../src/package-root.ts'
import { run } from './helpers/processes.ts'
import { listening, warmforkListening } from './helpers/run-warmfork.ts'
import { stubEngine } from './helpers/stub-engine.ts'

t.test('the first line says where warmfork listens, for which engine and in which mode', async (t) => {
  const origin = await stubEngine(t, (_, response) => response.end())
  const { first } = await warmforkListening(t, { args: ['--upstream', `${origin}/v1`] })
  t.match(first, {
    level: 30,
    url: /^http:\/\/127\.0\.0\.1:\d+$/,
    admin_url: /^http:\/\/127\.0\.0\.1:\d+$/,
    upstream: origin,
    fork_mode: 'on',
    simulator: false,
    msg: 'listening',
  })
})

t.test('the simulator is named in the first line and on every reply', async (t) => {
  const { first, url } = await warmforkListening(t, { args: ['--simulator'] })
  t.match(first, { simulator: true, msg: 'listening, with the simulator in place of an engine' })
  for (const path of ['/v1/models', '/v1/nothing', '/not-allowed']) {
    const reply = await fetch(`${url}${path}`)
    t.equal(reply.headers.get('x-warmfork-simulator'), 'true', path)
  }
})

t.test('a real engine behind warmfork is not called a simulator', async (t) => {
  const origin = await stubEngine(t, (_, response) => response.end('[]'))
  const { url } = await warmforkListening(t, { args: ['--upstream', origin] })
  const reply = await fetch(`${url}/v1/models`)
  t.equal(await reply.text(), '[]')
  t.equal(reply.headers.get('x-warmfork-simulator'), null)
})

t.test('a log that nobody reads any more keeps warmfork neither from its work nor from ending', async (t) => {
  const origin = await stubEngine(t, (_, response) => response.end('[]'))
  const { child, exited, url } = await warmforkListening(t, { args: ['--upstream', origin] })
  child.stdout.destroy()
  t.equal(await (await fetch(`${url}/v1/models`)).text(), '[]')
  child.kill('SIGTERM')
  t.equal(await exited, 0)
})

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  t.test(`on ${signal} warmfork stops listening, lets a running reply finish and exits 0`, async (t) => {
    let finish = () => {}
    const origin = await stubEngine(t, (_, response) => {
      response.write('first ')
      finish = () => response.end('last')
    })
    const { child, exited, url } = await warmforkListening(t, { args: ['--upstream', origin] })
    const reply = await fetch(`${url}/v1/models`)
    child.kill(signal)
    await refusesConnections(url)
    finish()
    t.equal(await reply.text(), 'first last')
    t.equal(await exited, 0)
  })
}

t.test('a reply that outlasts shutdown.grace_ms is cut, visibly, and the exit code is 0', async (t) => {
  const origin = await stubEngine(t, (_, response) => response.write('first '))
  const cwd = t.testdir({ 'warmfork.yaml': 'shutdown: { grace_ms: 200 }\n' })
  const { child, exited, url } = await warmforkListening(t, { args: ['--upstream', origin, '--config', 'warmfork.yaml'], cwd })
  const reply = await fetch(`${url}/v1/models`)
  child.kill('SIGTERM')
  await t.rejects(reply.text())
  t.equal(await exited, 0)
})

t.test('a second signal ends warmfork at once with exit code 1', async (t) => {
  const origin = await stubEngine(t, (_, response) => response.write('first '))
  const { child, exited, url } = await warmforkListening(t, { args: ['--upstream', origin] })
  const reply = await fetch(`${url}/v1/models`)
  child.kill('SIGTERM')
  await refusesConnections(url)
  await setTimeout(300)
  child.kill('SIGTERM')
  t.equal(await exited, 1)
  await t.rejects(reply.text())
})

t.test('the two signals that Ctrl-C sends under npm are one', async (t) => {
  let finish = () => {}
  const origin = await stubEngine(t, (_, response) => {
    response.write('first ')
    finish = () => response.end('last')
  })
  const { child, exited, url } = await warmforkListening(t, { args: ['--upstream', origin] })
  const reply = await fetch(`${url}/v1/models`)
  child.kill('SIGINT')
  await setTimeout(20)
  child.kill('SIGINT')
  await refusesConnections(url)
  finish()
  t.equal(await reply.text(), 'first last')
  t.equal(await exited, 0)
})

t.test('an idle connection does not keep warmfork from ending', async (t) => {
  const origin = await stubEngine(t, (_, response) => response.end('[]'))
  const { child, exited, url } = await warmforkListening(t, { args: ['--upstream', origin] })
  const [reply] = await once(request(`${url}/v1/models`, { headers: { connection: 'keep-alive' } }).end(), 'response')
  await once(reply.resume(), 'end')
  child.kill('SIGTERM')
  t.equal(await exited, 0)
})

t.test('an uncaught exception is logged without its message and ends warmfork with exit code 1', async (t) => {
  const origin = await stubEngine(t, (_, response) => response.end())
  const fault = `process.on('SIGUSR2', () => { throw new SyntaxError('secret is not valid JSON') })`
  const { child, exited, lines } = await warmforkListening(t, {
    args: ['--upstream', origin],
    env: { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(fault)}` },
  })
  child.kill('SIGUSR2')
  t.equal(await exited, 1)
  t.match(lines.at(-1), { level: 60, fault: 'SyntaxError', msg: 'uncaught exception' })
  // The frames name this test's own data: URL, in which the message stands escaped.
  t.notMatch(JSON.stringify(lines), 'secret is not')
})

t.test('npm start runs warmfork on a Node that runs TypeScript, whichever is installed', async (t) => {
  const { stdout } = await run('npm', ['start', '--silent', '--', '--version'], { cwd: fileURLToPath(packageRoot) })
  t.equal(stdout, `${packageVersion()}\n`)
})

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  t.test(`${signal} to npm start stops warmfork, which lets a running reply finish, and npm exits with it`, { timeout: 30_000 }, async (t) => {
    let finish = () => {}
    const origin = await stubEngine(t, (_, response) => {
      response.write('first ')
      finish = () => response.end('last')
    })
    const { child, exited, url, lines } = await listening(t, 'npm', ['start', '--silent', '--', '--upstream', origin], { cwd: fileURLToPath(packageRoot) })
    t.teardown(() => endOrphan(lines))
    const reply = await fetch(`${url}/v1/models`)
    child.kill(signal)
    await refusesConnections(url)
    finish()
    t.equal(await reply.text(), 'first last')
    t.equal(await exited, 0)
    t.match(lines.at(-1), { msg: 'stopped' })
  })
}

/** Ends the warmfork that wrote these lines, where it outlived what started it. */
function endOrphan(lines: readonly Record<string, unknown>[]): void {
  try {
    process.kill(Number(lines[0]!['pid']), 'SIGKILL')
  } catch {
    // It ended by itself.
  }
}

/** Resolves when new connections are refused. Sends nothing: a request that is still let in would be one more to finish. */
async function refusesConnections(url: string): Promise<void> {
  const { port, hostname } = new URL(url)
  for (;;) {
    const socket = connect(Number(port), hostname)
    const refused = await once(socket, 'connect').then(() => false, (error) => error.code === 'ECONNREFUSED')
    socket.destroy()
    if (refused) return
    await setTimeout(5)
  }
}
