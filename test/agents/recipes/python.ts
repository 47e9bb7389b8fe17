import type { Recipe } from '../recipe.ts'
import { scripted } from '../scripted.ts'

const langchain = { pypi: ['langchain==1.5.2', 'langchain-openai==1.7.4'], python: '3.12' }

export const strands: Recipe = scripted({
  name: 'strands', agent: 'strands', version: 'strands-agents 1.62.0', packages: { pypi: ['strands-agents[openai]==1.62.0'], python: '3.12' }, program: 'with-strands.py',
})
export const langchainPython: Recipe = scripted({
  name: 'langchain-python', agent: 'langchain', version: 'langchain 1.5.2 (Python), trim_tokens_to_summarize 100 000', packages: langchain, program: 'with-langchain.py', env: { TRIM: '100000' },
})
export const langchainPythonDefault: Recipe = scripted({
  name: 'langchain-python-default', agent: 'langchain', version: 'langchain 1.5.2 (Python)', packages: langchain, program: 'with-langchain.py', script: { calls: 14 },
  note: 'by default it asks for the last 4 000 tokens of the head',
})
export const agentFramework: Recipe = scripted({
  name: 'agent-framework', agent: 'agent-framework', version: 'agent-framework 1.23.0, -openai 1.17.0',
  packages: { pypi: ['agent-framework-core==1.23.0', 'agent-framework-openai==1.17.0'], python: '3.12' }, program: 'with-agent-framework.py',
})
