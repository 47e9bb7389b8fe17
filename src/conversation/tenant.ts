// Who sends a request: a keyed hash over all its credential headers, never the credentials (R14).

import { hash, randomBytes } from 'node:crypto'

/** Headers that carry a credential for vLLM or for the gateways in front of it. */
export const credentialHeaders = ['authorization', 'x-api-key', 'api-key'] as const

/** New at every start: a hash means nothing outside this process. */
const key = randomBytes(32).toString('base64url')

/** A short keyed hash, for names that must not be readable in memory dumps, logs or stores. */
export function keyedHash(...parts: string[]): string {
  // Lengths keep ['ab', 'c'] and ['a', 'bc'] apart. An HMAC would take 10 µs for each main request and this takes 0.3;
  // what an HMAC adds, that nobody goes on from a known hash, half of a hash does not allow either.
  let text = key
  for (const part of parts) text += `${part.length}:${part}`
  return hash('sha256', text, 'base64url').slice(0, 22)
}

export class Tenants {
  readonly #headers: readonly string[]
  /** Most headers are told from all of them by their length. */
  readonly #lengths: ReadonlySet<number>

  /** @param further names of credential headers beside the usual ones (tenant.headers) */
  constructor(further: readonly string[]) {
    this.#headers = [...new Set([...credentialHeaders, ...further.map((name) => name.toLowerCase())])].sort()
    this.#lengths = new Set(this.#headers.map(({ length }) => length))
  }

  /**
   * The tenant of a request. All requests without any credential are one tenant.
   * @param target the request target: some gateways take a credential in the query
   */
  of(rawHeaders: readonly string[], target = ''): string {
    const credentials = this.credentials(rawHeaders)
    const parts = ['tenant', credentialsInQuery(target)]
    // By name, repeats in the order sent: Node's joined headers would drop all but the first of some.
    for (const name of this.#headers) {
      const values: string[] = []
      for (let i = 0; i < credentials.length; i += 2) {
        if (credentials[i]!.length === name.length && credentials[i]!.toLowerCase() === name) values.push(credentials[i + 1]!)
      }
      parts.push(String(values.length), ...values)
    }
    return keyedHash(...parts)
  }

  /** The credential headers of a request as sent: for our own questions to the engine on the tenant's behalf. */
  credentials(rawHeaders: readonly string[]): string[] {
    const credentials: string[] = []
    for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
      if (this.#lengths.has(rawHeaders[i]!.length) && this.#headers.includes(rawHeaders[i]!.toLowerCase())) credentials.push(rawHeaders[i]!, rawHeaders[i + 1]!)
    }
    return credentials
  }
}

/** Query parameters by which gateways take a credential: Google's, Azure's and others' names, RFC 6750's. */
const credentialParameter = /^(?:key|api[-_]?key|apikey|access_token|token|subscription-key|code)=/i

function credentialsInQuery(target: string): string {
  const at = target.indexOf('?')
  return at < 0 ? '' : target.slice(at + 1).split('&').filter((parameter) => credentialParameter.test(parameter)).join('&')
}
