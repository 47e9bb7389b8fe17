// The certificates that upstream.tls_ca names, for an engine whose certificate no public authority signed.

import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** upstream.tls_ca cannot be used. Its message says what to do, with the path and never with what the file holds. */
export class TlsCaError extends Error {}

/**
 * @param path of a file with one or more certificates in PEM form
 * @throws TlsCaError
 */
export function readTlsCa(path: string): string[] {
  const start = `upstream.tls_ca is ${JSON.stringify(path)}, but`
  let text: string
  try {
    text = readFileSync(path, 'latin1')
  } catch {
    throw new TlsCaError(`${start} no file can be read there: correct the path, or the file's permissions.`)
  }
  const certificates = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  if (certificates.length === 0) throw new TlsCaError(`${start} the file holds no certificate in PEM form: give the authority's certificate.`)
  for (const certificate of certificates) {
    try {
      new X509Certificate(certificate)
    } catch {
      throw new TlsCaError(`${start} a certificate in the file cannot be read: give the authority's certificate in PEM form.`)
    }
  }
  return certificates
}
