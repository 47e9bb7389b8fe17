#!/usr/bin/env node
// The process: what it was asked to do, its exit codes and signals. Composition: app.ts.
// Exit codes: 0 done or drained, 1 failed or told twice to stop, 2 refused to start.

import { destination, pino } from 'pino'
import { loadConfig, type Loaded } from './config/load.ts'
import { listenFault } from './config/listen-fault.ts'
import type { Origins } from './config/origin.ts'
import { printConfig, printHelp } from './config/print.ts'
import { packageVersion } from './package-root.ts'
import { faultFields } from './relay/fault.ts'

/** On Ctrl-C the terminal signals warmfork and npm, and npm signals warmfork again: within so many ms it is one signal. */
const sameSignalMs = 250

/** How long the parts may take to close after replies were cut, in ms. */
const lateMs = 1000

const loaded = loadConfig(process.argv.slice(2), process.env)
switch (loaded.command) {
  case 'help':
    process.stdout.write(printHelp())
    break
  case 'version':
    process.stdout.write(`${packageVersion()}\n`)
    break
  case 'print-config':
    await print(loaded)
    break
  case 'refuse':
    refuse(loaded.faults)
    break
  case 'agents':
  case 'classify':
    await answer(loaded)
    break
  case 'run':
    await run(loaded)
}

function say(sentences: readonly string[]): void {
  process.stderr.write(sentences.map((sentence) => `warmfork: ${sentence}\n`).join(''))
}

function refuse(faults: readonly string[]): void {
  say(faults)
  process.exitCode = 2
}

/** What a start would have in force, where it would start. */
async function print({ config, origins, unknown }: Extract<Loaded, { origins: Origins }>): Promise<void> {
  const { namedFileFaults } = await import('./config/named-files.ts')
  const faults = namedFileFaults(config)
  say(unknown.map(({ sentence }) => sentence))
  if (faults.length > 0) return refuse(faults)
  process.stdout.write(printConfig(config, origins))
}

/** A question about agents, answered without a server. */
async function answer(asked: Extract<Loaded, { command: 'agents' | 'classify' }>): Promise<void> {
  const { AgentFilesError, knownAgents } = await import('./summary/agents.ts')
  try {
    const { directory, generic } = asked.config.agents
    const agents = knownAgents(directory)
    if (asked.command === 'agents') {
      const { printAgents } = await import('./cli/agents.ts')
      return void process.stdout.write(printAgents(agents, generic))
    }
    const { classify } = await import('./cli/classify.ts')
    const found = classify(asked.file, agents, generic)
    if ('fault' in found) refuse([found.fault])
    else process.stdout.write(found.text)
  } catch (error) {
    if (!(error instanceof AgentFilesError)) throw error
    refuse(error.faults)
  }
}

async function run({ config, origins, unknown }: Extract<Loaded, { origins: Origins }>): Promise<void> {
  // What pino makes by itself writes on for ever at the exit once nobody reads the other end of a pipe.
  const log = pino({ level: config.log.level }, destination({ fd: 1, sync: true }))
  process.on('uncaughtException', (error) => {
    log.fatal(faultFields(error), 'uncaught exception')
    process.exit(1)
  })
  // Loaded only here: help and faults answer without the servers.
  const { AgentFilesError, ListenError, startApp, TlsCaError } = await import('./app.ts')
  const starting = startApp(config, log)

  let stoppingSince: number | null = null
  const stop = async (signal: NodeJS.Signals) => {
    if (stoppingSince !== null) {
      if (performance.now() - stoppingSince > sameSignalMs) process.exit(1)
      return
    }
    stoppingSince = performance.now()
    const { grace_ms } = config.shutdown
    log.info({ signal, grace_ms }, 'stopping')
    const app = await starting
    setTimeout(() => {
      log.warn('something did not let go after its time')
      process.exit(0)
    }, grace_ms + lateMs)
    await app.close(grace_ms)
    log.info('stopped')
    process.exit(0)
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)

  try {
    await starting
    for (const { name, sentence } of unknown) log.warn({ variable: name }, sentence)
  } catch (error) {
    if (error instanceof TlsCaError) refuse([error.message])
    else if (error instanceof AgentFilesError) refuse(error.faults)
    else if (error instanceof ListenError) refuse([listenFault(error.server, error.code, config, origins)])
    else throw error
    process.exit()
  }
}
