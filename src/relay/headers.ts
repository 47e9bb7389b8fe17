// Which headers go on and which belong to one connection only. Order, case and repeats stay as received.
// Never judges a value: what is not named here goes on.

/** Headers of one connection, in both directions, and why they end here. */
const connectionHeaders: Record<string, string> = {
  connection: 'names what ends at this hop (RFC 9110, 7.6.1)',
  'keep-alive': 'idle times of one connection (RFC 2068, 19.7.1)',
  'proxy-connection': 'a mistaken form of connection (RFC 9110, 7.6.1)',
  te: 'transfer codings that one connection accepts (RFC 9110, 10.1.4)',
  trailer: 'announces fields of a chunked body whose chunks are made anew (Go: httputil.ReverseProxy drops it too)',
  'transfer-encoding': 'framing of one connection (RFC 9112, 6.1)',
  upgrade: 'asks for another protocol on one connection (RFC 9110, 7.8)',
}

const requestHeaders = namesOf({
  ...connectionHeaders,
  'content-length': 'made anew: the body is held whole, whatever framing it came in (RFC 9112, 6.2)',
  expect: "answered here by Node: undici refuses it (RFC 9110, 10.1.1: the recipient's answer counts)",
  host: "made anew: the engine's own (RFC 9112, 3.2)",
  'http2-settings': 'part of an upgrade of one connection (RFC 7540, 3.2.1)',
  'proxy-authorization': 'credentials for this proxy, not for the engine (RFC 9110, 11.7.2)',
})

const replyHeaders = namesOf({
  ...connectionHeaders,
  'proxy-authenticate': 'asks for credentials for the next proxy only (RFC 9110, 11.7.1)',
})

function namesOf(table: Readonly<Record<string, string>>): ReadonlySet<string> {
  return new Set(Object.keys(table))
}

/**
 * A client's headers as the engine gets them, without host and length.
 * @param raw name, value, … as received
 */
export function headersForEngine(raw: readonly string[]): string[] {
  return withoutHop(raw, requestHeaders)
}

/**
 * The engine's headers as the client gets them.
 * @param raw name, value, … as received
 */
export function headersForClient(raw: readonly string[]): string[] {
  const kept = withoutHop(raw, replyHeaders, isReceipt)
  // nginx holds back a stream until its buffer is full, unless told so.
  if (isEventStream(kept) && headerValue(kept, 'x-accel-buffering') === undefined) kept.push('x-accel-buffering', 'no')
  return kept
}

/**
 * The first value of a header.
 * @param raw name, value, …
 * @param name in lower case
 */
export function headerValue(raw: readonly string[], name: string): string | undefined {
  for (let i = 0; i < raw.length; i += 2) {
    if (isNamed(raw[i]!, name)) return raw[i + 1]
  }
  return undefined
}

/**
 * Whether a reply is a stream of server-sent events.
 * @param raw name, value, …
 */
export function isEventStream(raw: readonly string[]): boolean {
  return /^\s*text\/event-stream\s*(;|$)/i.test(headerValue(raw, 'content-type') ?? '')
}

const receiptPrefix = 'x-warmfork-'

/** A receipt that came from behind is none of ours; that a simulator made the reply stays true. */
function isReceipt(lower: string): boolean {
  return lower.length > receiptPrefix.length && lower.startsWith(receiptPrefix) && lower !== 'x-warmfork-simulator'
}

function withoutHop(raw: readonly string[], dropped: ReadonlySet<string>, isDropped?: (lower: string) => boolean): string[] {
  const named = namedByConnection(raw)
  const kept: string[] = []
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i]!
    const lower = name.toLowerCase()
    if (!dropped.has(lower) && !named?.has(lower) && !isDropped?.(lower)) kept.push(name, raw[i + 1]!)
  }
  return kept
}

/** @param name in lower case */
function isNamed(written: string, name: string): boolean {
  return written.length === name.length && (written === name || written.toLowerCase() === name)
}

/** What it mostly says, which names no header. */
const alone: ReadonlySet<string> = new Set(['keep-alive', 'close'])

/** The header names that `connection` lists, if it lists any. */
function namedByConnection(raw: readonly string[]): Set<string> | undefined {
  let names: Set<string> | undefined
  for (let i = 0; i + 1 < raw.length; i += 2) {
    if (!isNamed(raw[i]!, 'connection') || alone.has(raw[i + 1]!)) continue
    for (const option of raw[i + 1]!.split(',')) {
      const name = option.trim().toLowerCase()
      // A body that goes on must stay readable: fields that describe it are never of one hop (RFC 9110, 7.6.1),
      // and a client that lists them only tries what a proxy takes away.
      if (name !== '' && !name.startsWith('content-')) (names ??= new Set()).add(name)
    }
  }
  return names
}
