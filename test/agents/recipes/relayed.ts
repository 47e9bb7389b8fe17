// Agents of other endpoints than chat completions: their requests are relayed byte for byte.

import { join } from 'node:path'
import type { Recipe } from '../recipe.ts'
import { prompts } from '../prompts.ts'

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
