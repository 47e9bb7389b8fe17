// What an upstream URL may look like, and how it may be shown. Credentials in it are never shown.

const example = 'http://127.0.0.1:8000'

/**
 * What is wrong with an upstream URL.
 * @returns the end of the sentence "upstream.url is <url>, but must be …", or null if nothing is wrong
 */
export function upstreamUrlFault(url: string): string | null {
  const parsed = URL.parse(url)
  if (parsed === null || !/^https?:\/\//i.test(url)) return `a URL that begins with http:// or https://, as in ${example}`
  if (parsed.username !== '' || parsed.password !== '') {
    return `without credentials, since warmfork passes on those of the clients (leave out what stands before the @)`
  }
  if (url.includes('?')) return `without a query (leave out the ? and what follows it)`
  if (url.includes('#')) return `without a fragment (leave out the # and what follows it)`
  if (!/^(\/|\/v1\/?)$/.test(parsed.pathname)) {
    return `without a path other than /v1, since each request brings its own, as in ${parsed.origin}`
  }
  return null
}

/** The URL as it may be shown: user, password, query and fragment replaced by ***. */
export function redactUrl(url: string): string {
  return url.replace(/^([a-z][a-z0-9+.-]*:\/\/)?.*@/is, '$1***@').replace(/([?#]).*$/s, '$1***')
}

/** Scheme, host and port of a valid upstream URL. */
export function upstreamOrigin(url: string): string {
  return new URL(url).origin
}
