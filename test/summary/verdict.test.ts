import t from 'tap'
import { emptyReply, type ReplyState } from '../../src/wire/reply.ts'
import { judge, verdicts } from '../../src/summary/verdict.ts'

function verdict(reply: Partial<ReplyState>, tools: readonly string[] = ['look'], closingTag?: string): string {
  const judged = judge({ ...emptyReply(), finish: 'stop', content: 'A summary.', ...reply }, tools, closingTag)
  return judged.valid ? 'valid' : judged.reason
}

t.test('a text that ended by itself is a summary', async (t) => {
  t.equal(verdict({}), 'valid')
  t.equal(verdict({ thinking: 'hm' }), 'valid')
  t.equal(verdict({ content: '<think>hm</think>\n\nA summary.' }), 'valid')
})

t.test('an engine error is no summary, whatever came before [case 10]', async (t) => {
  t.equal(verdict({ error: true }), 'summary_engine_error')
  t.equal(verdict({ error: true, toolCalls: true }), 'summary_engine_error')
})

t.test('a tool call is no summary, by its call or by its finish [case 48]', async (t) => {
  t.equal(verdict({ toolCalls: true }), 'summary_tool_call')
  t.equal(verdict({ finish: 'tool_calls' }), 'summary_tool_call')
})

t.test('nothing, white space and thinking alone are no summary [case 49]', async (t) => {
  t.equal(verdict({ content: '' }), 'summary_empty')
  t.equal(verdict({ content: ' \n\t' }), 'summary_empty')
  t.equal(verdict({ content: '<think>hm</think> \n' }), 'summary_empty')
  t.equal(verdict({ content: '<think>hm</think><think>hm</think>' }), 'summary_empty')
})

t.test('thinking that does not end is no summary', async (t) => {
  t.equal(verdict({ content: '<think>hm' }), 'summary_thinking_open')
  t.equal(verdict({ content: '', thinking: 'hm' }), 'summary_thinking_open')
  t.equal(verdict({ content: '<think>a</think><think>b' }), 'summary_thinking_open')
})

t.test('a reply cut at its limit is no summary, with text or without [case 51]', async (t) => {
  t.equal(verdict({ finish: 'length' }), 'summary_truncated')
  t.equal(verdict({ finish: 'length', content: '' }), 'summary_truncated')
  t.equal(verdict({ finish: 'length', content: '', thinking: 'hm' }), 'summary_truncated')
  t.equal(verdict({ finish: 'length', content: '<think>hm' }), 'summary_truncated')
})

t.test('a reply without a finish, or with another, is incomplete', async (t) => {
  for (const finish of [null, 'abort', 'repetition', 'content_filter', 'x']) t.equal(verdict({ finish }), 'summary_incomplete')
})

t.test('a call written as text is no summary, also behind thinking [case 50]', async (t) => {
  const call = '<tool_call>\n{"name":"look","arguments":{}}\n</tool_call>'
  t.equal(verdict({ content: call }), 'summary_tool_markup')
  t.equal(verdict({ content: `<think>hm</think>\n${call}` }), 'summary_tool_markup')
  t.equal(verdict({ content: `Done.\n${call}` }), 'summary_tool_markup')
  t.equal(verdict({ content: call }, ['other']), 'valid')
  t.equal(verdict({ content: `<think>${call}</think>A summary.` }), 'valid')
})

t.test("an agent's closing tag is asked for in the visible text alone", async (t) => {
  t.equal(verdict({ content: '<state>x</state>' }, [], '</state>'), 'valid')
  t.equal(verdict({ content: '<state>x' }, [], '</state>'), 'summary_incomplete')
  t.equal(verdict({ content: '<think></state></think>x' }, [], '</state>'), 'summary_incomplete')
})

t.test('a summary that quotes a closing mark is no thinking where a parser ran', async (t) => {
  t.equal(verdict({ content: 'We fixed the parser for </think>', thinking: 'hm' }), 'valid')
})

t.test('template marks at either end are no summary where the text is raw, and in the middle they are quotes', async (t) => {
  const raw = (content: string): string => {
    const judged = judge({ ...emptyReply(), finish: 'stop', content }, [], undefined, true)
    return judged.valid ? 'valid' : judged.reason
  }
  t.equal(raw('<|im_start|>assistant text'), 'summary_special_tokens')
  t.equal(raw('text <｜User｜>\n'), 'summary_special_tokens')
  t.equal(raw('a text with <|im_end|> in the middle'), 'valid')
  t.equal(verdict({ content: 'text <|im_end|>' }), 'valid')
})

t.test('no message reads like a context overflow [case 43]', async (t) => {
  for (const [reason, message] of Object.entries(verdicts)) t.notMatch(message, /context length|maximum context|too long|exceeds/i, reason)
})
