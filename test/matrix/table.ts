// The page that a run of the matrix writes.

import { percent, type Result } from './plan-cell.ts'
import { sourcePackage, sourceVersion } from './templates.ts'

export function asMarkdown(results: readonly Result[]): string {
  const templates = [...new Set(results.map(({ template }) => template))]
  const cells = [...new Set(results.map(({ cell }) => cell))]
  const of = (template: string, cell: string): Result => results.find((each) => each.template === template && each.cell === cell)!
  const forks = results.filter(({ placement, without }) => placement !== null && without === null)
  const count = (wanted: (result: Result) => boolean): number => results.filter(wanted).length
  const lost = forks.filter(({ userLost }) => userLost !== null)
  const lines = [
    '# Chat templates: what a fork shares with its parent',
    '',
    `Written by \`npm run matrix\` (${results.length} cells, about three minutes). Do not edit it by hand.`,
    '',
    `The templates are those in the source package \`${sourcePackage}\` ${sourceVersion} on PyPI. They are fetched when the matrix runs and are not kept here.`,
    "Every cell is one recorded conversation and one summary request for it. warmfork's own planner plans the fork and asks its questions over a real socket.",
    'They are answered by a small server (`test/matrix/render_server.py`) that renders a template as vLLM 0.32 does, with the Python packages that vLLM brings.',
    "It generates nothing. Its tokenizer is Qwen3's, with the marks of each template added as tokens of their own.",
    '',
    'The shares below are computed in that server, from the body of the planned fork and from nothing that the planner said.',
    'A run fails where the receipt says another number, where the common prefix does not hold the last words of the head, or where a fork shares less than 95 %.',
    'In every cell, whichever rung won, the ids that the `tokens` rung makes are also compared with the rendering that the template itself gives of the same fork:',
    `the same ids in ${count(({ composed }) => composed === 'same')} cells, the same text in ${count(({ composed }) => composed === 'same text')} (a merge of two tokens at the border),`,
    `the same text behind the head's last words in ${count(({ composed }) => composed === 'same end')}, where the template renders the history anew.`,
    '',
    '## Result',
    '',
    `- ${forks.length} cells have a fork. The smallest share is ${percent(Math.min(...forks.map(({ share }) => share!)))}.`,
    `- In ${lost.length} of them \`tokens\` had to take over: \`user\` alone would have shared ${percent(Math.min(...lost.map(({ userLost }) => userLost!)))} to ${percent(Math.max(...lost.map(({ userLost }) => userLost!)))}.`,
    `- ${count(({ without }) => without === 'refused')} cells have no recorded conversation, since the template refuses it (a system role, parallel calls, chats without tools, or Python that the sandbox forbids).`,
    `- ${count(({ without }) => without === 'tools not shown')} cells are of templates that leave tool results out.`,
    `- ${count(({ without }) => without?.includes(':') ?? false)} cells have no fork, with the reason that the receipt names.`,
    '',
    '## Cells',
    '',
    '`user` and `tokens` are the rungs; `+a` says that a short assistant message stands before the directive, because the template refuses the directive without it.',
    'Where `tokens` won, the share that `user` would have had is in brackets. `-`: the template refuses the recorded conversation. `no tools`: it leaves tool results out.',
    'The share is that of the parent\'s ids; in the two cells about an older part, of those up to the end of that part.',
    '',
    `| template | ${cells.join(' | ')} |`,
    `|---|${cells.map(() => '---|').join('')}`,
    ...templates.map((template) => `| ${template} | ${cells.map((cell) => entry(of(template, cell))).join(' | ')} |`),
    '',
    '## What each cell holds',
    '',
    '- plain chat: user and assistant take turns; no tools. The record ends with a user message.',
    '- tool loop: twelve calls, one after another; no reasoning. The record ends with a tool result, as in all cells but plain chat.',
    '- thinking off: the same, with `enable_thinking` and `thinking` false in `chat_template_kwargs`.',
    '- reasoning echoed: twelve calls, each with the reasoning that led to it.',
    '- reasoning dropped: the client asks for thinking (both kwargs true) and echoes none of it.',
    '- parallel tool calls: two calls in each assistant message, reasoning echoed.',
    '- several user turns: two finished turns and one in the middle of its loop, reasoning echoed.',
    '- after the final reply: the summary request brings the final assistant message and a question, which the record has not.',
    '- older part: the summary request covers a leading part of the record alone.',
    '',
  ]
  return lines.join('\n')
}

function entry({ placement, share, userLost, without, faults }: Result): string {
  if (faults.length > 0) return `**wrong**: ${faults.length} faults`
  if (without === 'refused') return '-'
  if (without === 'tools not shown') return 'no tools'
  if (without !== null) return `no fork: \`${without.replace(': ', '`, `')}\`${userLost === null ? '' : ` (${percent(userLost)})`}`
  const rung = placement!.replace(' (assistant_between)', ' +a')
  return `${rung} ${percent(share!)}${userLost === null ? '' : ` (${percent(userLost)})`}`
}
