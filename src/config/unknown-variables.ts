// Which environment variables look as if they were meant for warmfork and are not read by it. Their values are never shown.

import { keys } from './keys.ts'
import { nearest } from './nearest.ts'
import { commands, type Flag, settings } from './settings.ts'
import { showName } from './show.ts'

export interface UnknownVariable {
  readonly name: string
  readonly sentence: string
}

const prefix = 'WARMFORK_'

const known = [...settings, ...commands].flatMap(({ variable }: Flag) => variable ?? [])

/** Read by the tests and benchmarks of the repository, and set where they and warmfork share a shell. */
const ofTests = /^WARMFORK_(TEST_.*|VLLM_HOME|AGENTS_HOME|NGINX)$/

/** Kubernetes sets these in every pod beside a service called warmfork, or warmfork-something; nobody meant us. */
const ofService = /^WARMFORK_(.+_)?(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/

/**
 * Whether a variable is the …_PORT that Kubernetes sets for a service: WARMFORK_PORT=tcp://10.0.0.1:8080 for one called
 * warmfork. It is no port of ours, and must not end the start of a pod that happens to stand beside that service.
 */
export function isServicePort(name: string, value: string): boolean {
  return name.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//.test(value)
}

/** Variables of warmfork's prefix that it does not read. An empty one counts as not set. */
export function unknownVariables(environment: Readonly<Record<string, string | undefined>>): UnknownVariable[] {
  return Object.entries(environment).flatMap(([name, value]) => {
    if (!name.startsWith(prefix) || !value || known.includes(name)) return []
    if (ofTests.test(name) || ofService.test(name) || isServicePort(name, value)) return []
    return [{ name, sentence: `Environment variable ${showName(name)} is none of warmfork, and ignored: ${whatToDo(name)}` }]
  })
}

function whatToDo(name: string): string {
  const key = keys.find((key) => `${prefix}${key.replace('.', '_').toUpperCase()}` === name)
  const setting = settings.find((row) => row.key === key)
  if (key !== undefined && setting?.variable === undefined) {
    return `${key} is set in the configuration file${setting === undefined ? '' : `, or with --${setting.flag}`}.`
  }
  // Without the prefix, which would make any two of them alike.
  const rest = name.slice(prefix.length)
  const rests = known.map((variable) => variable.slice(prefix.length))
  const meant = setting?.variable?.slice(prefix.length) ?? nearest(rest, rests) ?? rests.find((variable) => variable.endsWith(`_${rest}`))
  return meant === undefined ? 'warmfork --help lists those there are.' : `did you mean ${prefix}${meant}?`
}
