// How a configured value may be shown in a sentence. A credential that was put in the wrong place stays out of it.

import { isMapping } from './keys.ts'
import { redactUrl } from './upstream-url.ts'

const maxShown = 80

/**
 * A value in the form in which YAML or JSON would have it, on one line.
 * @param key dotted name of the key it was given for
 */
export function showValue(key: string, value: unknown): string {
  if (isMapping(value)) return 'a section'
  const redact = key.startsWith('upstream') ? redactUrl : key.endsWith('headers') ? redactHeader : (text: string) => text
  return shorten(JSON.stringify(value, (_, inner) => (typeof inner === 'string' ? redact(inner) : isMapping(inner) ? '…' : inner)))
}

/** A name that somebody gave and that nobody here knows. */
export function showName(name: string): string {
  return /^[\w.-]+$/.test(name) ? shorten(name) : shorten(JSON.stringify(redactUrl(name)))
}

/** `authorization: Bearer …` where only `authorization` belongs. */
function redactHeader(header: string): string {
  return header.replace(/^([^:=\s]*[:=\s]).*$/s, '$1***')
}

export function shorten(text: string): string {
  return text.length > maxShown ? `${text.slice(0, maxShown)}…` : text
}
