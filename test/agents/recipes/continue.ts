import { join } from 'node:path'
import type { Recipe } from '../recipe.ts'
import { prompts } from '../prompts.ts'

export const continueCli: Recipe = {
  name: 'continue', agent: 'continue', packages: { npm: { '@continuedev/cli': '1.5.47' } }, version: 'Continue cn 1.5.47',
  files: ({ home, baseUrl, model }) => ({
    [join(home, 'config.yaml')]: JSON.stringify({
      name: 'local', version: '1.0.0', schema: 'v1',
      models: [{ name: 'local', provider: 'openai', model, apiBase: baseUrl, apiKey: 'sk-local', roles: ['chat'], capabilities: ['tool_use'], defaultCompletionOptions: { contextLength: 15_000, maxTokens: 3000 } }],
    }),
  }),
  env: ({ home }) => ({ CONTINUE_GLOBAL_DIR: join(home, '.continue'), CONTINUE_TELEMETRY_ENABLED: '0', CONTINUE_METRICS_ENABLED: '0', CONTINUE_CLI_AUTO_UPDATED: '1' }),
  steps: ({ home }) => [...prompts.slice(0, -1), '/compact', prompts.at(-1)!].map((prompt, i) => ({ command: 'cn', args: ['--config', join(home, 'config.yaml'), '--auto', ...(i > 0 ? ['--resume'] : []), '-p', prompt] })),
  script: { tools: ['Read'] },
}
