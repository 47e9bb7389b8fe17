// Turns what is wrong with a configuration into sentences: key, value, where it came from, what to do.

import type { z } from 'zod'
import type { Config } from '../config.ts'
import { credentialHeaders } from '../conversation/tenant.ts'
import { isMapping, keys, type Mapping, sections, valueAt } from './keys.ts'
import { nearest } from './nearest.ts'
import { changeAtOrigin, describeOrigin, type Origin } from './origin.ts'
import { showName, showValue } from './show.ts'
import { upstreamOrigin } from './upstream-url.ts'

export interface Fault {
  /** Dotted name of the key or the section that it is about. */
  readonly key: string
  readonly sentence: string
}

type OriginOf = (key: string) => Origin

/** The schema's issues, one fault for each key. */
export function schemaFaults(issues: readonly z.core.$ZodIssue[], values: Mapping, originOf: OriginOf): Fault[] {
  const faults = new Map<string, Fault>()
  for (const issue of issues) {
    const path = issue.path.map(String)
    if (issue.code === 'unrecognized_keys') {
      for (const name of issue.keys) {
        const key = [...path, name].join('.')
        faults.set(key, { key, sentence: unknownKey(path, name, valueAt(values, key), originOf(key)) })
      }
    } else {
      // The path of an entry of a list ends with its index.
      const key = path.slice(0, sections.has(path[0]!) ? 2 : 1).join('.')
      if (!faults.has(key)) faults.set(key, { key, sentence: wrongValue(key, valueAt(values, key), issue.message, originOf(key)) })
    }
  }
  return [...faults.values()]
}

function wrongValue(key: string, value: unknown, expected: string, origin: Origin): string {
  const members = sections.get(key)
  const must = members === undefined ? expected : `a section with keys indented below it (${members.join(', ')})`
  return `${key} is ${showValue(key, value)} (${describeOrigin(origin)}), but must be ${must}: ${changeAtOrigin(origin)}.`
}

function unknownKey(path: readonly string[], name: string, value: unknown, origin: Origin): string {
  const full = [...path, name].join('.')
  const start = `${showName(full)} (${describeOrigin(origin)}) is not a key of warmfork`
  if (path.length === 0 && keys.includes(name)) {
    const [section, key] = name.split('.')
    return `${start} in this form: write ${key} indented below ${section}.`
  }
  const section = nearest(name, [...sections.keys()])
  // What holds keys, or holds none yet, was meant for a section.
  const holdsKeys = path.length === 0 && (isMapping(value) || value === null)
  const meant = (holdsKeys ? section : null) ?? nearest(full, keys) ?? section ?? keys.find((key) => key.endsWith(`.${name}`))
  return meant === undefined ? `${start}: remove it; config/default.yaml lists all there are.` : `${start}: did you mean ${meant}?`
}

/** Keys that are right alone and wrong together. */
export function togetherFaults(config: Config, originOf: OriginOf): Fault[] {
  const faults: Fault[] = []
  const from = (key: string) => describeOrigin(originOf(key))
  const { upstream, server, admin, simulator } = config
  if (upstream.url !== null && simulator) {
    faults.push({
      key: 'simulator',
      sentence:
        `upstream.url is ${showValue('upstream.url', upstream.url)} (${from('upstream.url')}) while simulator is true ` +
        `(${from('simulator')}), but only one can be behind warmfork: leave one of the two out.`,
    })
  }
  if (server.port === admin.port && server.port !== 0) {
    faults.push({
      key: 'admin.port',
      sentence:
        `server.port (${from('server.port')}) and admin.port (${from('admin.port')}) are both ${server.port}, ` +
        `but must differ: give another with --port or --admin-port.`,
    })
  }
  if (upstream.url !== null && isOwnAddress(upstream.url, server)) {
    faults.push({
      key: 'upstream.url',
      sentence:
        `upstream.url is ${showValue('upstream.url', upstream.url)} (${from('upstream.url')}), but warmfork itself would listen there ` +
        `(server.port, ${from('server.port')}): give the engine's address, or another port with --port.`,
    })
  }
  return [...faults, ...credentialFaults(config, originOf)]
}

/** An id of a conversation is kept and compared: no credential may be taken for one. */
function credentialFaults({ conversation, tenant }: Config, originOf: OriginOf): Fault[] {
  const key = 'conversation.headers'
  const known = new Set<string>([...credentialHeaders, 'proxy-authorization', 'cookie'])
  return conversation.headers.filter((name) => known.has(name) || tenant.headers.includes(name)).map((name) => {
    const further = known.has(name) ? '' : ` (tenant.headers, ${describeOrigin(originOf('tenant.headers'))})`
    return {
      key,
      sentence:
        `${key} is ${showValue(key, conversation.headers)} (${describeOrigin(originOf(key))}), but ${name} carries a credential${further}: ` +
        `take it out ${further === '' ? 'there' : 'of one of the two'}.`,
    }
  })
}

/** warmfork needs an engine, and answers from the built-in one only when told to. */
export function noUpstreamFault(config: Config, originOf: OriginOf): Fault[] {
  if (config.upstream.url !== null || config.simulator) return []
  return [
    {
      key: 'upstream.url',
      sentence:
        `upstream.url is null (${describeOrigin(originOf('upstream.url'))}), but warmfork needs an engine behind it: give its address ` +
        `with --upstream http://127.0.0.1:8000, WARMFORK_UPSTREAM or upstream.url in the configuration file, ` +
        `or try warmfork without one with --simulator.`,
    },
  ]
}

function isOwnAddress(url: string, server: Config['server']): boolean {
  const { hostname, port, protocol } = new URL(upstreamOrigin(url))
  if (Number(port || (protocol === 'https:' ? 443 : 80)) !== server.port) return false
  const name = (host: string) => (host === 'localhost' ? '127.0.0.1' : host.replace(/^\[(.*)\]$/, '$1'))
  const listensOnAll = server.host === '0.0.0.0' || server.host === '::'
  return name(hostname) === name(server.host) || (listensOnAll && ['127.0.0.1', '::1', '0.0.0.0'].includes(name(hostname)))
}
