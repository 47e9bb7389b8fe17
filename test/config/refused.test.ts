// Every fault that can be seen before a port is opened: the real process, its exit code and its one sentence.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runWarmfork } from '../helpers/run-warmfork.ts'

interface Case {
  args?: string[]
  env?: Record<string, string>
  /** Text of the file warmfork.yaml, which is then given with --config. */
  yaml?: string
  /** One sentence a line. */
  says: string[]
}

const upstream = ['--upstream', 'http://127.0.0.1:8000']
const example = 'a URL that begins with http:// or https://, as in http://127.0.0.1:8000'

// Root may read everything, so the system's answer is put in its place.
const forbidReading = `import fs from 'node:fs'
  import { syncBuiltinESMExports } from 'node:module'
  const { readFileSync } = fs
  fs.readFileSync = (path, ...rest) => {
    if (path === 'warmfork.yaml') throw Object.assign(new Error('EACCES'), { code: 'EACCES' })
    return readFileSync(path, ...rest)
  }
  syncBuiltinESMExports()`

const cases: Record<string, Case> = {
  'no upstream and no simulator': {
    says: [
      'upstream.url is null (the default), but warmfork needs an engine behind it: give its address with --upstream http://127.0.0.1:8000, WARMFORK_UPSTREAM or upstream.url in the configuration file, or try warmfork without one with --simulator.',
    ],
  },
  'an upstream and the simulator': {
    args: [...upstream, '--simulator'],
    says: [
      'upstream.url is "http://127.0.0.1:8000" (flag --upstream) while simulator is true (flag --simulator), but only one can be behind warmfork: leave one of the two out.',
    ],
  },
  'an unknown key': {
    args: upstream,
    yaml: 'server:\n  prot: 80\n',
    says: ['server.prot (warmfork.yaml, line 2) is not a key of warmfork: did you mean server.port?'],
  },
  'an unknown key in another spelling': {
    args: upstream,
    yaml: 'upstream:\n  connectTimeoutMs: 80\n',
    says: ['upstream.connectTimeoutMs (warmfork.yaml, line 2) is not a key of warmfork: did you mean upstream.connect_timeout_ms?'],
  },
  'an unknown section': {
    args: upstream,
    yaml: 'sever:\n  port: 80\n',
    says: ['sever (warmfork.yaml, line 1) is not a key of warmfork: did you mean server?'],
  },
  'a section in another spelling': {
    args: upstream,
    yaml: 'Fork:\n  mode: observe\nServer_:\nserve: { port: 80 }\nlog_level: debug\n',
    says: [
      'Fork (warmfork.yaml, line 1) is not a key of warmfork: did you mean fork?',
      'Server_ (warmfork.yaml, line 3) is not a key of warmfork: did you mean server?',
      'serve (warmfork.yaml, line 4) is not a key of warmfork: did you mean server?',
      'log_level (warmfork.yaml, line 5) is not a key of warmfork: did you mean log.level?',
    ],
  },
  'a key outside its section': {
    args: upstream,
    yaml: 'ttl_s: 80\n',
    says: ['ttl_s (warmfork.yaml, line 1) is not a key of warmfork: did you mean evidence.ttl_s?'],
  },
  'an unknown key that is like no other': {
    args: upstream,
    yaml: 'openai_credentials: sk-secret\n',
    says: ['openai_credentials (warmfork.yaml, line 1) is not a key of warmfork: remove it; config/default.yaml lists all there are.'],
  },
  'a key written with dots': {
    args: upstream,
    yaml: 'server.port: 80\n',
    says: ['server.port (warmfork.yaml, line 1) is not a key of warmfork in this form: write port indented below server.'],
  },
  'a key of a prototype': {
    args: upstream,
    yaml: '__proto__:\n  simulator: true\n',
    says: ['__proto__ (warmfork.yaml, line 1) is not a key of warmfork: did you mean proof?'],
  },
  'a wrong type in the file': {
    args: upstream,
    yaml: '\nserver:\n  host: 127.0.0.1\n  port: "80"\n',
    says: ['server.port is "80" (warmfork.yaml, line 4), but must be a whole number from 0 to 65535: change it there.'],
  },
  'a wrong type in the environment': {
    args: upstream,
    env: { WARMFORK_PORT: 'http' },
    says: [
      'server.port is "http" (environment variable WARMFORK_PORT), but must be a whole number from 0 to 65535: set WARMFORK_PORT to another value.',
    ],
  },
  'a switch that is neither on nor off': {
    args: upstream,
    env: { WARMFORK_FORK_MODE: 'yes' },
    yaml: 'summary:\n  by_id: yes\nagents:\n  generic: 1\n',
    says: [
      'summary.by_id is "yes" (warmfork.yaml, line 2), but must be one of on, off: change it there.',
      'agents.generic is 1 (warmfork.yaml, line 4), but must be true or false: change it there.',
      'fork.mode is "yes" (environment variable WARMFORK_FORK_MODE), but must be one of on, observe, off: set WARMFORK_FORK_MODE to another value.',
    ],
  },
  'a value where a section is expected': {
    args: upstream,
    yaml: 'proof: 5000\n',
    says: ['proof is 5000 (warmfork.yaml, line 1), but must be a section with keys indented below it (timeout_ms): change it there.'],
  },
  'a section where a value is expected': {
    args: upstream,
    yaml: 'log:\n  level: { name: info }\n',
    says: [
      'log.level is a section (warmfork.yaml, line 2), but must be one of trace, debug, info, warn, error, fatal, silent: change it there.',
    ],
  },
  'a value out of range on the command line': {
    args: [...upstream, '--port=70000'],
    says: ['server.port is 70000 (flag --port), but must be a whole number from 0 to 65535: give --port another value.'],
  },
  'a value out of range in the file': {
    args: upstream,
    yaml: 'limits:\n  body_bytes: 0\n',
    says: ['limits.body_bytes is 0 (warmfork.yaml, line 2), but must be a whole number of bytes, at least 1: change it there.'],
  },
  'a time that no timer can keep': {
    args: upstream,
    yaml: 'shutdown: { grace_ms: 3000000000 }\n',
    says: [
      'shutdown.grace_ms is 3000000000 (warmfork.yaml, line 1), but must be a whole number of milliseconds from 0 to 86400000: change it there.',
    ],
  },
  'a wrong entry of a list': {
    args: upstream,
    yaml: 'routes:\n  allow:\n    - /metrics\n    - v2/models\n',
    says: [
      'routes.allow is ["/metrics","v2/models"] (warmfork.yaml, line 2), but must be a list of paths, as in [/pooling, /custom/*]: change it there.',
    ],
  },
  'a value where a list is expected': {
    args: upstream,
    yaml: 'routes: { allow: /pooling }\nconversation: { body_fields: metadata }\n',
    says: [
      'routes.allow is "/pooling" (warmfork.yaml, line 1), but must be a list of paths, as in [/pooling, /custom/*]: change it there.',
      'conversation.body_fields is "metadata" (warmfork.yaml, line 2), but must be a list of member names, as in [session_id, metadata.session_id]: change it there.',
    ],
  },
  'credentials for the id of a conversation': {
    args: upstream,
    yaml: 'tenant: { headers: [X-Team-Key] }\nconversation:\n  headers: [x-id, Authorization, cookie, x-team-key]\n',
    says: [
      'conversation.headers is ["x-id","authorization","cookie","x-team-key"] (warmfork.yaml, line 3), but authorization carries a credential: take it out there.',
      'conversation.headers is ["x-id","authorization","cookie","x-team-key"] (warmfork.yaml, line 3), but cookie carries a credential: take it out there.',
      'conversation.headers is ["x-id","authorization","cookie","x-team-key"] (warmfork.yaml, line 3), but x-team-key carries a credential (tenant.headers, warmfork.yaml, line 1): take it out of one of the two.',
    ],
  },
  'a header with its credential in place of its name': {
    args: upstream,
    yaml: 'tenant:\n  headers: ["x-team-key: sk-secret"]\n',
    says: ['tenant.headers is ["x-team-key:***"] (warmfork.yaml, line 2), but must be a list of header names: change it there.'],
  },
  'a YAML syntax error': {
    args: upstream,
    yaml: 'server:\n  host: "127.0.0.1\n  port: 80\n',
    says: ['The configuration file warmfork.yaml is not YAML at line 4, column 1 (Missing closing "quote): correct it there.'],
  },
  'a YAML syntax error beside a secret': {
    args: upstream,
    yaml: 'upstream:\n  url: http://bob:secret@host: 80\n',
    says: [
      'The configuration file warmfork.yaml is not YAML at line 2, column 8 (Nested mappings are not allowed in compact mappings): correct it there.',
    ],
  },
  'duplicate keys': {
    args: upstream,
    yaml: 'server:\n  port: 80\n  port: 81\nlog: {}\nlog: {}\n',
    says: [
      'server.port (warmfork.yaml, line 3, column 3) stands there for the second time: remove one of the two.',
      'log (warmfork.yaml, line 5, column 1) stands there for the second time: remove one of the two.',
    ],
  },
  'a file that holds no keys': {
    args: upstream,
    yaml: '- port\n',
    says: ['The configuration file warmfork.yaml does not hold keys and values: write it like config/default.yaml.'],
  },
  'aliases that multiply without end': {
    args: upstream,
    yaml: `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n`,
    says: ['The configuration file warmfork.yaml does not hold keys and values: write it like config/default.yaml.'],
  },
  'a missing file': {
    args: [...upstream, '--config', 'missing.yaml'],
    says: ['The configuration file "missing.yaml" (flag --config) does not exist: create it, or correct the path.'],
  },
  'a missing file named by the environment': {
    args: upstream,
    env: { WARMFORK_CONFIG: 'missing.yaml' },
    says: ['The configuration file "missing.yaml" (environment variable WARMFORK_CONFIG) does not exist: create it, or correct the path.'],
  },
  'a folder for a file': {
    args: [...upstream, '--config', '.'],
    says: ['The configuration file "." (flag --config) is a folder: give the path of a file in it.'],
  },
  'a file that may not be read': {
    args: upstream,
    env: { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(forbidReading)}` },
    yaml: 'server: {}\n',
    says: [
      'The configuration file "warmfork.yaml" (flag --config) may not be read by this user: change its permissions, or give another.',
    ],
  },
  'an unknown flag': {
    args: [...upstream, '--prot', '80'],
    says: ['--prot is not a flag of warmfork: did you mean --port?'],
  },
  'an unknown flag that is like no other': {
    args: [...upstream, '--credential=sk-secret'],
    says: ['--credential is not a flag of warmfork: see warmfork --help.'],
  },
  'a flag without its value': {
    args: [...upstream, '--port'],
    says: ['--port on the command line has no value: give one, as in --port <port>.'],
  },
  'a flag in place of a value': {
    args: [...upstream, '--port', '--simulator'],
    says: ['--port on the command line has no value: give one, as in --port <port>.'],
  },
  'a value for a flag that takes none': {
    args: ['--simulator=yes'],
    says: ['--simulator takes no value: give it alone, or leave it out.'],
  },
  'an argument without its flag': {
    args: ['http://bob:secret@127.0.0.1:8000'],
    says: ['"http://***@127.0.0.1:8000" on the command line belongs to no flag: put the flag before it, as in --upstream <url>.'],
  },
  'an upstream without a scheme': {
    args: ['--upstream', 'localhost:8000'],
    says: [`upstream.url is "localhost:8000" (flag --upstream), but must be ${example}: give --upstream another value.`],
  },
  'an upstream of another scheme': {
    args: ['--upstream=ftp://localhost:8000'],
    says: [`upstream.url is "ftp://localhost:8000" (flag --upstream), but must be ${example}: give --upstream another value.`],
  },
  'an empty upstream flag': {
    args: ['--upstream='],
    says: [`upstream.url is "" (flag --upstream), but must be ${example}: give --upstream another value.`],
  },
  'an upstream with a path': {
    args: ['--upstream', 'https://engine:8000/api/v1'],
    says: [
      'upstream.url is "https://engine:8000/api/v1" (flag --upstream), but must be without a path other than /v1, since each request brings its own, as in https://engine:8000: give --upstream another value.',
    ],
  },
  'an upstream with credentials': {
    env: { WARMFORK_UPSTREAM: 'http://bob:secret@engine:8000/v1' },
    says: [
      'upstream.url is "http://***@engine:8000/v1" (environment variable WARMFORK_UPSTREAM), but must be without credentials, since warmfork passes on those of the clients (leave out what stands before the @): set WARMFORK_UPSTREAM to another value.',
    ],
  },
  'an upstream with credentials and no scheme': {
    args: ['--upstream', 'bob:secret@engine:8000'],
    says: [`upstream.url is "***@engine:8000" (flag --upstream), but must be ${example}: give --upstream another value.`],
  },
  'an upstream with a query': {
    args: ['--upstream', 'http://engine:8000/?key=secret'],
    says: [
      'upstream.url is "http://engine:8000/?***" (flag --upstream), but must be without a query (leave out the ? and what follows it): give --upstream another value.',
    ],
  },
  'an upstream with a fragment': {
    args: ['--upstream', 'http://engine:8000/#secret'],
    says: [
      'upstream.url is "http://engine:8000/#***" (flag --upstream), but must be without a fragment (leave out the # and what follows it): give --upstream another value.',
    ],
  },
  'an upstream with credentials in place of its section': {
    yaml: 'upstream: http://bob:secret@engine:8000\n',
    says: [
      'upstream is "http://***@engine:8000" (warmfork.yaml, line 1), but must be a section with keys indented below it (url, connect_timeout_ms, tls_ca): change it there.',
    ],
  },
  'an upstream that is warmfork itself': {
    args: ['--upstream', 'http://localhost:8080/v1'],
    says: [
      'upstream.url is "http://localhost:8080/v1" (flag --upstream), but warmfork itself would listen there (server.port, the default): give the engine\'s address, or another port with --port.',
    ],
  },
  'the same port for both servers': {
    args: [...upstream, '--admin-port', '8080'],
    says: [
      'server.port (the default) and admin.port (flag --admin-port) are both 8080, but must differ: give another with --port or --admin-port.',
    ],
  },
  'several faults at once': {
    args: ['--upstream', 'engine', '--nonsense'],
    env: { WARMFORK_LOG_LEVEL: 'loud' },
    yaml: 'fork:\n  mode: maybe\n  hold: 3\nevidence: { ttl_s: 0.5 }\n',
    says: [
      '--nonsense is not a flag of warmfork: see warmfork --help.',
      `upstream.url is "engine" (flag --upstream), but must be ${example}: give --upstream another value.`,
      'evidence.ttl_s is 0.5 (warmfork.yaml, line 4), but must be a whole number of seconds from 1 to 2147483: change it there.',
      'fork.mode is "maybe" (warmfork.yaml, line 2), but must be one of on, observe, off: change it there.',
      'fork.hold (warmfork.yaml, line 3) is not a key of warmfork: did you mean fork.hold_headers_ms?',
      'log.level is "loud" (environment variable WARMFORK_LOG_LEVEL), but must be one of trace, debug, info, warn, error, fatal, silent: set WARMFORK_LOG_LEVEL to another value.',
    ],
  },
}

t.jobs = 4
for (const [name, { args = [], env = {}, yaml, says }] of Object.entries(cases)) {
  t.test(`warmfork refuses to start with ${name}`, async (t) => {
    const cwd = t.testdir()
    if (yaml !== undefined) writeFileSync(join(cwd, 'warmfork.yaml'), yaml)
    const { code, stdout, stderr } = await runWarmfork({ args: [...args, ...(yaml === undefined ? [] : ['--config', 'warmfork.yaml'])], env, cwd })
    t.same({ code, stdout, said: stderr.split('\n') }, { code: 2, stdout: '', said: [...says.map((sentence) => `warmfork: ${sentence}`), ''] })
    t.notMatch(stderr, /secret/)
  })
}
