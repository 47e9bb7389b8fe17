// The workspace that the demo's agent reads: made-up source text, the same on every run.

const subjects = ['parser', 'lexer', 'block cache', 'scheduler', 'router', 'session store', 'retry queue', 'index writer']
const verbs = ['checks', 'reads', 'rebuilds', 'drops', 'merges', 'guards', 'counts', 'renames']
const objects = ['every record', 'the oldest entry', 'a stale handle', 'both halves', 'the header', 'an empty batch', 'its own state']
const times = ['after the last commit', 'before it is flushed', 'when the size is odd', 'unless a lock is held', 'once per minute']

/** Files in the order in which the agent reads them. */
export const files = ['tokens', 'blocks', 'retry', 'session', 'write', 'router', 'merge', 'clock', 'limits'].map((name) => `src/${name}.ts`)

/** Lines of a file: about 23 tokens each. */
const linesPerFile = 95

/** The numbered lines of a file, as a tool gives them to a model. */
export function readFile(path: string): string {
  const seed = files.indexOf(path) + 1
  const pick = (list: readonly string[], line: number, step: number): string => list[(seed * 7 + line * step) % list.length]!
  return Array.from({ length: linesPerFile }, (_, line) =>
    `${line + 1}: // The ${pick(subjects, line, 3)} ${pick(verbs, line, 5)} ${pick(objects, line, 2)} ${pick(times, line, 3)}: case ${seed * 1000 + line * 7}.`,
  ).join('\n')
}
