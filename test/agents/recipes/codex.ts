import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Recipe } from '../recipe.ts'
import { prompts } from '../prompts.ts'

const compact = fileURLToPath(new URL('../scripts/codex-compact.mjs', import.meta.url))

export const codex: Recipe = {
  name: 'codex', agent: 'codex', packages: { npm: { '@openai/codex': '0.171.0' } }, version: 'codex 0.171.0',
  files: ({ home, baseUrl, model }) => ({
    [join(home, '.codex', 'config.toml')]: [
      `model = "${model}"`, 'model_provider = "local"', 'model_context_window = 40000', 'model_auto_compact_token_limit = 18000', 'check_for_update_on_startup = false', 'approval_policy = "never"',
      // Its own sandbox needs more than a container allows.
      'sandbox_mode = "danger-full-access"',
      '[analytics]', 'enabled = false',
      '[model_providers.local]', 'name = "local"', `base_url = "${baseUrl}"`, 'env_key = "LOCAL_KEY"', 'wire_api = "responses"', 'supports_websockets = false',
    ].join('\n'),
  }),
  env: ({ home }) => ({ CODEX_HOME: join(home, '.codex'), LOCAL_KEY: 'sk-local' }),
  /** The session is compacted by hand, too, before its last prompt. */
  steps: () => prompts.flatMap((prompt, i) => [
    ...(i === prompts.length - 1 ? [{ command: 'node', args: [compact] }] : []),
    { command: 'codex', args: ['exec', ...(i > 0 ? ['resume', '--last'] : []), '--skip-git-repo-check', prompt] },
  ]),
  script: { tools: ['exec_command'], args: (_tool, file) => ({ cmd: `cat ${file}` }) },
}

/** It sends back what the model thought. */
export const codexThinking: Recipe = {
  ...codex, name: 'codex-thinking', folder: 'codex', version: 'codex 0.171.0, a model that thinks',
  engine: { reasoningParser: true }, script: { ...codex.script, reasoning: true },
}
