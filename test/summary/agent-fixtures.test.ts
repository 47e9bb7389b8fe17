// Requests of real agents, rewritten, in the order in which they came: what each is taken for, and what is made of it.

import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import t from 'tap'
import { readFixture, replay } from '../helpers/agent-fixture.ts'

const folder = fileURLToPath(new URL('../fixtures/agents', import.meta.url))

for (const file of readdirSync(folder).filter((name) => name.endsWith('.json'))) {
  t.test(file, async t => {
    const fixture = readFixture(join(folder, file))
    const replayed = await replay(t, fixture)
    const summaries = replayed.filter((_, i) => fixture.exchanges[i]!.kind === 'summary').map(({ summary }) => summary)
    const others = replayed.filter((_, i) => fixture.exchanges[i]!.kind === 'other')

    t.strictSame(others.filter(({ summary }) => summary !== null), [], 'no main or side request is taken for a summary')
    t.ok(others.every(({ asItCame }) => asItCame), 'main and side requests reach the engine as they came')
    t.strictSame(summaries, fixture.expected.map((expected) => ({ agent: fixture.agent, ...expected })), 'every summary is recognised and covered as it was')
  })
}
