// Thinking that stands in the visible text, where the server runs no reasoning parser. Marks are data, with their source.

/** Opening and closing mark of a family's thinking, as its chat template writes them. */
const marks: readonly { readonly open: string, readonly close: string }[] = [
  { open: '<think>', close: '</think>' }, // Qwen3, DeepSeek R1, GLM 4.5, MiniMax M2, Nemotron 3: their chat templates
  { open: '[THINK]', close: '[/THINK]' }, // Magistral, Ministral 3: mistral-common's tokenizers
]

/**
 * Takes thinking blocks out of a reply's text. A closing mark alone ends thinking that the generation prompt opened.
 * @returns the text outside thinking, and whether a block is still open at the end
 */
export function splitThinking(text: string): { visible: string, open: boolean } {
  const mark = marks.find(({ open, close }) => text.trimStart().startsWith(open) || text.includes(close))
  if (!mark) return { visible: text, open: false }
  const lead = text.trimStart()
  const end = text.indexOf(mark.close)
  if (lead.startsWith(mark.open)) {
    return end < 0 ? { visible: '', open: true } : { visible: text.slice(end + mark.close.length), open: false }
  }
  // The text may quote the marks later on: only a closing mark without its opening one ends thinking.
  const start = text.indexOf(mark.open)
  return start >= 0 && start < end ? { visible: text, open: false } : { visible: text.slice(end + mark.close.length), open: false }
}
