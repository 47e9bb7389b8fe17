import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { packageRoot } from '../../src/package-root.ts'

const text = readFileSync(new URL('docker-compose.yml', packageRoot), 'utf8')

t.test('the head of docker-compose.yml lists every variable that the file takes, and no other', async (t) => {
  const taken = new Set([...text.matchAll(/\$\{(\w+)/g)].map(([, name]) => name!))
  const [, listed] = /^# By variable: ([^.]+)\./m.exec(text)!
  t.same(listed!.split(/[,\s#]+/).sort(), [...taken].sort())
})

t.test('both warmforks take fork.mode from outside', async (t) => {
  const { services } = parse(text, { merge: true })
  for (const name of ['warmfork', 'warmfork-cpu']) t.equal(services[name].environment.WARMFORK_FORK_MODE, '${WARMFORK_FORK_MODE:-}', name)
})
