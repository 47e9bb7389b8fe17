// What can be configured: every key with its type, range and default. Sources and faults: config/.
// zod is used here and for agent files: traffic is never validated by a schema.

import { z } from 'zod'
import { upstreamUrlFault } from './config/upstream-url.ts'

/** One day. Far below 2^31 ms, beyond which a Node timer fires at once. */
const longestWaitMs = 24 * 60 * 60 * 1000

/** 2^31 ms. */
const longestTimeS = Math.floor(2 ** 31 / 1000)

// The text given as `error` completes the sentence "<key> is <value>, but must be …".

function wholeFromTo(what: string, min: number, max: number) {
  const error = `${what} from ${min} to ${max}`
  return z.int({ error }).min(min, { error }).max(max, { error })
}

function wholeAtLeast(what: string, min: number) {
  const error = `${what}, at least ${min}`
  return z.int({ error }).min(min, { error })
}

const port = () => wholeFromTo('a whole number', 0, 65535)
const milliseconds = (min: number) => wholeFromTo('a whole number of milliseconds', min, longestWaitMs)
const seconds = (min: number) => wholeFromTo('a whole number of seconds', min, longestTimeS)
const bytes = (min: number) => wholeAtLeast('a whole number of bytes', min)
const tokens = (min: number) => wholeAtLeast('a whole number of tokens', min)
const optionalTokens = () => wholeAtLeast('null or a whole number of tokens', 1).nullable().default(null)

function oneOf<const T extends readonly string[]>(...names: T) {
  return z.enum(names, { error: `one of ${names.join(', ')}` })
}

/** True and false however they are spelt: YAML takes on for a text, and a variable is always one. */
function asBoolean(value: unknown): unknown {
  if (value === 'true' || value === 'on') return true
  return value === 'false' || value === 'off' ? false : value
}

function asOnOff(value: unknown): unknown {
  const boolean = asBoolean(value)
  return typeof boolean === 'boolean' ? (boolean ? 'on' : 'off') : value
}

const trueOrFalse = () => z.preprocess(asBoolean, z.boolean({ error: 'true or false' }))
const onOrOff = () => z.preprocess(asOnOff, oneOf('on', 'off'))

function host() {
  const error = 'a host name or an address to listen on'
  return z.string({ error }).regex(/^[^\s/]+$/, { error })
}

function listOf(what: string, pattern: RegExp) {
  const error = `a list of ${what}`
  return z.array(z.string({ error }).regex(pattern, { error }), { error })
}

/** Header names are looked up in Node's lower-case headers, so they are kept in lower case. */
function headerNames() {
  const error = 'a list of header names'
  const name = z.string({ error }).regex(/^[!#$%&'*+.^_`|~0-9a-z-]+$/i, { error }).toLowerCase()
  return z.array(name, { error })
}

function upstreamUrl() {
  return z
    .string({ error: 'an http or https URL, or null' })
    .superRefine((url, context) => {
      const fault = upstreamUrlFault(url)
      if (fault !== null) context.addIssue({ code: 'custom', message: fault })
    })
    .nullable()
}

const conversationHeaders = [
  'x-conversation-id',
  'x-session-id',
  'x-session-affinity',
  'session-id',
  'session_id',
  'thread-id',
  'x-opencode-session',
  'x-claude-code-session-id',
  'x-litellm-session-id',
  'x-affinity',
]

const conversationBodyFields = ['metadata.conversation_id', 'metadata.session_id', 'prompt_cache_key', 'session_id']

const section = <T extends z.core.$ZodShape>(shape: T) => z.strictObject(shape).prefault({} as never)

export const configSchema = z.strictObject({
  upstream: section({
    url: upstreamUrl().default(null),
    connect_timeout_ms: milliseconds(1).default(5000),
    tls_ca: z.string({ error: 'null or the path of a file' }).min(1, { error: 'null or the path of a file' }).nullable().default(null),
  }),
  server: section({ host: host().default('127.0.0.1'), port: port().default(8080) }),
  admin: section({ host: host().default('127.0.0.1'), port: port().default(8081) }),
  limits: section({
    body_bytes: bytes(1).default(256 * 1024 * 1024),
    header_bytes: bytes(1024).default(64 * 1024),
    connections: wholeAtLeast('null or a whole number of connections', 1).nullable().default(null),
  }),
  routes: section({ allow: listOf('paths, as in [/pooling, /custom/*]', /^(\/[^\s*?#]*)?\/\*$|^\/[^\s*?#]*$/).default([]) }),
  tenant: section({ headers: headerNames().default([]) }),
  conversation: section({
    headers: headerNames().default(conversationHeaders),
    body_fields: listOf('member names, as in [session_id, metadata.session_id]', /^[^.\s]+(\.[^.\s]+)*$/).default(conversationBodyFields),
  }),
  evidence: section({ max_bytes: bytes(1).default(512 * 1024 * 1024), ttl_s: seconds(1).default(3600) }),
  summary: section({
    input_cap_tokens: optionalTokens(),
    output_allowance_tokens: optionalTokens(),
    min_output_tokens: tokens(1).default(4000),
    by_id: onOrOff().default('off'),
  }),
  agents: section({
    directory: z.string({ error: 'null or the path of a folder' }).min(1, { error: 'null or the path of a folder' }).nullable().default(null),
    generic: trueOrFalse().default(true),
  }),
  fork: section({
    mode: z.preprocess(asOnOff, oneOf('on', 'observe', 'off')).default('on'),
    hold_headers_ms: milliseconds(0).default(5000),
    min_saved_tokens: tokens(0).default(1024),
    backoff_after: wholeAtLeast('a whole number of forks', 1).default(3),
    backoff_s: seconds(0).default(300),
  }),
  proof: section({ timeout_ms: milliseconds(1).default(5000) }),
  shutdown: section({ grace_ms: milliseconds(0).default(30_000) }),
  log: section({ level: oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent').default('info') }),
  simulator: trueOrFalse().default(false),
})

/** Everything that is in force, each key with a value. Units are in the names: _ms, _s, _bytes, _tokens. */
export type Config = z.output<typeof configSchema>

/** The configuration with nothing set. */
export const defaultConfig: Config = configSchema.parse({})
