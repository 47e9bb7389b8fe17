// Who sends a request: a keyed hash over all its credential headers, never the credentials (R14).

import { createHmac, randomBytes } from 'node:crypto'

/** Headers that carry a credential for vLLM or for the gateways in front of it. */
const credentialHeaders = ['authorization', 'x-api-key', 'api-key'] as const

/** New at every start: a hash means nothing outside this process. */
const key = randomBytes(32)

/** A short keyed hash, for names that must not be readable in memory dumps, logs or stores. */
export function keyedHash(...parts: string[]): string {
  const hash = createHmac('sha256', key)
  // Lengths keep ['ab', 'c'] and ['a', 'bc'] apart.
  for (const part of parts) hash.update(`${part.length}:`).update(part)
  return hash.digest('base64url').slice(0, 22)
}

export class Tenants {
  readonly #headers: readonly string[]

  /** @param further names of credential headers beside the usual ones (tenant.headers) */
  constructor(further: readonly string[]) {
    this.#headers = [...new Set([...credentialHeaders, ...further.map((name) => name.toLowerCase())])].sort()
  }

  /** The tenant of a request. All requests without any credential are one tenant. */
  of(rawHeaders: readonly string[]): string {
    const credentials = this.credentials(rawHeaders)
    // By name, repeats in the order sent: Node's joined headers would drop all but the first of some.
    const named = this.#headers.map((name) => credentials.filter((_, i) => i % 2 === 1 && credentials[i - 1]!.toLowerCase() === name))
    return keyedHash('tenant', ...named.flatMap((values) => [String(values.length), ...values]))
  }

  /** The credential headers of a request as sent: for our own questions to the engine on the tenant's behalf. */
  credentials(rawHeaders: readonly string[]): string[] {
    const credentials: string[] = []
    for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
      if (this.#headers.includes(rawHeaders[i]!.toLowerCase())) credentials.push(rawHeaders[i]!, rawHeaders[i + 1]!)
    }
    return credentials
  }
}
