// Puts the configuration together: flags win over environment, environment over the file, the file over defaults.

import { type Config, configSchema } from '../config.ts'
import { readCommandLine, type Subcommand } from './command-line.ts'
import { type Fault, noUpstreamFault, schemaFaults, togetherFaults } from './faults.ts'
import { type ConfigFile, readConfigFile } from './file.ts'
import { isMapping, keys, type Mapping, valueAt } from './keys.ts'
import type { Origin, Origins } from './origin.ts'
import { settings } from './settings.ts'
import { isServicePort, type UnknownVariable, unknownVariables } from './unknown-variables.ts'

export type Command = 'run' | 'print-config' | 'agents' | 'classify' | 'help' | 'version'

export type Loaded =
  | { readonly command: 'help' | 'version' }
  | { readonly command: 'run' | 'print-config'; readonly config: Config; readonly origins: Origins; readonly unknown: readonly UnknownVariable[] }
  | { readonly command: 'agents'; readonly config: Config }
  | { readonly command: 'classify'; readonly file: string; readonly config: Config }
  /** One sentence each, without credentials. */
  | { readonly command: 'refuse'; readonly faults: readonly string[] }

type Environment = Readonly<Record<string, string | undefined>>

/**
 * What the process is to do, and with which configuration.
 * @param args the command line behind the program's name
 */
export function loadConfig(args: readonly string[], environment: Environment): Loaded {
  const { given, subcommand, faults: flagFaults } = readCommandLine(args)
  for (const command of ['help', 'version'] as const) if (given.has(command)) return { command }

  const path = filePath(given, environment)
  const read = path === null ? null : readConfigFile(path.value, path.origin)
  const fileFaults = read !== null && 'faults' in read ? read.faults : []
  const file = read !== null && 'file' in read ? { ...read.file, path: path!.value } : null

  const { values, originOf } = combine(given, environment, file)
  const command = given.has('print-config') ? 'print-config' : subcommand?.name ?? 'run'
  // A mistyped flag or an unreadable file may well have named the engine: one sentence about it is enough.
  const needsUpstream = command === 'run' && flagFaults.length + fileFaults.length === 0
  const { config, faults } = check(values, originOf, needsUpstream)

  const sentences = [...flagFaults, ...fileFaults, ...faults.map(({ sentence }) => sentence)]
  const unknown = unknownVariables(environment)
  // Beside a fault it may well be the cause.
  if (sentences.length > 0) return { command: 'refuse', faults: [...sentences, ...unknown.map(({ sentence }) => sentence)] }
  if (command === 'agents') return { command, config }
  if (command === 'classify') return { command, file: (subcommand as Subcommand & { name: 'classify' }).file, config }
  return { command, config, origins: new Map(keys.map((key) => [key, originOf(key)])), unknown }
}

function filePath(given: ReadonlyMap<string, string | true>, environment: Environment): { value: string; origin: Origin } | null {
  const flag = given.get('config')
  if (typeof flag === 'string') return { value: flag, origin: { kind: 'flag', flag: '--config' } }
  const variable = environment['WARMFORK_CONFIG']
  return variable ? { value: variable, origin: { kind: 'environment', variable: 'WARMFORK_CONFIG' } } : null
}

/** Lays flags and environment over the file's values. */
function combine(given: ReadonlyMap<string, string | true>, environment: Environment, file: (ConfigFile & { path: string }) | null) {
  const values = structuredClone(file?.values ?? {})
  const overridden = new Map<string, Origin>()
  for (const { key, flag, variable } of settings) {
    const fromFlag = given.get(flag)
    const fromEnvironment = variable === undefined ? undefined : environmentValue(environment, variable)
    if (fromFlag !== undefined) {
      put(values, key, fromFlag)
      overridden.set(key, { kind: 'flag', flag: `--${flag}` })
    } else if (fromEnvironment !== undefined) {
      put(values, key, fromEnvironment)
      overridden.set(key, { kind: 'environment', variable: variable! })
    }
  }
  const originOf = (key: string): Origin => {
    const override = overridden.get(key)
    if (override !== undefined) return override
    // An unknown key may hold dots itself.
    const path = Object.hasOwn(file?.values ?? {}, key) ? [key] : key.split('.')
    const inFile = file !== null && (path.length === 1 ? Object.hasOwn(file.values, key) : valueAt(file.values, key) !== undefined)
    return inFile ? { kind: 'file', file: file.path, line: file.lineOf(path) } : { kind: 'default' }
  }
  return { values, originOf }
}

/** An empty variable counts as not set: compose files set empty ones. */
function environmentValue(environment: Environment, variable: string): string | undefined {
  const value = environment[variable] || undefined
  return value !== undefined && isServicePort(variable, value) ? undefined : value
}

function put(values: Mapping, key: string, value: string | true): void {
  const [section, name] = key.split('.') as [string, string?]
  const typed = typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value
  if (name === undefined) values[section] = typed
  else {
    const members = (values[section] ??= {})
    // A section that is none is a fault of its own.
    if (isMapping(members)) members[name] = typed
  }
}

/** Faults of single keys, then those of the sound keys together. */
function check(values: Mapping, originOf: (key: string) => Origin, needsUpstream: boolean): { config: Config; faults: Fault[] } {
  const parsed = configSchema.safeParse(values)
  const alone = parsed.success ? [] : schemaFaults(parsed.error.issues, values, originOf)
  const config = parsed.success ? parsed.data : configSchema.parse(without(values, alone))
  const isSound = (key: string) => !alone.some((fault) => fault.key === key || key.startsWith(`${fault.key}.`))
  const together = togetherFaults(config, originOf)
  const missing = needsUpstream && isSound('upstream.url') && isSound('simulator') ? noUpstreamFault(config, originOf) : []
  return { config, faults: [...alone, ...together, ...missing] }
}

function without(values: Mapping, faults: readonly Fault[]): Mapping {
  const sound = structuredClone(values)
  for (const { key } of faults) {
    const [section, ...rest] = key.split('.')
    const members = sound[section!]
    if (Object.hasOwn(sound, key)) delete sound[key]
    else if (isMapping(members)) delete members[rest.join('.')]
  }
  return sound
}
