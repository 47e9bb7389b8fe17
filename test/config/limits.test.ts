// Every limit that a client can run into has a name in the configuration, and its error says which.

import t from 'tap'
import { defaultConfig } from '../../src/config.ts'
import { keys, valueAt } from '../../src/config/keys.ts'
import { errorDefinitions, type ErrorCode } from '../../src/errors.ts'

const named: Partial<Record<ErrorCode, string>> = {
  body_too_large: 'limits.body_bytes',
  headers_too_large: 'limits.header_bytes',
  too_many_connections: 'limits.connections',
  upstream_timeout: 'upstream.connect_timeout_ms',
}

t.test('an error for a limit names the key that sets it', async (t) => {
  for (const [code, key] of Object.entries(named)) {
    t.ok(keys.includes(key), key)
    t.match(errorDefinitions[code as ErrorCode].message, key)
  }
})

t.test('body, head and evidence are bounded without being told so, connections by the system alone', async (t) => {
  for (const key of ['limits.body_bytes', 'limits.header_bytes', 'evidence.max_bytes']) t.ok(Number(valueAt(defaultConfig, key)) > 0, key)
  t.equal(valueAt(defaultConfig, 'limits.connections'), null)
})
