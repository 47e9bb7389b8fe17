// Agents of other endpoints than chat completions: their requests are relayed byte for byte.

import { join } from 'node:path'
import type { Recipe } from '../recipe.ts'
import { prompts } from '../prompts.ts'

export const codex: Recipe = {
  name: 'codex', agent: null, packages: { npm: { '@openai/codex': '0.171.0' } }, version: 'codex 0.171.0', stub: 'responses',
  files: ({ home, baseUrl, model }) => ({
    [join(home, '.codex', 'config.toml')]: [
      `model = "${model}"`, 'model_provider = "local"', 'model_context_window = 30000', 'check_for_update_on_startup = false', 'approval_policy = "never"',
      '[analytics]', 'enabled = false',
      '[model_providers.local]', 'name = "local"', `base_url = "${baseUrl}"`, 'env_key = "LOCAL_KEY"', 'wire_api = "responses"', 'supports_websockets = false',
    ].join('\n'),
  }),
  env: ({ home }) => ({ CODEX_HOME: join(home, '.codex'), LOCAL_KEY: 'sk-local' }),
  steps: () => [
    { command: 'codex', args: ['exec', '--skip-git-repo-check', prompts[0]] },
    { command: 'codex', args: ['exec', 'resume', '--last', '--skip-git-repo-check', prompts[1]] },
  ],
  note: '/v1/responses: relayed',
}

export const claudeCode: Recipe = {
  name: 'claude-code', agent: null, packages: { npm: { '@anthropic-ai/claude-code': '2.1.332' } }, version: 'claude-code 2.1.332', stub: 'messages',
  env: ({ home, baseUrl, model }) => ({
    ANTHROPIC_BASE_URL: baseUrl.replace(/\/v1$/, ''), ANTHROPIC_API_KEY: 'sk-local', ANTHROPIC_MODEL: model, ANTHROPIC_SMALL_FAST_MODEL: model, CLAUDE_CONFIG_DIR: join(home, '.claude'),
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1', DISABLE_ERROR_REPORTING: '1',
  }),
  steps: () => [
    { command: 'claude', args: ['-p', prompts[0]] },
    { command: 'claude', args: ['-c', '-p', prompts[1]] },
    { command: 'claude', args: ['-c', '-p', '/compact'] },
  ],
  note: '/v1/messages: relayed',
}
