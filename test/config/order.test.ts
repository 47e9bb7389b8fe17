import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { defaultConfig } from '../../src/config.ts'
import { loadConfig } from '../../src/config/load.ts'

/** Loads a configuration that must be sound. */
function load(args: string[], environment: Record<string, string> = {}) {
  const loaded = loadConfig(args, environment)
  if (loaded.command !== 'run') throw new Error(JSON.stringify(loaded))
  return loaded
}

function fileWith(t: Test, yaml: string): string {
  const path = join(t.testdir(), 'warmfork.yaml')
  writeFileSync(path, yaml)
  return path
}

const upstream = ['--upstream', 'http://127.0.0.1:8000']

t.test('flags win over environment, environment over the file, the file over defaults', async (t) => {
  const file = fileWith(t, 'server: { host: 10.0.0.1, port: 1001 }\nadmin: { port: 1002 }\nlog: { level: debug }\n')
  const environment = { WARMFORK_HOST: '10.0.0.2', WARMFORK_PORT: '2001' }
  const { config, origins } = load([...upstream, '--config', file, '--port', '3001'], environment)
  t.same(config.server, { host: '10.0.0.2', port: 3001 })
  t.same(config.admin, { host: '127.0.0.1', port: 1002 })
  t.equal(config.log.level, 'debug')
  t.same(
    ['server.port', 'server.host', 'admin.port', 'admin.host'].map((key) => origins.get(key)?.kind),
    ['flag', 'environment', 'file', 'default'],
  )
})

t.test('every environment variable sets its key', async (t) => {
  const { config } = load([], {
    WARMFORK_UPSTREAM: 'http://engine:8000/v1',
    WARMFORK_HOST: '0.0.0.0',
    WARMFORK_PORT: '9000',
    WARMFORK_ADMIN_PORT: '9001',
    WARMFORK_LOG_LEVEL: 'warn',
    WARMFORK_FORK_MODE: 'observe',
    WARMFORK_CONFIG: fileWith(t, 'summary: { by_id: on }\n'),
  })
  t.same(config, {
    ...defaultConfig,
    upstream: { ...defaultConfig.upstream, url: 'http://engine:8000/v1' },
    server: { host: '0.0.0.0', port: 9000 },
    admin: { host: '127.0.0.1', port: 9001 },
    log: { level: 'warn' },
    fork: { ...defaultConfig.fork, mode: 'observe' },
    summary: { ...defaultConfig.summary, by_id: 'on' },
  })
})

t.test('every flag sets its key, with a space or with an equals sign', async (t) => {
  const { config } = load(['--upstream=http://engine:8000', '--host', '::1', '--port=9000', '--admin-port', '9001', '--fork-mode', 'off', '--log-level=error'])
  t.match(config, {
    upstream: { url: 'http://engine:8000' },
    server: { host: '::1', port: 9000 },
    admin: { port: 9001 },
    fork: { mode: 'off' },
    log: { level: 'error' },
  })
  t.equal(load(['--simulator']).config.simulator, true)
})

t.test('an empty environment variable counts as not set', async (t) => {
  const empty = { WARMFORK_UPSTREAM: '', WARMFORK_HOST: '', WARMFORK_PORT: '', WARMFORK_ADMIN_PORT: '', WARMFORK_CONFIG: '', WARMFORK_FORK_MODE: '', WARMFORK_LOG_LEVEL: '' }
  t.same(load(['--simulator'], empty).config, { ...defaultConfig, simulator: true })
})

t.test('the port variable that Kubernetes sets for a service called warmfork counts as not set', async (t) => {
  for (const value of ['tcp://10.96.0.7:8080', 'udp://10.96.0.7:8080']) {
    const { config } = load(upstream, { WARMFORK_PORT: value, WARMFORK_ADMIN_PORT: value })
    t.same([config.server.port, config.admin.port], [8080, 8081])
  }
})

t.test('a value that is wrong in the file does no harm under a flag that overrides it', async (t) => {
  t.equal(load([...upstream, '--config', fileWith(t, 'server: { port: http }\n'), '--port', '1']).config.server.port, 1)
})

t.test('an empty file, and a section without keys, set nothing', async (t) => {
  for (const yaml of ['', '# nothing\n', 'server:\n  # port: 1\nfork:\n']) {
    t.same(load(['--simulator', '--config', fileWith(t, yaml)]).config, { ...defaultConfig, simulator: true })
  }
})

t.test('header names are kept in lower case', async (t) => {
  const file = fileWith(t, 'tenant: { headers: [X-Team-Key] }\nconversation: { headers: [X-Thread] }\n')
  const { config } = load([...upstream, '--config', file])
  t.same(config.tenant.headers, ['x-team-key'])
  t.same(config.conversation.headers, ['x-thread'])
})

t.test('a switch takes on and off, true and false, wherever it is set', async (t) => {
  const switches = (yaml: string) => {
    const { config } = load([...upstream, '--config', fileWith(t, yaml)])
    return [config.summary.by_id, config.agents.generic, config.simulator]
  }
  t.same(switches('summary: { by_id: true }\nagents: { generic: off }\nsimulator: off\n'), ['on', false, false])
  t.same(switches('summary: { by_id: false }\nagents: { generic: on }\nsimulator: false\n'), ['off', true, false])
  t.same(switches('summary: { by_id: on }\nagents: { generic: false }\n'), ['on', false, false])
  t.equal(load(['--config', fileWith(t, 'simulator: on\n')]).config.simulator, true)
  for (const [given, mode] of [['true', 'on'], ['false', 'off'], ['on', 'on'], ['observe', 'observe'], ['off', 'off']]) {
    t.equal(load([...upstream, '--config', fileWith(t, `fork: { mode: ${given} }\n`)]).config.fork.mode, mode)
    t.equal(load(upstream, { WARMFORK_FORK_MODE: given! }).config.fork.mode, mode)
  }
})

t.test('the ports of both servers may be left to the system', async (t) => {
  const { config } = load([...upstream, '--port', '0', '--admin-port', '0'])
  t.same([config.server.port, config.admin.port], [0, 0])
})
