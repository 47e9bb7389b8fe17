// Tool calls written as text: with tool_choice "none" vLLM runs no parser and call syntax comes out as content.
// Summaries of coding sessions quote such markup, so only a well-formed call to one of the request's tools, at the
// beginning or the end of the text and outside code fences, counts.

/** How a family writes one call; NAME stands for one of the request's tools. Sources: vLLM's tool_parsers. */
const calls: readonly string[] = [
  // hermes, qwen: JSON in tags
  String.raw`<tool_call>\s*\{[^]*?"name"\s*:\s*"NAME"[^]*?\}\s*</tool_call>`,
  // qwen3_coder, step3: XML-like functions, with or without the outer tag
  String.raw`(?:<tool_call>\s*)?<function=NAME>[^]*?</function>(?:\s*</tool_call>)?`,
  // glm4_moe: name, then keys and values
  String.raw`<tool_call>\s*NAME\s*(?:<arg_key>[^]*?)?</tool_call>`,
  // mistral: both formats
  String.raw`\[TOOL_CALLS\]\s*\[\s*\{[^]*?"name"\s*:\s*"NAME"[^]*?\}\s*\]`,
  String.raw`\[TOOL_CALLS\]\s*NAME\s*(?:\[ARGS\])?\s*\{[^]*\}`,
  // minimax_m2, and Anthropic's form
  String.raw`(?:<(?:minimax:tool_call|function_calls)>\s*)?<invoke name="NAME">[^]*?</invoke>(?:\s*</(?:minimax:tool_call|function_calls)>)?`,
  // kimi_k2, deepseek_v3: marks of special tokens
  String.raw`(?:<\|tool_calls_section_begin\|>\s*)?<\|tool_call_begin\|>\s*(?:functions\.)?NAME[^]*?<\|tool_call_end\|>(?:\s*<\|tool_calls_section_end\|>)?`,
  String.raw`(?:<｜tool▁calls▁begin｜>\s*)?<｜tool▁call▁begin｜>[^]*?NAME[^]*?<｜tool▁call▁end｜>(?:\s*<｜tool▁calls▁end｜>)?`,
  // llama3_json
  String.raw`(?:<\|python_tag\|>\s*)?\{\s*"name"\s*:\s*"NAME"\s*,\s*"(?:parameters|arguments)"\s*:\s*\{[^]*\}\s*\}`,
]

/**
 * @param visible the reply's text outside thinking
 * @param toolNames names of the request's tools
 */
export function hasToolMarkup(visible: string, toolNames: readonly string[]): boolean {
  if (toolNames.length === 0) return false
  const text = visible.trim()
  // An ending inside an open fence, or a fence as the last line, is a quotation.
  const name = `(?:${toolNames.map((tool) => tool.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)).join('|')})`
  return calls.some((call) => {
    const pattern = call.replaceAll('NAME', () => name)
    if (new RegExp(`^${pattern}`, 'u').test(text)) return true
    const last = text.match(new RegExp(`${pattern}$`, 'u'))
    return last !== null && !insideFence(text.slice(0, last.index))
  })
}

/** Whether what follows this text stands in a fenced code block. */
function insideFence(before: string): boolean {
  return (before.match(/^\s*(?:```|~~~)/gmu) ?? []).length % 2 === 1
}
