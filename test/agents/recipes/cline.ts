import { join } from 'node:path'
import type { Recipe } from '../recipe.ts'
import { prompts } from '../prompts.ts'

/** One long session: a resumed one takes no prompt without its screen. */
export const cline: Recipe = {
  name: 'cline', agent: 'cline', packages: { npm: { cline: '3.0.65' } }, version: 'cline 3.0.65',
  files: ({ home, baseUrl, model }) => ({
    [join(home, '.cline', 'data', 'settings', 'providers.json')]: JSON.stringify({
      version: 1, lastUsedProvider: 'openai-compatible', modes: {},
      providers: { 'openai-compatible': {
        settings: { provider: 'openai-compatible', apiKey: 'sk-local', model, baseUrl, contextWindow: 40_000 }, updatedAt: '2026-01-01T00:00:00.000Z', tokenSource: 'manual',
      } },
    }),
  }),
  steps: ({ model }) => [{ command: 'cline', args: ['-P', 'openai-compatible', '-m', model, '--json', prompts[0]] }],
  script: { tools: ['read_files', 'run_commands'], calls: 60 },
}
