// Requests whose framing could be read in two ways, as raw bytes; and such as look odd and can be read in one way only.

/** The beginning of a request that gets its framing from what follows. */
export const start = 'POST /v1/completions HTTP/1.1\r\nhost: x\r\n'
/** A whole request that must never come to an engine inside another. */
export const smuggled = 'GET /v1/smuggled HTTP/1.1\r\nhost: x\r\n\r\n'

export const twoReadings: Record<string, string> = {
  'both length headers': `${start}content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
  'both length headers, the other way round': `${start}transfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\n`,
  'two lengths that differ': `${start}content-length: 2\r\ncontent-length: 3\r\n\r\n{}}`,
  'two equal lengths': `${start}content-length: 2\r\ncontent-length: 2\r\n\r\n{}`,
  'a list of lengths': `${start}content-length: 2, 2\r\n\r\n{}`,
  'a length with a sign': `${start}content-length: +2\r\n\r\n{}`,
  'a negative length': `${start}content-length: -2\r\n\r\n{}`,
  'a length in hexadecimal': `${start}content-length: 0x2\r\n\r\n{}`,
  'a length with a space inside': `${start}content-length: 1 2\r\n\r\n{}`,
  'an empty length': `${start}content-length:\r\n\r\n{}`,
  'a length beyond 64 bits': `${start}content-length: 99999999999999999999\r\n\r\n{}`,
  'chunked, but not last': `${start}transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n`,
  'chunked twice': `${start}transfer-encoding: chunked, chunked\r\n\r\n0\r\n\r\n`,
  'chunked in two headers': `${start}transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n\r\n0\r\n\r\n`,
  'an unknown coding': `${start}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n`,
  'a chunk size that is no number': `${start}transfer-encoding: chunked\r\n\r\nxyz\r\n{}\r\n0\r\n\r\n`,
  'a chunk size with a prefix': `${start}transfer-encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n`,
  'a negative chunk size': `${start}transfer-encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n`,
  'a chunk size beyond 64 bits': `${start}transfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}\r\n0\r\n\r\n`,
  'a chunk longer than its size': `${start}transfer-encoding: chunked\r\n\r\n2\r\n{}}}\r\n0\r\n\r\n`,
  'a chunk ended by a bare line feed': `${start}transfer-encoding: chunked\r\n\r\n2\n{}\n0\n\n`,
  'a space before the colon': `${start}content-length : 2\r\n\r\n{}`,
  'a tab before the colon': `${start}transfer-encoding\t: chunked\r\n\r\n0\r\n\r\n`,
  'a folded header': `${start}x-long: a\r\n b\r\ncontent-length: 2\r\n\r\n{}`,
  'a folded length': `${start}content-length:\r\n 2\r\n\r\n{}`,
  'a header line without a colon': `${start}nonsense\r\n\r\n`,
  'a header without a name': `${start}: x\r\n\r\n`,
  'a control character in a name': `${start}x\x01y: 1\r\n\r\n`,
  'a zero byte in a value': `${start}x: a\0b\r\n\r\n`,
  'a bare carriage return in a value': `${start}x: a\rcontent-length: 2\r\n\r\n{}`,
  'bare line feeds': 'POST /v1/completions HTTP/1.1\nhost: x\ncontent-length: 2\n\n{}',
  'a bare line feed after a header': 'POST /v1/completions HTTP/1.1\r\nhost: x\ncontent-length: 2\r\n\r\n{}',
  'a space in the target': 'GET /v1/models x HTTP/1.1\r\nhost: x\r\n\r\n',
  'an unknown version': 'GET /v1/models HTTP/1.2\r\nhost: x\r\n\r\n',
  'HTTP/2 by prior knowledge': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'a method that is none': 'G@T /v1/models HTTP/1.1\r\nhost: x\r\n\r\n',
  'no HTTP at all': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
}

export interface Passing {
  readonly bytes: string
  /** Bodies of the requests that the engine gets. */
  readonly bodies: readonly string[]
}

export const oneReading: Record<string, Passing> = {
  'requests one behind the other in one write': { bytes: `${start}content-length: 3\r\n\r\none${start}content-length: 3\r\n\r\ntwo`, bodies: ['one', 'two'] },
  'chunks, extensions and trailers': { bytes: `${start}transfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n3;ext="a;b"\r\none\r\n2\r\n{}\r\n0\r\nx-sum: 1\r\n\r\n`, bodies: ['one{}'] },
  'chunk sizes with leading zeros, in capitals': { bytes: `${start}Transfer-Encoding: CHUNKED\r\n\r\n000A\r\n0123456789\r\n0\r\n\r\n`, bodies: ['0123456789'] },
  'a length with leading zeros': { bytes: `${start}content-length: 0002\r\n\r\n{}`, bodies: ['{}'] },
  'empty lines in front of a request': { bytes: `\r\n\r\n${start}content-length: 2\r\n\r\n{}`, bodies: ['{}'] },
  'a body that looks like a request': { bytes: `${start}content-length: ${smuggled.length}\r\n\r\n${smuggled}`, bodies: [smuggled] },
  'a GET with a body': { bytes: 'GET /v1/some HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}', bodies: ['{}'] },
  'header values that are not ASCII': { bytes: `${start}x-name: caf\xe9 \xff\r\ncontent-length: 2\r\n\r\n{}`, bodies: ['{}'] },
}
