import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Place, Recipe, Step } from '../recipe.ts'
import { prompts } from '../prompts.ts'

const settings = ({ baseUrl, model }: Place, window: number): string => JSON.stringify({
  provider: { local: {
    npm: '@ai-sdk/openai-compatible', name: 'local', options: { baseURL: baseUrl, apiKey: 'sk-local' },
    models: { [model]: { name: model, tool_call: true, limit: { context: window, output: 4000 } } },
  } },
  model: `local/${model}`, small_model: `local/${model}`, autoupdate: false, share: 'disabled', permission: 'allow', formatter: false, lsp: false,
})

const env = ({ home }: Place): Record<string, string> => ({
  OPENCODE_CONFIG: join(home, 'opencode.json'), OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1',
  OPENCODE_DISABLE_LSP_DOWNLOAD: '1', OPENCODE_DISABLE_DEFAULT_PLUGINS: '1', OPENCODE_DISABLE_SHARE: '1',
})

/** The session is compacted by hand, too, before its last prompt. */
const steps = ({ model }: Place): Step[] => prompts.flatMap((prompt, i) => [
  ...(i === prompts.length - 1 ? [{ command: 'node', args: [summarize, model] }] : []),
  { command: 'opencode', args: ['run', ...(i > 0 ? ['--continue'] : []), prompt] },
])

const summarize = fileURLToPath(new URL('../scripts/opencode-summarize.mjs', import.meta.url))

export const opencode: Recipe = {
  name: 'opencode-1.18', agent: 'opencode', packages: { npm: { 'opencode-ai': '1.18.33' } }, version: 'opencode-ai 1.18.33',
  files: (place) => ({ [join(place.home, 'opencode.json')]: settings(place, 34_000) }), env, steps, script: { calls: 10 },
}

export const opencode12: Recipe = {
  name: 'opencode-1.2', agent: 'opencode', packages: { npm: { 'opencode-ai': '1.2.27' } }, version: 'opencode-ai 1.2.27',
  files: (place) => ({ [join(place.home, 'opencode.json')]: settings(place, 22_000) }), env, steps,
}
