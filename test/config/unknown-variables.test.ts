// A variable that was meant for warmfork and is none of its own is said, by its name alone; one that was not meant is not.

import t from 'tap'
import { unknownVariables } from '../../src/config/unknown-variables.ts'
import { runWarmfork, warmforkListening } from '../helpers/run-warmfork.ts'

t.test('an unknown variable is said with what may have been meant', async (t) => {
  for (const [name, rest] of [
    ['WARMFORK_UPSTREM', 'did you mean WARMFORK_UPSTREAM?'],
    ['WARMFORK_LOGLEVEL', 'did you mean WARMFORK_LOG_LEVEL?'],
    ['WARMFORK_SERVER_PORT', 'did you mean WARMFORK_PORT?'],
    ['WARMFORK_MODE', 'did you mean WARMFORK_FORK_MODE?'],
    ['WARMFORK_ADMIN_HOST', 'admin.host is set in the configuration file.'],
    ['WARMFORK_SUMMARY_BY_ID', 'summary.by_id is set in the configuration file.'],
    ['WARMFORK_SIMULATOR', 'simulator is set in the configuration file, or with --simulator.'],
    ['WARMFORK_FRIENDS', 'warmfork --help lists those there are.'],
  ] as const) {
    t.same(unknownVariables({ [name]: 'secret' }), [{ name, sentence: `Environment variable ${name} is none of warmfork, and ignored: ${rest}` }])
  }
})

t.test('known variables, empty ones, those of others and of the tests are not said', async (t) => {
  const known = { WARMFORK_UPSTREAM: 'x', WARMFORK_CONFIG: 'x', WARMFORK_FORK_MODE: 'x', WARMFORK_EMPTY: '', PATH: 'x', MY_WARMFORK_UPSTREM: 'x' }
  const tests = { WARMFORK_TEST_SEED: '1', WARMFORK_TEST_ENGINE: 'x', WARMFORK_VLLM_HOME: 'x', WARMFORK_AGENTS_HOME: 'x', WARMFORK_NGINX: 'x' }
  t.same(unknownVariables({ ...known, ...tests }), [])
})

t.test('what Kubernetes sets for a service called warmfork, or warmfork-something, is not said', async (t) => {
  const ofService = (prefix: string) => ({
    [`${prefix}_SERVICE_HOST`]: '10.0.0.1', [`${prefix}_SERVICE_PORT`]: '8080', [`${prefix}_SERVICE_PORT_HTTP`]: '8080',
    [`${prefix}_PORT`]: 'tcp://10.0.0.1:8080', [`${prefix}_PORT_8080_TCP`]: 'tcp://10.0.0.1:8080',
    [`${prefix}_PORT_8080_TCP_PROTO`]: 'tcp', [`${prefix}_PORT_8080_TCP_PORT`]: '8080', [`${prefix}_PORT_8080_TCP_ADDR`]: '10.0.0.1',
    [`${prefix}_PORT_53_UDP`]: 'udp://10.0.0.1:53',
  })
  t.same(unknownVariables({ ...ofService('WARMFORK'), ...ofService('WARMFORK_ADMIN'), ...ofService('WARMFORK_TEAM_B') }), [])
})

t.test('it is warned of once, after the first line, and stops no start', async (t) => {
  const { lines, child, exited } = await warmforkListening(t, { args: ['--simulator'], env: { WARMFORK_UPSTREM: 'http://bob:secret@engine', WARMFORK_SERVICE_HOST: '10.0.0.1' } })
  child.kill('SIGTERM')
  t.equal(await exited, 0)
  const warned = lines.filter(({ level }) => level === 40)
  t.match(warned, [{ variable: 'WARMFORK_UPSTREM', msg: /did you mean WARMFORK_UPSTREAM\?$/ }])
  t.equal(warned.length, 1)
  t.notMatch(JSON.stringify(lines), /secret/)
})

t.test('it is said beside the faults of a refused start, and by --print-config', async (t) => {
  const env = { WARMFORK_UPSTREM: 'http://bob:secret@engine' }
  const said = 'warmfork: Environment variable WARMFORK_UPSTREM is none of warmfork, and ignored: did you mean WARMFORK_UPSTREAM?\n'
  const refused = await runWarmfork({ env })
  t.equal(refused.code, 2)
  t.match(refused.stderr, /^warmfork: upstream\.url is null /)
  t.ok(refused.stderr.endsWith(`\n${said}`))
  const printed = await runWarmfork({ args: ['--print-config'], env })
  t.strictSame([printed.code, printed.stderr], [0, said])
})
