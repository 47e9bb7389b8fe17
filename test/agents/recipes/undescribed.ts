// Agents that no data file describes, each with and without generic recognition.

import type { Recipe } from '../recipe.ts'
import type { ModelScript } from '../model.ts'
import { scripted } from '../scripted.ts'

const described: readonly { name: string, version: string, pypi: string[], program: string, env?: Record<string, string>, script?: ModelScript }[] = [
  { name: 'semantic-kernel', version: 'semantic-kernel 1.45.0', pypi: ['semantic-kernel==1.45.0'], program: 'with-semantic-kernel.py' },
  { name: 'semantic-kernel-functions', version: 'semantic-kernel 1.45.0, function content kept', pypi: ['semantic-kernel==1.45.0'], program: 'with-semantic-kernel.py', env: { FUNCTIONS: 'kept' } },
  { name: 'google-adk', version: 'google-adk 2.13.0', pypi: ['google-adk==2.13.0', 'litellm==1.110.2'], program: 'with-google-adk.py', env: { LITELLM_LOCAL_MODEL_COST_MAP: 'True' } },
  {
    name: 'google-adk-long', version: 'google-adk 2.13.0, a model that says more', pypi: ['google-adk==2.13.0', 'litellm==1.110.2'], program: 'with-google-adk.py', env: { LITELLM_LOCAL_MODEL_COST_MAP: 'True' },
    script: { says: (count: number) => `Note ${count} of the list comes next; its figures for every depot are still missing.` },
  },
  { name: 'llama-index', version: 'llama-index-core 0.14.25', pypi: ['llama-index-core==0.14.25', 'llama-index-llms-openai-like==0.8.1'], program: 'with-llama-index.py' },
]

export const undescribed: readonly Recipe[] = described.flatMap(({ name, version, pypi, program, env, script }) => [true, false].map((generic): Recipe => ({
  ...scripted({ name, agent: null, version, packages: { pypi, python: '3.12' }, program, ...(env ? { env } : {}), ...(script ? { script } : {}) }),
  ...(generic ? {} : { name: `${name}-by-files`, folder: name, version: `${version}, \`agents.generic: false\``, config: { agents: { generic: false } } }),
})))
