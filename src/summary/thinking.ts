// Thinking that stands in a reply's text, where no reasoning parser ran. Marks are data, with their source.

export interface ThinkingFamily {
  /** What opens thinking in a reply. */
  readonly open: string
  /** What ends it; the visible text follows. */
  readonly close: string
  /** What opens the visible text where there is no thinking, if anything does. */
  readonly lead?: string
}

/** By the marks of chat templates and of vLLM's parsers (vllm/reasoning/). */
export const thinkingFamilies: readonly ThinkingFamily[] = [
  { open: '<think>', close: '</think>' }, // Qwen3, DeepSeek R1, GLM 4.5, MiniMax M2, Nemotron 3: their chat templates
  { open: '[THINK]', close: '[/THINK]' }, // Magistral, Ministral 3: mistral_reasoning_parser.py
  { open: '<mm:think>', close: '</mm:think>' }, // MiniMax M3: minimax_m3_reasoning_parser.py
  { open: '<seed:think>', close: '</seed:think>' }, // Seed-OSS: seedoss_reasoning_parser.py
  { open: '<|channel>thought\n', close: '<channel|>' }, // Gemma 4: gemma4_reasoning_parser.py
  // gpt-oss: openai-harmony's channels; the answer is a message of its own.
  { open: '<|channel|>analysis<|message|>', close: '<|end|><|start|>assistant<|channel|>final<|message|>', lead: '<|channel|>final<|message|>' },
]

/**
 * Takes leading thinking blocks out of a reply's text. A closing mark alone ends thinking that the generation prompt opened.
 * @param wasParsed a parser took thinking out already: the text can only quote a closing mark then
 * @returns the text outside thinking, and whether a block is still open at the end
 */
export function splitThinking(text: string, wasParsed = false): { visible: string, open: boolean } {
  const first = withoutBlocks(text)
  if (wasParsed || first.open || first.visible !== text) return first
  // Thinking that ended may go on in a block of its own.
  return withoutBlocks(behindClosingMark(text))
}

function withoutBlocks(text: string): { visible: string, open: boolean } {
  let from = 0
  for (;;) {
    const at = from + (/^\s*/.exec(text.slice(from, from + 4096))?.[0].length ?? 0)
    const opened = thinkingFamilies.find(({ open }) => text.startsWith(open, at))
    if (!opened) return { visible: from === 0 ? text : text.slice(from), open: false }
    const end = text.indexOf(opened.close, at + opened.open.length)
    if (end < 0) return { visible: '', open: true }
    from = end + opened.close.length
  }
}

function behindClosingMark(text: string): string {
  // The text may quote the marks later on: only a closing mark without its opening one ends thinking.
  for (const { open, close } of thinkingFamilies) {
    const end = text.indexOf(close)
    if (end < 0) continue
    const start = text.indexOf(open)
    if (start < 0 || start > end) return text.slice(end + close.length)
  }
  return text
}

/** Characters at the end of a prompt that hold what opens the reply. */
const openingLength = 80

/**
 * The families whose marks a model may think with, by what its template writes.
 * @param rendered a rendered prompt whose last assistant message thought
 * @param thinking that thought
 * @returns the one family that the template knows; every known one where the template knows of no thinking at all; none
 *   where it writes marks that are not known here
 */
export function familiesIn(rendered: string, thinking: string): readonly ThinkingFamily[] {
  const at = rendered.lastIndexOf(thinking)
  if (at >= 0) {
    const before = rendered.slice(0, at).trimEnd()
    return thinkingFamilies.filter(({ open }) => before.endsWith(open.trimEnd()))
  }
  // Some templates drop all earlier thinking and show their marks only where the reply begins.
  const opening = rendered.slice(-openingLength)
  const shown = thinkingFamilies.filter(({ open, close }) => opening.includes(open.trimEnd()) || opening.includes(close))
  if (shown.length > 0) return shown.slice(0, 1)
  return /think|thought|reason/i.test(opening) ? [] : thinkingFamilies
}
