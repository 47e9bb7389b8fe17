// Reads the command line. Unknown flags and stray arguments are faults; values are judged by the schema later.

import { parseArgs } from 'node:util'
import { nearest } from './nearest.ts'
import { commands, type Flag, settings, subcommands } from './settings.ts'
import { showName } from './show.ts'

const flags: readonly Flag[] = [...settings, ...commands]

export type Subcommand = { readonly name: 'agents' } | { readonly name: 'classify', readonly file: string }

export interface CommandLine {
  /** Flag name and its value; true for a flag that takes none. */
  readonly given: ReadonlyMap<string, string | true>
  /** A command in front of the flags, with what it works on; null where warmfork is to run. */
  readonly subcommand: Subcommand | null
  /** One sentence each. */
  readonly faults: readonly string[]
}

/** @param args what stands behind the program's name */
export function readCommandLine(args: readonly string[]): CommandLine {
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(flags.map(({ flag, short, placeholder }) => [
      flag, { type: placeholder === undefined ? 'boolean' : 'string', ...(short !== undefined && { short }) } as const,
    ])),
    strict: false,
    tokens: true,
  })
  const given = new Map<string, string | true>()
  const faults: string[] = []
  const words: string[] = []
  let unknownBefore = false
  for (const token of tokens) {
    if (token.kind === 'option') {
      const row = flags.find(({ flag }) => flag === token.name)
      const fault = row === undefined ? unknownFlag(token.rawName) : valueFault(token, row)
      if (fault === null) given.set(token.name, token.value ?? true)
      else faults.push(fault)
      unknownBefore = row === undefined && token.inlineValue !== true
    } else {
      // What follows an unknown flag is its value, and may be a secret.
      if (token.kind === 'positional' && !unknownBefore) {
        if (isWanted(words, token.value)) words.push(token.value)
        else faults.push(strayArgument(token.value, words.length === 0))
      }
      unknownBefore = false
    }
  }
  const [name, file] = words
  if (name === 'classify' && file === undefined) faults.push('classify on the command line has no file: give that of a recorded request, as in warmfork classify <file>.')
  const subcommand = name === 'agents' ? { name } as const : name === 'classify' ? { name, file: file ?? '' } as const : null
  return { given, subcommand, faults }
}

/** Whether a word is a command, or what the command in front of it works on. */
function isWanted(before: readonly string[], word: string): boolean {
  if (before.length === 0) return subcommands.some(({ name }) => name === word)
  return before.length === 1 && subcommands.some(({ name, operand }) => name === before[0] && operand !== null)
}

function unknownFlag(rawName: string): string {
  const meant = nearest(rawName.replace(/^-+/, ''), flags.map(({ flag }) => flag))
  return `${showName(rawName)} is not a flag of warmfork: ${meant === null ? 'see warmfork --help.' : `did you mean --${meant}?`}`
}

function valueFault(token: { value?: string; inlineValue?: boolean }, { flag, placeholder }: Flag): string | null {
  if (placeholder === undefined) return token.inlineValue ? `--${flag} takes no value: give it alone, or leave it out.` : null
  const missing = token.value === undefined || (!token.inlineValue && token.value.startsWith('--'))
  return missing ? `--${flag} on the command line has no value: give one, as in --${flag} <${placeholder}>.` : null
}

function strayArgument(argument: string, first: boolean): string {
  const meant = first ? nearest(argument, subcommands.map(({ name }) => name)) : null
  if (meant !== null) return `${showName(argument)} is not a command of warmfork: did you mean warmfork ${meant}?`
  return `${showName(argument)} on the command line belongs to no flag: put the flag before it, as in --upstream <url>.`
}
