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

export function boolean(body: JsonObject, name: string, otherwise: boolean): boolean {
  const value = body.get(name)
  if (value === undefined || value === null) return otherwise
  if (typeof value === 'boolean') return value
  if (value === 0 || value === 1) return value === 1
  throw invalidField('bool_type', name, 'Input should be a valid boolean', quoted(value))
}

export function optionalInteger(body: JsonObject, name: string): number | null {
  const value = body.get(name) ?? null
  if (value === null) return null
  if (typeof value === 'number') return value
  if (value instanceof PythonFloat && Number.isInteger(value.value)) return value.value
  throw invalidField('int_type', name, 'Input should be a valid integer', quoted(value))
}

export function optionalNumber(body: JsonObject, name: string): number | null {
  const value = body.get(name) ?? null
  if (value === null || typeof value === 'number') return value
  if (value instanceof PythonFloat) return value.value
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
