// Agent files: what they may say, a folder of the user's own, and what is said of wrong ones.

import { join } from 'node:path'
import t, { type Test } from 'tap'
import { AgentFilesError, builtInAgents, knownAgents, loadAgents } from '../../src/summary/agents.ts'

const sound = 'agent: mine\nversions: ["1"]\nshape: structured\ntraits:\n  last: write it down now\n  tools: absent\n'

function faultOf(t: Test, text: string): string {
  try {
    loadAgents(t.testdir({ 'one.yaml': text }))
  } catch (error) {
    if (error instanceof AgentFilesError) return error.faults.join('\n')
  }
  return 'none'
}

t.test('every built-in agent file names releases and a marker, and no two fit the same request', async (t) => {
  const agents = loadAgents(builtInAgents)
  t.ok(agents.length >= 18)
  for (const { traits, versions, file } of agents) t.ok(versions.length > 0 && (traits.system ?? traits.starts ?? traits.last ?? traits.header), file)
  t.equal(new Set(agents.map(({ traits }) => JSON.stringify(traits))).size, agents.length)
})

t.test('files of a folder of the user’s own are added, and replace built-in ones of the same name', async (t) => {
  const folder = t.testdir({ 'mine.yaml': sound, 'opencode.yaml': sound.replace('agent: mine', 'agent: opencode'), 'notes.txt': 'none of ours' })
  const known = knownAgents(folder)
  t.equal(known.length, loadAgents(builtInAgents).length + 1)
  t.strictSame(known.slice(0, 2).map(({ agent, file }) => [agent, file]), [['mine', join(folder, 'mine.yaml')], ['opencode', join(folder, 'opencode.yaml')]], 'asked first')
  t.notOk(known.some(({ file }) => file === join(builtInAgents, 'opencode.yaml')))
  t.equal(knownAgents(null).length, loadAgents(builtInAgents).length)
})

for (const [what, text, sentence] of [
  ['an unknown key', `${sound}shap: x\n`, /one\.yaml has a key shap that is none of an agent file: did you mean shape\?$/],
  ['an unknown trait', sound.replace('last:', 'lst:'), /one\.yaml has a key traits\.lst that is none of an agent file: did you mean last\?$/],
  ['no marker', sound.replace('  last: write it down now\n', ''), /one\.yaml is wrong at traits, which must be given a marker: system, starts, last or header: correct it there\.$/],
  ['a marker that is a prompt', sound.replace('write it down now', 'one two three four five six seven'), /wrong at traits\.last, which must be a text of at least eight characters and at most six words/],
  ['a marker of a word', sound.replace('write it down now', 'it'), /wrong at traits\.last, which must be a text/],
  ['an endpoint of no name', sound.replace('traits:', 'traits:\n  endpoint: completions'), /wrong at traits\.endpoint, which must be one of chat, responses, messages/],
  ['a header without its text', sound.replace('traits:', 'traits:\n  header:\n    name: x-kind'), /wrong at traits\.header\.contains, which must be a text of at least eight characters/],
  ['tools of no kind', sound.replace('absent', 'some'), /wrong at traits\.tools, which must be one of absent, empty, absent-or-empty, one-foreign, present/],
  ['no releases', sound.replace('["1"]', '[]'), /wrong at versions, which must be a list of releases/],
  ['no shape', sound.replace('shape: structured\n', ''), /wrong at shape, which must be one of structured, flattened/],
  ['a list', '- agent: mine\n', /wrong at its beginning, which must be keys and values/],
  ['nothing', '', /wrong at its beginning, which must be keys and values/],
  ['no YAML', 'agent: "mine\n', /one\.yaml is not YAML \(.*\): correct it\.$/],
] as const) {
  t.test(`an agent file with ${what} is one sentence with file, key and fix`, async (t) => {
    const fault = faultOf(t, text)
    t.match(fault, sentence)
    t.notMatch(fault, '\n')
  })
}

t.test('a folder that is not there is said so', async (t) => {
  const gone = join(t.testdir({}), 'gone')
  t.throws(() => knownAgents(gone), new AgentFilesError([`agents.directory is ${JSON.stringify(gone)}, but no folder can be read there: create it, or correct the path.`]))
})
