// --print-config refuses what a start would refuse: files that the configuration names and that cannot be used.

import t from 'tap'
import { runWarmfork } from '../helpers/run-warmfork.ts'

t.test('--print-config refuses a file of certificates and a folder of agents that cannot be read, in the words of a start', async (t) => {
  const cwd = t.testdir({ 'warmfork.yaml': 'upstream:\n  url: https://engine\n  tls_ca: gone.pem\nagents:\n  directory: gone\n' })
  const config = ['--config', 'warmfork.yaml']
  const printed = await runWarmfork({ args: [...config, '--print-config'], cwd })
  t.strictSame([printed.code, printed.stdout], [2, ''])
  t.same(printed.stderr.split('\n'), [
    'warmfork: upstream.tls_ca is "gone.pem", but no file can be read there: correct the path, or the file\'s permissions.',
    'warmfork: agents.directory is "gone", but no folder can be read there: create it, or correct the path.',
    '',
  ])
  const started = await runWarmfork({ args: [...config, '--port', '0', '--admin-port', '0'], cwd })
  t.equal(started.code, 2)
  t.ok(printed.stderr.includes(started.stderr))
})

t.test('--print-config refuses an agent file that is wrong, and prints where all can be used', async (t) => {
  const cwd = t.testdir({ wrong: { 'mine.yaml': 'agent: mine\n' }, empty: {}, 'wrong.yaml': 'agents: { directory: wrong }\n', 'empty.yaml': 'agents: { directory: empty }\n' })
  const wrong = await runWarmfork({ args: ['--print-config', '--config', 'wrong.yaml'], cwd })
  t.strictSame([wrong.code, wrong.stdout], [2, ''])
  t.match(wrong.stderr, /^warmfork: .*wrong\/mine\.yaml.*\n$/)
  const { code, stderr } = await runWarmfork({ args: ['--print-config', '--config', 'empty.yaml'], cwd })
  t.strictSame([code, stderr], [0, ''])
})
