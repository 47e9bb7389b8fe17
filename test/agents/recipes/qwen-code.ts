import { join } from 'node:path'
import type { Place, Recipe } from '../recipe.ts'
import { prompts } from '../prompts.ts'

const compress = '/compress'

/** Its own warm request needs room for the prompt, its instruction and 20 000 tokens; with less it sends the cold one. */
function recipe(name: string, window: number, prompts: readonly string[]): Recipe {
  return {
    name, agent: 'qwen-code', packages: { npm: { '@qwen-code/qwen-code': '0.24.4' } }, version: `qwen-code 0.24.4, window ${window}`,
    files: ({ home, model }) => ({
      [join(home, '.qwen', 'settings.json')]: JSON.stringify({
        security: { auth: { selectedType: 'openai' } }, privacy: { usageStatisticsEnabled: false }, telemetry: { enabled: false },
        general: { enableAutoUpdate: false, disableAutoUpdate: true }, model: { name: model, generationConfig: { contextWindowSize: window } },
      }),
    }),
    env: ({ baseUrl, model }: Place) => ({ OPENAI_API_KEY: 'sk-local', OPENAI_BASE_URL: baseUrl, OPENAI_MODEL: model, QWEN_MODEL: model, QWEN_CODE_DISABLE_TELEMETRY: '1' }),
    steps: () => prompts.map((prompt, i) => ({ command: 'qwen', args: ['--yolo', ...(i > 0 ? ['--continue'] : []), '-p', prompt] })),
    script: {
      tools: ['read_file'], calls: window < 40_000 ? 9 : 40,
      summary: '<analysis>\nThe notes come one after another.\n</analysis>\n<state_snapshot>\n<overall_goal>Find out which depots the notes list.</overall_goal>\n<key_knowledge>Done. Each note lists forty-five depots with crates, part, shelf and round; none contradicts another so far, and no depot occurs in two of them. The notes are read in the order of their numbers.</key_knowledge>\n</state_snapshot>',
    },
  }
}

export const qwenCold = recipe('qwen-code-cold', 26_000, [prompts[0], compress, prompts[1]])
export const qwenWarm = recipe('qwen-code-warm', 80_000, [prompts[0], compress, prompts[1]])
