import { join } from 'node:path'
import type { Recipe } from '../recipe.ts'
import { prompts } from '../prompts.ts'

export const pi: Recipe = {
  name: 'pi', agent: 'pi', packages: { npm: { '@earendil-works/pi-coding-agent': '1.6.0' } }, version: 'pi 1.6.0',
  files: ({ home, baseUrl, model }) => ({
    [join(home, '.pi', 'agent', 'models.json')]: JSON.stringify({ providers: { local: {
      baseUrl, api: 'openai-completions', apiKey: 'sk-local',
      models: [{ id: model, name: model, reasoning: true, input: ['text'], contextWindow: 16_000, maxTokens: 4000, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } }],
    } } }),
    [join(home, '.pi', 'agent', 'settings.json')]: JSON.stringify({
      defaultProvider: 'local', defaultModel: model, compaction: { enabled: true, reserveTokens: 4000, keepRecentTokens: 3000 },
      enableInstallTelemetry: false, quietStartup: true,
    }),
  }),
  env: () => ({ PI_OFFLINE: '1', PI_SKIP_VERSION_CHECK: '1', PI_TELEMETRY: '0' }),
  /** The session is compacted by hand, too, before its last prompt: by the program's own protocol, which ends with its input. */
  steps: ({ model }) => prompts.flatMap((prompt, i) => [
    ...(i === prompts.length - 1 ? [{ command: 'sh', args: ['-c', `(echo '{"type":"compact"}'; sleep 15) | pi --mode rpc --continue --model local/${model}`] }] : []),
    { command: 'pi', args: ['--model', `local/${model}`, ...(i > 0 ? ['--continue'] : []), '-p', prompt] },
  ]),
  script: { tools: ['read'] },
}
