// Where the package's own data lies: one folder above this module, be it src/ or dist/.

import { readFileSync } from 'node:fs'

/** Folder that holds package.json and config/, as a URL that ends in a slash. */
export const packageRoot = new URL('../', import.meta.url)

/** The version in package.json. */
export function packageVersion(): string {
  return JSON.parse(readFileSync(new URL('package.json', packageRoot), 'utf8')).version
}
