// Says why a configured port or host cannot be listened on.

import type { Config } from '../config.ts'
import { describeOrigin, type Origins } from './origin.ts'
import { settings } from './settings.ts'

/**
 * One sentence: key, value, where it came from, what to do.
 * @param server which of the two servers could not listen
 * @param code the system's error code
 */
export function listenFault(server: 'server' | 'admin', code: string, config: Config, origins: Origins): string {
  const { host, port } = config[server]
  switch (code) {
    case 'EADDRINUSE':
      return `${given('port', port)}, but that port of ${host} is taken: end what listens there, or give another port ${where('port')}.`
    case 'EACCES':
    case 'EPERM':
      return `${given('port', port)}, but this user may not listen on that port: give one from 1024 up ${where('port')}, or run warmfork with the permission.`
    default:
      return `${given('host', JSON.stringify(host))}, but this machine cannot listen there (${code}): give one of its own addresses, or 0.0.0.0 for all, ${where('host')}.`
  }

  function given(name: 'host' | 'port', value: string | number): string {
    return `${server}.${name} is ${value} (${describeOrigin(origins.get(`${server}.${name}`)!)})`
  }

  function where(name: 'host' | 'port'): string {
    const flag = settings.find(({ key }) => key === `${server}.${name}`)?.flag
    return flag === undefined ? `in the configuration file` : `with --${flag}`
  }
}
