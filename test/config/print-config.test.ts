import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { keys, type Mapping, valueAt } from '../../src/config/keys.ts'
import { loadConfig } from '../../src/config/load.ts'
import { runWarmfork } from '../helpers/run-warmfork.ts'

t.test('--print-config prints every key in force and where its value came from', async (t) => {
  const cwd = t.testdir({ 'warmfork.yaml': 'fork:\n  mode: observe\ntenant:\n  headers: [X-Team-Key, x-b]\n' })
  const { code, stdout, stderr } = await runWarmfork({
    args: ['--print-config', '--config', 'warmfork.yaml', '--port', '9000', '--upstream', 'http://engine:8000/v1'],
    env: { WARMFORK_HOST: '0.0.0.0' },
    cwd,
  })
  t.equal(code, 0)
  t.equal(stderr, '')
  for (const line of [
    'upstream:',
    '  url: http://engine:8000/v1 # flag',
    '  host: 0.0.0.0 # environment',
    '  port: 9000 # flag',
    '  port: 8081 # default',
    '  headers: [ x-team-key, x-b ] # file',
    '  mode: observe # file',
    '  input_cap_tokens: null # default',
    'simulator: false # default',
  ]) {
    t.ok(stdout.split('\n').includes(line), line)
  }
  const values: Mapping = parse(stdout)
  for (const key of keys) t.not(valueAt(values, key), undefined, key)
})

t.test('what --print-config printed is a configuration file that gives the same', async (t) => {
  const { stdout } = await runWarmfork({ args: ['--print-config', '--simulator', '--log-level', 'silent'] })
  const file = join(t.testdir(), 'printed.yaml')
  writeFileSync(file, stdout)
  const { stdout: again } = await runWarmfork({ args: ['--print-config', '--config', file] })
  t.same(parse(again), parse(stdout))
  t.match(again, /level: silent # file/)
})

t.test('--print-config needs no upstream', async (t) => {
  const { code, stdout } = await runWarmfork({ args: ['--print-config'] })
  t.equal(code, 0)
  t.match(stdout, 'upstream:\n  url: null # default\n')
})

t.test('--print-config prints no credential, but the fault', async (t) => {
  const { code, stdout, stderr } = await runWarmfork({ args: ['--print-config', '--upstream', 'http://bob:secret@engine'] })
  t.equal(code, 2)
  t.equal(stdout, '')
  t.match(stderr, /^warmfork: upstream\.url is "http:\/\/\*\*\*@engine"/)
  t.notMatch(stderr, /bob|secret/)
})

t.test('--help names every flag and variable, --version the version in package.json', async (t) => {
  const help = await runWarmfork({ args: ['--help'] })
  t.equal(help.code, 0)
  for (const name of ['upstream', 'host', 'port', 'admin-port', 'config', 'fork-mode', 'log-level', 'simulator', 'print-config', 'help', 'version']) {
    t.match(help.stdout, new RegExp(`\n  --${name}[ ,]`), name)
  }
  for (const name of ['UPSTREAM', 'HOST', 'PORT', 'ADMIN_PORT', 'CONFIG', 'FORK_MODE', 'LOG_LEVEL']) t.match(help.stdout, `WARMFORK_${name}`)
  const version = await runWarmfork({ args: ['--version', '--upstream', 'nonsense'] })
  t.match(version, { code: 0, stdout: /^\d+\.\d+\.\d+\n$/, stderr: '' })
  t.match(help.stdout, '\n  --help, -h ')
  for (const flag of ['--help', '-h']) t.same(loadConfig([flag], {}), { command: 'help' })
})
