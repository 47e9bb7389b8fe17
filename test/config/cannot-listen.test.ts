// Faults that only opening the ports can show: the real process, its exit code and its one sentence.

import { createServer, type AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { runWarmfork } from '../helpers/run-warmfork.ts'

const upstream = ['--upstream', 'http://127.0.0.1:1']

async function takenPort(t: Test): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

async function refused(t: Test, given: Parameters<typeof runWarmfork>[0], sentence: string) {
  const { code, stdout, stderr } = await runWarmfork(given)
  t.same({ code, stdout, stderr }, { code: 2, stdout: '', stderr: `warmfork: ${sentence}\n` })
}

t.test('warmfork refuses to start when the port for agents is taken', async (t) => {
  const port = await takenPort(t)
  await refused(
    t,
    { args: [...upstream, '--port', `${port}`, '--admin-port', '0'] },
    `server.port is ${port} (flag --port), but that port of 127.0.0.1 is taken: end what listens there, or give another port with --port.`,
  )
})

t.test('warmfork refuses to start when the port for its own pages is taken', async (t) => {
  const port = await takenPort(t)
  await refused(
    t,
    { args: [...upstream, '--port', '0'], env: { WARMFORK_ADMIN_PORT: `${port}` } },
    `admin.port is ${port} (environment variable WARMFORK_ADMIN_PORT), but that port of 127.0.0.1 is taken: end what listens there, or give another port with --admin-port.`,
  )
})

t.test('warmfork refuses to start when it may not listen on the port', async (t) => {
  // Whether a port is forbidden depends on the machine and the user, so the system's answer is put in its place.
  const forbid = `import net from 'node:net'
    net.Server.prototype.listen = function () {
      process.nextTick(() => this.emit('error', Object.assign(new Error('listen EACCES'), { code: 'EACCES' })))
      return this
    }`
  await refused(
    t,
    { args: [...upstream, '--port', '443', '--admin-port', '444'], env: { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(forbid)}` } },
    `admin.port is 444 (flag --admin-port), but this user may not listen on that port: give one from 1024 up with --admin-port, or run warmfork with the permission.`,
  )
})

t.test('warmfork refuses to start on an address that is not of this machine', async (t) => {
  await refused(
    t,
    { args: [...upstream, '--host', '192.0.2.1', '--admin-port', '0'] },
    `server.host is "192.0.2.1" (flag --host), but this machine cannot listen there (EADDRNOTAVAIL): give one of its own addresses, or 0.0.0.0 for all, with --host.`,
  )
})

t.test('warmfork refuses to start on a host name that nobody knows', async (t) => {
  const cwd = t.testdir({ 'warmfork.yaml': 'admin:\n  host: nobody.invalid\n' })
  const { code, stderr } = await runWarmfork({ args: [...upstream, '--config', 'warmfork.yaml', '--port', '0'], cwd })
  t.equal(code, 2)
  t.match(
    stderr,
    /^warmfork: admin\.host is "nobody\.invalid" \(warmfork\.yaml, line 2\), but this machine cannot listen there \((ENOTFOUND|EAI_AGAIN)\): give one of its own addresses, or 0\.0\.0\.0 for all, in the configuration file\.\n$/,
  )
})
