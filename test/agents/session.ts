// One session of a real agent through warmfork, with the default configuration, before the simulator.

import { spawn } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pino } from 'pino'
import { startApp } from '../../src/app.ts'
import { startSimulator, type RecordedRequest } from '../../src/simulator/simulator.ts'
import { configured, isCalibration, type LogLine } from '../helpers/warmfork.ts'
import { install } from './install.ts'
import { scriptedModel } from './model.ts'
import type { Place, Recipe, Step } from './recipe.ts'
import { startRecordingRelay, type Exchange } from './recording-relay.ts'
import { makeScratch } from './workspace.ts'

export interface Session {
  readonly exchanges: readonly Exchange[]
  /** What the engine generated for, calibrations apart. */
  readonly received: readonly RecordedRequest[]
  readonly logged: readonly LogLine[]
  readonly steps: readonly { readonly step: Step, readonly code: number | null, readonly output: string }[]
  readonly place: Place
}

export async function runSession(recipe: Recipe): Promise<Session> {
  const folder = await install(recipe)
  const { home, work } = makeScratch(recipe.name)
  const model = 'local-model'
  const simulator = await startSimulator({ model, maxModelLen: 131_072, record: true, ...recipe.engine, reply: scriptedModel(recipe.script ?? {}, work) })
  const logged: LogLine[] = []
  const app = await startApp(configured(simulator.url, recipe.config), pino({ level: 'trace' }, { write: (line: string) => void logged.push(JSON.parse(line)) }))
  const relay = await startRecordingRelay(app.url)
  try {
    const place: Place = { install: folder, home, work, model, baseUrl: `${relay.url}/v1` }
    for (const [file, text] of Object.entries(recipe.files?.(place) ?? {})) {
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, text)
    }
    const steps = []
    for (const step of recipe.steps(place)) steps.push({ step, ...await runStep(step, place, recipe.env?.(place) ?? {}) })
    return { exchanges: relay.exchanges, received: simulator.requests.filter(isGeneration), logged, steps, place }
  } finally {
    await relay.close()
    await app.close(0)
    await simulator.close()
    rmSync(dirname(home), { recursive: true, force: true })
  }
}

function isGeneration({ method, target, body }: RecordedRequest): boolean {
  return method === 'POST' && /^\/v1\/(chat\/completions|completions|responses|messages)/.test(target) && !isCalibration(body)
}

const nowhere = 'http://127.0.0.1:9'

/** Nothing of this machine's environment but the path: no credential, no proxy, no telemetry. */
function environment({ home, install }: Place, own: Readonly<Record<string, string>>): Record<string, string> {
  const paths = [dirname(process.execPath), join(install, 'node_modules', '.bin'), join(install, 'bin'), '/usr/local/bin', '/usr/bin', '/bin']
  return {
    PATH: paths.join(':'), HOME: home, TERM: 'dumb', LANG: 'C.UTF-8', CI: '1', NO_COLOR: '1',
    XDG_CONFIG_HOME: join(home, '.config'), XDG_DATA_HOME: join(home, '.local', 'share'), XDG_CACHE_HOME: join(home, '.cache'), XDG_STATE_HOME: join(home, '.local', 'state'),
    // Whatever would go further than this machine is refused at once.
    HTTP_PROXY: nowhere, HTTPS_PROXY: nowhere, http_proxy: nowhere, https_proxy: nowhere, NO_PROXY: '127.0.0.1,localhost', no_proxy: '127.0.0.1,localhost',
    DO_NOT_TRACK: '1', DISABLE_TELEMETRY: '1', OTEL_SDK_DISABLED: 'true', PYTHONUNBUFFERED: '1', HF_HUB_OFFLINE: '1',
    ...own,
  }
}

function runStep({ command, args, limitS = 180 }: Step, place: Place, own: Readonly<Record<string, string>>): Promise<{ code: number | null, output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: place.work, env: environment(place, own), stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text))
    // Agents start processes of their own: the whole group ends.
    const limit = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), limitS * 1000)
    child.once('error', reject)
    child.once('close', (code) => {
      clearTimeout(limit)
      resolve({ code, output })
    })
  })
}
