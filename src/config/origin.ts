// Where a value in force came from, as people call it.

export type Origin =
  | { readonly kind: 'default' }
  | { readonly kind: 'file'; readonly file: string; readonly line: number }
  | { readonly kind: 'environment'; readonly variable: string }
  | { readonly kind: 'flag'; readonly flag: string }

/** Origin of each key that is in force, by its dotted name (`server.port`). */
export type Origins = ReadonlyMap<string, Origin>

/** The origin in words, for the middle of a sentence. */
export function describeOrigin(origin: Origin): string {
  switch (origin.kind) {
    case 'default':
      return 'the default'
    case 'file':
      return `${origin.file}, line ${origin.line}`
    case 'environment':
      return `environment variable ${origin.variable}`
    case 'flag':
      return `flag ${origin.flag}`
  }
}

/** What to do at the origin to change the value. */
export function changeAtOrigin(origin: Origin): string {
  switch (origin.kind) {
    case 'default':
      return 'set it in the configuration file'
    case 'file':
      return 'change it there'
    case 'environment':
      return `set ${origin.variable} to another value`
    case 'flag':
      return `give ${origin.flag} another value`
  }
}
