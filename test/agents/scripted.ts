// Recipes for agents that are libraries: a short program in scripts/ uses them as their documentation shows.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ModelScript } from './model.ts'
import type { Recipe } from './recipe.ts'
import { prompts } from './prompts.ts'

export interface Scripted {
  readonly name: string
  readonly agent: string | null
  readonly version: string
  readonly packages: Recipe['packages']
  /** Its file in scripts/. */
  readonly program: string
  readonly env?: Readonly<Record<string, string>>
  readonly script?: ModelScript
  readonly note?: string
}

export function scripted({ name, agent, version, packages, program, env = {}, script, note }: Scripted): Recipe {
  return {
    name, agent, version, packages,
    // A module resolves its imports from where it stands.
    files: ({ install }) => ({ [join(install, program)]: readFileSync(new URL(`scripts/${program}`, import.meta.url), 'utf8') }),
    env: ({ baseUrl, model }) => ({
      BASE_URL: baseUrl, MODEL: model, PROMPTS: JSON.stringify(prompts), OPENAI_API_KEY: 'sk-local', OPENAI_BASE_URL: baseUrl,
      LANGSMITH_TRACING: 'false', LANGCHAIN_TRACING_V2: 'false', ...env,
    }),
    steps: ({ install }) => [{ command: program.endsWith('.py') ? join(install, 'bin', 'python') : 'node', args: [join(install, program)] }],
    ...(script ? { script } : {}),
    ...(note ? { note } : {}),
  }
}
