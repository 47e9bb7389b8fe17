// What a real agent needs to be run headless: its packages, its settings, the commands of one session.

import type { SimulatorOptions } from '../../src/simulator/simulator.ts'
import type { ConfigOverrides } from '../helpers/warmfork.ts'
import type { ModelScript } from './model.ts'

export interface Place {
  /** Where the agent's packages are. */
  readonly install: string
  /** Its own home folder, empty at first. */
  readonly home: string
  /** Its working directory with the files that the model reads. */
  readonly work: string
  /** warmfork, ending in /v1. */
  readonly baseUrl: string
  readonly model: string
}

export interface Step {
  readonly command: string
  readonly args: readonly string[]
  /** Seconds after which it is ended; 180 by default. */
  readonly limitS?: number
}

export interface Recipe {
  /** Name of the run, its folder and its fixture. */
  readonly name: string
  /** What recognition is to call it; null where no data file describes it. */
  readonly agent: string | null
  readonly packages:
    | { readonly npm: Readonly<Record<string, string>> }
    | { readonly pypi: readonly string[], readonly python: string }
  /** Which package's version the table shows. */
  readonly version: string
  /** Files to write before the session, by absolute path. */
  readonly files?: (place: Place) => Readonly<Record<string, string>>
  readonly env?: (place: Place) => Readonly<Record<string, string>>
  readonly steps: (place: Place) => readonly Step[]
  readonly script?: ModelScript
  /** The name of the recipe whose installation it uses; its own by default. */
  readonly folder?: string
  /** warmfork's configuration, where that is not the default. */
  readonly config?: ConfigOverrides
  /** The engine's options, where those are not the default. */
  readonly engine?: SimulatorOptions
  /** What the table says beside the figures. */
  readonly note?: string
}
