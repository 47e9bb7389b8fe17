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

const line = (number: number) => `\\(agent file .*one\\.yaml, line ${number}\\)`
const said = (text: string) => new RegExp(`^${text}$`)
const marker = 'a text of at least eight characters and at most six words'

for (const [what, text, sentence] of [
  ['an unknown key', `${sound}colour: x\n`, said(`colour ${line(7)} is not a key of an agent file: remove it\\.`)],
  ['a misspelt key', sound.replace('shape', 'shap'), said(`shap ${line(3)} is not a key of an agent file: did you mean shape\\?`)],
  ['a misspelt trait', sound.replace('last:', 'lst:'), said(`traits\\.lst ${line(5)} is not a key of an agent file: did you mean traits\\.last\\?`)],
  ['a trait outside traits', `${sound}starts: x\n`, said(`starts ${line(7)} is not a key of an agent file: did you mean traits\\.starts\\?`)],
  ['no marker', sound.replace('  last: write it down now\n', ''), said(`traits is a section ${line(4)}, but must be one with a marker \\(system, starts, last or header\\): change it there\\.`)],
  ['a marker that is a prompt', sound.replace('write it down now', 'one two three four five six seven'), said(`traits\\.last is "one two .* seven" ${line(5)}, but must be ${marker}: change it there\\.`)],
  ['a marker of a word', sound.replace('write it down now', 'it'), said(`traits\\.last is "it" ${line(5)}, but must be ${marker}: change it there\\.`)],
  ['an endpoint of no name', sound.replace('traits:', 'traits:\n  endpoint: completions'), said(`traits\\.endpoint is "completions" ${line(5)}, but must be one of chat, responses, messages: change it there\\.`)],
  ['a header without its text', sound.replace('traits:', 'traits:\n  header:\n    name: x-kind'), said(`traits\\.header\\.contains is missing ${line(5)}, but must be ${marker}: add it there\\.`)],
  ['a value where a section is expected', sound.replace('traits:', 'reply: x\ntraits:'), said(`reply is "x" ${line(4)}, but must be a section with keys indented below it: change it there\\.`)],
  ['tools of no kind', sound.replace('absent', '[some]'), said(`traits\\.tools is \\[some\\] ${line(6)}, but must be one of absent, empty, absent-or-empty, one-foreign, present: change it there\\.`)],
  ['no releases', sound.replace('["1"]', '[]'), said(`versions is \\[\\] ${line(2)}, but must be a list of texts in quotes, as in \\["1\\.0"\\]: change it there\\.`)],
  ['releases that are numbers', sound.replace('["1"]', '["1", 1.10]'), said(`versions is \\["1", 1\\.10\\] ${line(2)}, but must be a list of texts in quotes, as in \\["1\\.0"\\]: change it there\\.`)],
  ['releases that are numbers, one a line', sound.replace('["1"]', '\n  - 1.5'), said(`versions is \\[1\\.5\\] ${line(2)}, but must be a list of texts in quotes, .*`)],
  ['an empty value', sound.replace('structured', ''), said(`shape is null ${line(3)}, but must be one of structured, flattened: change it there\\.`)],
  ['no shape', sound.replace('shape: structured\n', ''), said('shape is missing \\(agent file .*one\\.yaml\\), but must be one of structured, flattened: add it there\\.')],
  ['a list', '- agent: mine\n', said('The agent file .*one\\.yaml does not hold keys and values: write it like those in config/agents\\.')],
  ['nothing', '', said('The agent file .*one\\.yaml does not hold keys and values: write it like those in config/agents\\.')],
  ['aliases that multiply without end', `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n`, said('The agent file .*one\\.yaml does not hold keys and values: .*')],
  ['no YAML', 'agent: mine\nshape: "x\n', said('The agent file .*one\\.yaml is not YAML at line 3, column 1 \\(.*\\): correct it there\\.')],
  ['a key twice', `${sound}shape: structured\n`, said('The agent file .*one\\.yaml is not YAML at line 7, column 1 \\(Map keys must be unique\\): correct it there\\.')],
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
