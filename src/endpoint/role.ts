// How a member of a request goes into a fork: by its endpoint's table.

import type { OptionTable, Role } from './endpoint.ts'

/** A member that no row names shapes the prompt. */
export function roleOf({ roles }: OptionTable, key: string): Role | 'prompt' {
  return Object.hasOwn(roles, key) ? roles[key]! : 'prompt'
}
