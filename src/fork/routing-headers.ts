// Headers that decide which engine, rank or replica answers. A fork carries the evidence's, or it lands elsewhere (DESIGN, Receipts).

/** Lower case, each with who reads it. */
const routing: ReadonlySet<string> = new Set([
  'x-data-parallel-rank', // vLLM: pins the rank (generate/base/serving.py)
  'x-session-id', // vLLM and its production stack's session router
  'x-session-affinity', // agents' own, read by gateways
  'x-affinity', // mistral-vibe
  'session-id', 'session_id', 'thread-id', // Codex and pi, read by gateways
  'x-user-id', // vLLM production stack, session key of its documentation
  'x-litellm-session-id', // LiteLLM proxy
  'x-opencode-session', // opencode's gateway
  'x-claude-code-session-id', // Claude Code's gateways
  'x-session-token', // llm-d: session affinity, given by the reply
  'x-dynamo-session-id', 'x-dynamo-parent-session-id', // NVIDIA Dynamo, "Identify agent sessions"
])

/** Given by a reply and to be repeated (llm-d's session affinity scorer). */
const sessionToken = 'x-session-token'

/** Marks a session's last request for the router (NVIDIA Dynamo, "Session IDs"): a fork never is. */
const endsSession: ReadonlySet<string> = new Set(['x-dynamo-session-final'])

/** Names a request for logs; two in flight under one id crash vLLM before 0.14. */
const perRequest: ReadonlySet<string> = new Set(['x-request-id', 'x-client-request-id', 'x-correlation-id', 'traceparent', 'tracestate', 'idempotency-key'])

/** The routing headers of a request as sent: name, value, … */
export function routingHeaders(rawHeaders: readonly string[]): string[] {
  return pick(rawHeaders, (name) => routing.has(name))
}

/** The session token that a reply gave, as a header pair, or nothing. */
export function givenSessionToken(rawHeaders: readonly string[]): string[] {
  return pick(rawHeaders, (name) => name === sessionToken)
}

/**
 * The headers of a fork: the summary request's own, with the evidence's routing.
 * @param summaryHeaders the summary request's headers without hop-by-hop ones
 * @param parent the evidence's routing headers and the session token of its reply
 * @param receipt id of the receipt: names the request where the client named its own
 */
export function forkHeaders(summaryHeaders: readonly string[], parent: { routing: readonly string[], sessionToken: readonly string[] }, receipt: string): string[] {
  const own = pick(summaryHeaders, (name) => !routing.has(name) && !endsSession.has(name) && !perRequest.has(name) &&
    !name.startsWith('x-warmfork-') && name !== 'accept-encoding')
  const named = pick(summaryHeaders, (name) => name === 'x-request-id').length > 0
  const inherited = parent.sessionToken.length > 0 ? pick(parent.routing, (name) => name !== sessionToken) : parent.routing
  return [
    ...own,
    // A fork's reply is judged, so it must come as it is.
    'accept-encoding', 'identity',
    ...inherited, ...parent.sessionToken,
    ...(named ? ['x-request-id', `warmfork-${receipt}`] : []),
  ]
}

function pick(rawHeaders: readonly string[], wanted: (name: string) => boolean): string[] {
  const picked: string[] = []
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if (wanted(rawHeaders[i]!.toLowerCase())) picked.push(rawHeaders[i]!, rawHeaders[i + 1]!)
  }
  return picked
}
