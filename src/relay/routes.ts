// Which routes go on to the engine: an allow-list, decided on the decoded path as vLLM decodes it.
// Whatever is allowed is forwarded as received; this file never rewrites a target.

/** Open by default. vLLM guards only /v1 with its key, and its other routes stop, scale or update engines. */
const openRoutes: readonly { pattern: string; reason: string }[] = [
  { pattern: '/v1/*', reason: "the API that agents use, under the engine's own key" },
  { pattern: '/tokenize', reason: 'agents count tokens with it' },
  { pattern: '/detokenize', reason: 'its reverse' },
  { pattern: '/health', reason: 'probes of load balancers' },
  { pattern: '/ping', reason: 'the same under its SageMaker name' },
  { pattern: '/version', reason: 'clients read it' },
  { pattern: '/metrics', reason: 'scraped through the proxy where only that is reachable' },
]

/** Closed even inside an open pattern; only an exact entry of routes.allow opens them. */
const closedRoutes: Record<string, string> = {
  '/v1/load_lora_adapter': "loads files of the engine's machine into the model",
  '/v1/unload_lora_adapter': 'takes a model away from everyone',
}

/** Targets whose decision is remembered, and how long one may be: a few 100 KB at most. */
const maxRemembered = 256
const longestRemembered = 512

/** Decides on a request target: the decoded path without the query if it may pass, undefined if not. */
export type RouteDecision = (target: string) => string | undefined

/**
 * @param allow further exact paths, or prefixes that end in `/*` (routes.allow)
 */
export function createRoutes(allow: readonly string[] = []): RouteDecision {
  const patterns = [...openRoutes.map((route) => route.pattern), ...allow]
  const exact = new Set(patterns.filter((pattern) => !pattern.endsWith('/*')))
  const prefixes = patterns.filter((pattern) => pattern.endsWith('/*')).map((pattern) => pattern.slice(0, -1))

  const decide: RouteDecision = (target) => {
    // An absolute target names a host of its own, `*` names none, and a fragment is never sent: vLLM would cut it off.
    if (!target.startsWith('/') || target.includes('#')) return undefined
    const path = decodeOnce(target.split('?', 1)[0]!)
    const readings = allReadings(path)
    if (readings === undefined || !readings.every(isPlain)) return undefined
    if (exact.has(path)) return path
    if (readings.some((reading) => Object.hasOwn(closedRoutes, normalised(reading)))) return undefined
    return prefixes.some((prefix) => path.startsWith(prefix)) ? path : undefined
  }

  // Agents ask for the same few targets again and again.
  const decided = new Map<string, string | undefined>()
  return (target) => {
    if (decided.has(target)) return decided.get(target)
    const path = decide(target)
    if (decided.size < maxRemembered && target.length < longestRemembered) decided.set(target, path)
    return path
  }
}

/** Percent-decoding as Python's unquote does it: once, and what is no escape stays as it is. */
function decodeOnce(path: string): string {
  return path.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) =>
    Buffer.from(escapes.replaceAll('%', ''), 'hex').toString('utf8'),
  )
}

/** The path as vLLM reads it, and as gateways that decode again would; undefined when there is no end to it. */
function allReadings(path: string): string[] | undefined {
  const readings = [path]
  for (let reading = path; readings.length <= 4; ) {
    const next = decodeOnce(reading)
    if (next === reading) return readings
    readings.push(next)
    reading = next
  }
  return undefined
}

/** No dot segment, whatever stands for the slash or follows the dots, and no control character: Python's `$` matches before a last line feed. */
function isPlain(path: string): boolean {
  if (/[\u0000-\u001f\u007f]/.test(path)) return false
  return path.split(/[/\\]/).every((segment) => !/^\.{1,2}([;?#].*)?$/.test(segment))
}

/** How the most lenient gateway would read a path: one slash for many, none at the end, parameters and case ignored. */
function normalised(path: string): string {
  return path
    .split(/[/\\]+/)
    .map((segment) => segment.split(/[;?#]/, 1)[0]!.trim())
    .filter((segment, index) => segment !== '' || index === 0)
    .join('/')
    .toLowerCase()
}
