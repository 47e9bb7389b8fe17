import type { Recipe } from '../recipe.ts'
import { scripted } from '../scripted.ts'

const npm = { langchain: '1.5.14', '@langchain/openai': '1.5.8', '@langchain/core': '1.4.0', '@langchain/langgraph': '1.7.3', zod: '4.6.7' }

export const langchainJs: Recipe = scripted({
  name: 'langchain-js', agent: 'langchain', version: 'langchain 1.5.14 (JS), trimTokensToSummarize 100 000', packages: { npm }, program: 'langchain.mjs', env: { TRIM: '100000' },
})
export const langchainJsDefault: Recipe = scripted({
  name: 'langchain-js-default', agent: 'langchain', version: 'langchain 1.5.14 (JS)', packages: { npm }, program: 'langchain.mjs',
  note: 'by default it asks for the last 4 000 tokens of the head',
})
export const deepagents: Recipe = scripted({
  name: 'deepagents-js', agent: 'deepagents', version: 'deepagents 1.14.1 (JS)', packages: { npm: { ...npm, deepagents: '1.14.1' } }, program: 'deepagents.mjs',
  script: { tools: ['read_note'], calls: 18 },
})
