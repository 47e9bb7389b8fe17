import { join } from 'node:path'
import type { Recipe } from '../recipe.ts'
import { prompts } from '../prompts.ts'

export const claudeCode: Recipe = {
  name: 'claude-code', agent: 'claude-code', packages: { npm: { '@anthropic-ai/claude-code': '2.1.332' } }, version: 'claude-code 2.1.332',
  env: ({ home, baseUrl, model }) => ({
    ANTHROPIC_BASE_URL: baseUrl.replace(/\/v1$/, ''), ANTHROPIC_API_KEY: 'sk-local', ANTHROPIC_MODEL: model, ANTHROPIC_SMALL_FAST_MODEL: model, CLAUDE_CONFIG_DIR: join(home, '.claude'),
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1', DISABLE_ERROR_REPORTING: '1',
    CLAUDE_CODE_AUTO_COMPACT_WINDOW: '100000', CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: '35',
  }),
  /** The session is compacted by hand, too, before its last prompt. */
  steps: () => prompts.flatMap((prompt, i) => [
    ...(i === prompts.length - 1 ? [{ command: 'claude', args: ['-c', '-p', '/compact'] }] : []),
    { command: 'claude', args: [...(i > 0 ? ['-c'] : []), '-p', prompt] },
  ]),
  script: {
    tools: ['Read'],
    args: (_tool, file) => ({ file_path: file }),
    // It looks for the tags.
    warmSummary: '<summary>\n# Goal\nFind out what the notes say about each depot, and which shelf is named most often.\n# Done\nSeveral notes were read one after another, each whole.\n# Next\nRead the notes that are left, then name the shelf.\n</summary>',
  },
}
