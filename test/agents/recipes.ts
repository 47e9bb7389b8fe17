// Every agent that is run, in the order of the table.

import type { Recipe } from './recipe.ts'
import { claudeCode } from './recipes/claude-code.ts'
import { cline } from './recipes/cline.ts'
import { codex, codexThinking } from './recipes/codex.ts'
import { continueCli } from './recipes/continue.ts'
import { deepagents, langchainJs, langchainJsDefault } from './recipes/langchain.ts'
import { opencode, opencode12 } from './recipes/opencode.ts'
import { pi } from './recipes/pi.ts'
import { agentFramework, langchainPython, langchainPythonDefault, strands } from './recipes/python.ts'
import { aider, gptme, kimi, openhands, vibe, vibeFallback } from './recipes/python-agents.ts'
import { qwenCold, qwenWarm } from './recipes/qwen-code.ts'
import { undescribed } from './recipes/undescribed.ts'

export const recipes: readonly Recipe[] = [
  opencode, opencode12, qwenCold, qwenWarm, pi, cline, continueCli, langchainJs, langchainJsDefault, deepagents,
  strands, langchainPython, langchainPythonDefault, agentFramework,
  aider, openhands, vibe, vibeFallback, kimi, codex, codexThinking, claudeCode, ...undescribed, gptme,
]
