// Reading members of a request body as pydantic does where warmfork's clients could notice: types and refusals.

import { invalidField } from './errors.ts'
import { type Json, type JsonObject, PythonFloat } from './python-json.ts'

export function isObject(value: Json | undefined): value is JsonObject {
  return value instanceof Map
}

/** A short name of a value, as pydantic's messages quote it. */
export function quoted(value: Json | undefined): string {
  if (value === null || value === undefined) return 'None'
  if (isObject(value)) return `<dict of ${value.size} items>`
  if (Array.isArray(value)) return `<list of ${value.length} items>`
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  return value instanceof PythonFloat ? String(value.value) : String(value)
}

export function optionalString(body: JsonObject, name: string): string | null {
  const value = body.get(name) ?? null
  if (value === null || typeof value === 'string') return value
  throw invalidField('string_type', name, 'Input should be a valid string', quoted(value))
}

/** pydantic's lax booleans. */
const booleans: ReadonlyMap<string, boolean> = new Map([
  ...['true', 't', 'yes', 'y', 'on', '1'].map((word) => [word, true] as const),
  ...['false', 'f', 'no', 'n', 'off', '0'].map((word) => [word, false] as const),
])

function laxBoolean(value: Json): boolean | undefined {
  if (typeof value === 'boolean') return value
  const plain = value instanceof PythonFloat ? value.value : value
  return typeof plain === 'string' || plain === 0 || plain === 1 ? booleans.get(String(plain).toLowerCase()) : undefined
}

/** A boolean that may not be null. */
export function boolean(body: JsonObject, name: string, otherwise: boolean): boolean {
  const value = body.get(name)
  if (value === undefined) return otherwise
  const read = laxBoolean(value)
  if (read === undefined) throw invalidField('bool_type', name, 'Input should be a valid boolean', quoted(value))
  return read
}

/** A boolean for which null is as good as absent. */
export function optionalBoolean(body: JsonObject, name: string): boolean {
  return (body.get(name) ?? null) !== null && boolean(body, name, false)
}

export function optionalInteger(body: JsonObject, name: string): number | null {
  const value = optionalNumber(body, name)
  if (value === null || Number.isInteger(value)) return value
  throw invalidField('int_from_float', name, 'Input should be a valid integer, got a number with a fractional part', String(value))
}

export function optionalNumber(body: JsonObject, name: string): number | null {
  const value = body.get(name) ?? null
  if (value === null || typeof value === 'number') return value
  if (value instanceof PythonFloat) return value.value
  if (typeof value === 'string' && value.trim() !== '' && Number.isFinite(Number(value))) return Number(value)
  throw invalidField('float_type', name, 'Input should be a valid number', quoted(value))
}

export function optionalObject(body: JsonObject, name: string): JsonObject | null {
  const value = body.get(name) ?? null
  if (value === null || isObject(value)) return value
  throw invalidField('dict_type', name, 'Input should be a valid dictionary', quoted(value))
}

/** A list of ids, or null when the value is none. */
export function idList(value: Json | undefined): number[] | null {
  return Array.isArray(value) && value.every((id) => typeof id === 'number') ? value : null
}
