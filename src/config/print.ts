// What --print-config and --help show.

import { stringify } from 'yaml'
import { type Config, defaultConfig } from '../config.ts'
import { keys, sections, valueAt } from './keys.ts'
import type { Origins } from './origin.ts'
import { commands, type Flag, type Setting, settings, subcommands } from './settings.ts'

/** Everything in force as YAML that can serve as a configuration file; behind each value where it came from. */
export function printConfig(config: Config, origins: Origins): string {
  const lines: string[] = []
  for (const key of keys) {
    const [section, name] = key.split('.') as [string, string?]
    if (name !== undefined && name === sections.get(section)![0]) lines.push(`${section}:`)
    const value = stringify(valueAt(config, key), { collectionStyle: 'flow', lineWidth: 0 }).trimEnd()
    lines.push(`${name === undefined ? section : `  ${name}`}: ${value} # ${origins.get(key)!.kind}`)
  }
  return `${lines.join('\n')}\n`
}

export function printHelp(): string {
  const rows = [...settings, ...commands].map((row: Flag & Partial<Setting>) => {
    const standard = row.key === undefined ? null : valueAt(defaultConfig, row.key)
    const notes = row.variable === undefined ? [] : [row.variable]
    if (typeof standard === 'string' || typeof standard === 'number') notes.push(`default ${standard}`)
    const flag = `--${row.flag}${row.short === undefined ? '' : `, -${row.short}`}${row.placeholder === undefined ? '' : ` <${row.placeholder}>`}`
    return `  ${flag.padEnd(21)} ${row.help}${notes.length > 0 ? ` (${notes.join(', ')})` : ''}`
  })
  return [
    'Usage: warmfork --upstream <url> [flags]',
    ...subcommands.map(({ name, operand, help }) => `       warmfork ${`${name}${operand === null ? '' : ` <${operand}>`} [flags]`.padEnd(26)} ${help}`),
    '',
    'Stands between agents and vLLM, and sends their compaction requests so that the engine can reuse its prefix cache.',
    '',
    ...rows,
    '',
    'Flags win over environment variables, these over the configuration file, the file over defaults.',
    '',
  ].join('\n')
}
