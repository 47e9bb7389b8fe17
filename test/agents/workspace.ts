// Scratch folders of one run: a home of its own, and a working directory with notes that the model reads.

import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Scratch {
  readonly home: string
  readonly work: string
}

const noteCount = 40

export function makeScratch(name: string): Scratch {
  const root = mkdtempSync(join(tmpdir(), `warmfork-agent-${name}-`))
  const home = join(root, 'home')
  const work = join(root, 'work')
  mkdirSync(home)
  mkdirSync(work)
  for (const [i, file] of filesOf(work).entries()) writeFileSync(file, note(i + 1))
  return { home, work }
}

export function filesOf(work: string): string[] {
  return Array.from({ length: noteCount }, (_, i) => join(work, `note-${i + 1}.md`))
}

/** About 3 500 characters: more than any agent's cut of tool output in a transcript. No two notes share a line. */
function note(number: number): string {
  const lines = Array.from({ length: 45 }, (_, i) => {
    const code = (number * 7919 + i * 104_729) % 1_000_003
    return `Depot ${number}-${i + 1}: ${code} crates of part ${code.toString(36)}, shelf ${(code * 31) % 977}, checked on round ${i + number}.`
  })
  return `# Note ${number}\n${lines.join('\n')}\n`
}
