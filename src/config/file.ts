// Reads the configuration file: its values as they are, and on which line each key stands.

import { readFileSync } from 'node:fs'
import { type Document, isMap, isPair, isScalar, LineCounter, parseDocument, visit } from 'yaml'
import { isMapping, type Mapping, sections } from './keys.ts'
import { describeOrigin, type Origin } from './origin.ts'
import { showName } from './show.ts'

export interface ConfigFile {
  readonly values: Mapping
  /** Line on which a key stands, from 1. */
  lineOf(path: readonly string[]): number
}

export type FileRead = { readonly file: ConfigFile } | { readonly faults: readonly string[] }

/**
 * @param path as given; a relative one counts from the working folder
 * @param origin where the path came from
 */
export function readConfigFile(path: string, origin: Origin): FileRead {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const why = readFaults[(error as NodeJS.ErrnoException).code ?? ''] ?? 'cannot be read: give the path of a readable file'
    return { faults: [`The configuration file ${JSON.stringify(path)} (${describeOrigin(origin)}) ${why}.`] }
  }
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const faults = syntaxFaults(document, path, lines)
  if (faults.length > 0) return { faults }
  const values = toValues(document)
  if (values === null) {
    return { faults: [`The configuration file ${path} does not hold keys and values: write it like config/default.yaml.`] }
  }
  return { file: { values, lineOf: (keyPath) => lineOf(document, lines, keyPath) } }
}

const readFaults: Record<string, string> = {
  ENOENT: 'does not exist: create it, or correct the path',
  ENOTDIR: 'does not exist: create it, or correct the path',
  EACCES: 'may not be read by this user: change its permissions, or give another',
  EISDIR: 'is a folder: give the path of a file in it',
}

function syntaxFaults(document: Document.Parsed, path: string, lines: LineCounter): string[] {
  const place = (offset: number) => {
    const { line, col } = lines.linePos(offset)
    return `line ${line}, column ${col}`
  }
  const duplicates = document.errors.filter(({ code }) => code === 'DUPLICATE_KEY')
  if (duplicates.length > 0) {
    return duplicates.map(({ pos: [start] }) => {
      const key = showName(keyAt(document, start))
      return `${key} (${path}, ${place(start)}) stands there for the second time: remove one of the two.`
    })
  }
  // One slip makes the parser report several; the first is the one to correct. What follows a colon quotes the file.
  return document.errors.slice(0, 1).map(({ message, pos: [start] }) => {
    const why = message.replace(/[:\n].*$/s, '')
    return `The configuration file ${path} is not YAML at ${place(start)} (${why}): correct it there.`
  })
}

/** Dotted name of the key that begins at an offset of the file. */
function keyAt(document: Document.Parsed, offset: number): string {
  let name = ''
  visit(document, {
    Pair(_, pair, ancestors) {
      if (!isScalar(pair.key) || pair.key.range?.[0] !== offset) return undefined
      const pairs = [...ancestors.filter((node) => isPair(node)), pair]
      name = pairs.map(({ key }) => String(isScalar(key) ? key.value : key)).join('.')
      return visit.BREAK
    },
  })
  return name
}

/** @returns null if the file holds something else than a mapping */
function toValues(document: Document.Parsed): Mapping | null {
  let values: unknown
  try {
    values = document.toJS() ?? {}
  } catch {
    // Aliases that multiply without end.
    return null
  }
  if (!isMapping(values)) return null
  // A section whose keys are all commented out is an empty one.
  return Object.fromEntries(Object.entries(values).filter(([name, value]) => !(value === null && sections.has(name))))
}

/** Line on which a key stands, from 1; where it does not stand, that of the section it would be in. */
export function lineOf(document: Document.Parsed, lines: LineCounter, path: readonly string[]): number {
  let node: unknown = document.contents
  let offset = 0
  for (const part of path) {
    const pair = isMap(node) ? node.items.find(({ key }) => isScalar(key) && String(key.value) === part) : undefined
    if (pair === undefined) break
    offset = (pair.key as { range?: [number, number, number] }).range?.[0] ?? offset
    node = pair.value
  }
  return lines.linePos(offset).line
}
