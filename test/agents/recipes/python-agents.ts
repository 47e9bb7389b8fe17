import { join } from 'node:path'
import type { Recipe } from '../recipe.ts'
import { prompts } from '../prompts.ts'
import { scripted } from '../scripted.ts'

export const kimi: Recipe = {
  name: 'kimi-cli', agent: 'kimi-cli', packages: { pypi: ['kimi-cli==1.49.0'], python: '3.13' }, version: 'kimi-cli 1.49.0',
  files: ({ home, baseUrl, model }) => ({
    [join(home, 'kimi.json')]: JSON.stringify({
      default_model: 'local', telemetry: false, providers: { local: { type: 'openai_legacy', base_url: baseUrl, api_key: 'sk-local' } },
      models: { local: { provider: 'local', model, max_context_size: 24_000 } }, loop_control: { reserved_context_size: 4000 },
    }),
  }),
  steps: ({ home }) => [...prompts.slice(0, -1), '/compact', prompts.at(-1)!].map((prompt, i) => ({ command: 'kimi', args: ['--config-file', join(home, 'kimi.json'), '--print', ...(i > 0 ? ['--continue'] : []), '-p', prompt] })),
  script: { tools: ['ReadFile', 'Shell', 'Bash'], calls: 7 },
}

export const vibe: Recipe = {
  name: 'mistral-vibe', agent: 'mistral-vibe', packages: { pypi: ['mistral-vibe==3.0.2'], python: '3.12' }, version: 'mistral-vibe 3.0.2',
  files: ({ home, baseUrl, model }) => ({
    [join(home, '.vibe', 'config.toml')]: [
      'active_model = "local"', 'enable_telemetry = false', 'enable_update_checks = false', 'enable_auto_update = false', 'auto_compact_threshold = 20000',
      '[[providers]]', 'name = "local"', `api_base = "${baseUrl}"`, 'api_key_env_var = "LOCAL_KEY"', 'backend = "generic"',
      '[[models]]', `name = "${model}"`, 'provider = "local"', 'alias = "local"', 'max_context_length = 32000', 'auto_compact_threshold = 20000',
    ].join('\n'),
  }),
  env: ({ home }) => ({ VIBE_HOME: join(home, '.vibe'), LOCAL_KEY: 'sk-local', MISTRAL_API_KEY: 'sk-local' }),
  steps: () => prompts.map((prompt, i) => ({ command: 'vibe', args: ['--trust', '--auto-approve', ...(i > 0 ? ['--continue'] : []), '-p', prompt] })),
  script: { tools: ['read_file', 'read', 'bash'], calls: 12 },
}

/** What it does after a reply that was no summary. */
export const vibeFallback: Recipe = {
  ...vibe, name: 'mistral-vibe-fallback', folder: 'mistral-vibe', version: 'mistral-vibe 3.0.2, its warm requests answered with nothing',
  script: { ...vibe.script, warmSummary: '' },
}

export const gptme: Recipe = {
  name: 'gptme', agent: 'gptme', packages: { pypi: ['gptme==0.35.1'], python: '3.12' }, version: 'gptme 0.35.1',
  env: ({ baseUrl }) => ({ OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: 'sk-local', GPTME_CONTEXT_BUDGET: '12000', GPTME_TELEMETRY_ENABLED: 'false' }),
  steps: ({ model }) => [...prompts, '/compact summarize'].map((prompt, i) => ({
    command: 'gptme', limitS: 100, args: ['--non-interactive', '--name', 'depots', '--tool-format', 'tool', '--no-workspace', '--tools', 'shell,read,complete,autocompact', '-m', `local/${model}`, ...(i > 0 ? ['--resume'] : []), prompt],
  })),
  script: { tools: ['read', 'shell'], calls: 6, finishes: 'complete' },
}

export const openhands: Recipe = scripted({
  name: 'openhands', agent: 'openhands', version: 'openhands-sdk 1.58.2', packages: { pypi: ['openhands-sdk==1.58.2', 'openhands-tools==1.58.2'], python: '3.12' },
  program: 'with-openhands.py', script: { tools: ['terminal'], calls: 9 }, env: { LITELLM_LOCAL_MODEL_COST_MAP: 'True' },
})

export const aider: Recipe = scripted({
  name: 'aider', agent: 'aider', version: 'aider-chat 0.86.2', packages: { pypi: ['aider-chat==0.86.2'], python: '3.12' },
  program: 'with-aider.py', env: { LITELLM_LOCAL_MODEL_COST_MAP: 'True', AIDER_ANALYTICS: 'false' },
  script: { answer: (count) => `I add what the user wants.\n\nlist-${count}.md\n\`\`\`\n${Array.from({ length: 30 }, (_, i) => `Line ${i + 1} of list ${count}: ${(count * 7919 + i * 104_729) % 99_991} crates.`).join('\n')}\n\`\`\`\n` },
})
