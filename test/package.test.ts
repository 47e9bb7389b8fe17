// The package as users get it: packed, installed into an empty folder, run by its command.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { packageRoot, packageVersion } from '../src/package-root.ts'
import { run } from './helpers/processes.ts'
import { listening } from './helpers/run-warmfork.ts'
import { stubEngine } from './helpers/stub-engine.ts'

const root = fileURLToPath(packageRoot)

t.test('the packed and installed command prints its version and configuration, and relays', { timeout: 300_000 }, async (t) => {
  const folder = t.testdir({ 'package.json': '{ "private": true }' })
  t.match(await run('npm', ['pack', '--pack-destination', folder], { cwd: root }), { code: 0 })
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'))
  t.match(await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', `./${tarball}`], { cwd: folder }), { code: 0 })

  const command = join(folder, 'node_modules/.bin/warmfork')
  t.match(await run(command, ['--version'], { cwd: folder }), { code: 0, stdout: `${packageVersion()}\n`, stderr: '' })

  const preset = 'node_modules/warmfork/config/presets/batbox.yaml'
  t.match(await run(command, ['--print-config', '--config', preset], { cwd: folder }), {
    code: 0,
    stdout: /input_cap_tokens: 90000 # file/,
    stderr: '',
  })

  const origin = await stubEngine(t, (_, response) => response.end('{"object":"list","data":[]}'))
  const { child, exited, url } = await listening(t, command, ['--upstream', origin], { cwd: folder })
  const reply = await fetch(`${url}/v1/models`)
  t.same(await reply.json(), { object: 'list', data: [] })
  child.kill('SIGTERM')
  t.equal(await exited, 0)

  const installed = join(folder, 'node_modules/warmfork')
  t.match(readFileSync(join(installed, 'LICENSE'), 'utf8'), 'Apache License')
  t.same(readdirSync(join(installed, 'config'), { recursive: true }).sort(), readdirSync(join(root, 'config'), { recursive: true }).sort())
  const readme = readFileSync(join(installed, 'README.md'), 'utf8')
  const linked = [...readme.matchAll(/\]\((docs\/[^)#]+)/g)].map(([, path]) => path!)
  t.ok(linked.length > 0)
  for (const path of linked) t.ok(existsSync(join(installed, path)), `the README's ${path} is there`)
  t.same(
    readdirSync(join(installed, 'dist'), { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts')),
    [],
  )
})
