// The ids that open the assistant's turn behind a message of a role, calibrated: a recorded prompt that ends with them
// need not be rendered a second time without them, which costs the engine as much as the first.

import { commonPrefix } from '../wire/token-ids.ts'
import type { ChatRequest } from '../wire/chat-request.ts'
import { sample } from './calibration.ts'
import type { Rendered } from './engine.ts'
import type { Prompt } from './prompt.ts'

/**
 * @param role of the last message
 * @returns null where the template shows none, or renders what stands before it otherwise with it
 */
export async function measureGenerationPrompt(
  request: ChatRequest, role: string, render: (prompt: Prompt, generationPrompt: boolean) => Promise<Rendered>,
): Promise<Uint32Array | null> {
  const { options, messages } = sample(request)
  const last = messages.findLastIndex((json) => (JSON.parse(json.toString('utf8')) as { role: string }).role === role)
  if (last < 0) return null
  const prompt = { options, messages: messages.slice(0, last + 1) }
  const [opened, bare] = await Promise.all([render(prompt, true), render(prompt, false)])
  if (!('ids' in opened) || !('ids' in bare)) return null
  const end = bare.ids.length
  return end < opened.ids.length && commonPrefix(opened.ids, bare.ids) === end ? opened.ids.slice(end) : null
}
