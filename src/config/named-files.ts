// Whether the files that a configuration names can be used, for who asks without a start.

import type { Config } from '../config.ts'
import { AgentFilesError, knownAgents } from '../summary/agents.ts'
import { readTlsCa, TlsCaError } from './tls-ca.ts'

/** One sentence each, as a start would say them. */
export function namedFileFaults({ upstream, agents }: Config): string[] {
  const faults: string[] = []
  try {
    if (upstream.tls_ca !== null) readTlsCa(upstream.tls_ca)
  } catch (error) {
    if (!(error instanceof TlsCaError)) throw error
    faults.push(error.message)
  }
  try {
    knownAgents(agents.directory)
  } catch (error) {
    if (!(error instanceof AgentFilesError)) throw error
    faults.push(...error.faults)
  }
  return faults
}
