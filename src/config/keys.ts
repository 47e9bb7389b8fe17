// The names of all keys, made from the schema's defaults.

import { defaultConfig } from '../config.ts'

export type Mapping = Record<string, unknown>

export function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Section name and the keys in it; a key outside any section has none. */
export const sections: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(defaultConfig).flatMap(([name, value]) => (isMapping(value) ? [[name, Object.keys(value)]] : [])),
)

/** Dotted names of all keys, in the schema's order: `upstream.url`, …, `simulator`. */
export const keys: readonly string[] = Object.keys(defaultConfig).flatMap((name) =>
  sections.has(name) ? sections.get(name)!.map((key) => `${name}.${key}`) : [name],
)

/**
 * The value under a dotted name.
 * @returns undefined where there is none
 */
export function valueAt(root: Mapping, key: string): unknown {
  return key.split('.').reduce<unknown>((value, part) => (isMapping(value) ? value[part] : undefined), root)
}
