// Thinking is split off alike however the reply's text comes in pieces.

import fc from 'fast-check'
import t from 'tap'
import { ThinkingSplitter } from '../../src/fork/completion-reply.ts'
import { familiesIn, thinkingFamilies } from '../../src/summary/thinking.ts'

type Start = ConstructorParameters<typeof ThinkingSplitter>[0]

function split(pieces: readonly string[], start: Start): { thinking: string, content: string, isOpen: boolean } {
  const splitter = new ThinkingSplitter(start)
  const parts = pieces.map((piece, i) => splitter.push(piece, i === pieces.length - 1))
  return { thinking: parts.map(({ thinking }) => thinking).join(''), content: parts.map(({ content }) => content).join(''), isOpen: splitter.isOpen }
}

/** Text of what families write, marks and their beginnings included. */
const marks = thinkingFamilies.flatMap(({ open, close, lead }) => [open, close, ...(lead ? [lead] : [])])
const text = fc.array(fc.oneof(
  fc.constantFrom(...marks, ...marks.map((mark) => mark.slice(0, 4)), ' ', '\n', '<', '[', '<|', '</', 'a', 'é漢👩‍👧'),
  fc.string({ maxLength: 6 }),
), { maxLength: 12 }).map((parts) => parts.join(''))
const starts: fc.Arbitrary<Start> = fc.oneof(
  fc.constant({ families: thinkingFamilies, startsThinking: false }),
  fc.record({ families: fc.constantFrom(...thinkingFamilies).map((family) => [family]), startsThinking: fc.boolean() }),
)

t.test('any split of a reply into pieces gives the same thinking and content', async () => {
  fc.assert(fc.property(text, starts, fc.array(fc.nat(200), { maxLength: 20 }), (whole, start, cuts) => {
    const at = [...new Set(cuts.map((cut) => cut % (whole.length + 1)))].sort((a, b) => a - b)
    const pieces = [0, ...at].map((from, i) => whole.slice(from, at[i] ?? whole.length))
    const expected = split([whole], start)
    t.same(split(pieces, start), expected)
    t.same(split([...whole.split(''), ''], start), expected)
  }), { numRuns: 2_000 })
})

t.test('nothing is lost but the marks, and white space before them', async () => {
  fc.assert(fc.property(text, starts, (whole, start) => {
    const { thinking, content } = split([whole], start)
    const removed = whole.length - thinking.length - content.length
    return whole.endsWith(content) && whole.includes(thinking) && removed >= 0
  }), { numRuns: 2_000 })
})

const [think] = thinkingFamilies
const harmony = thinkingFamilies.find(({ lead }) => lead !== undefined)!

const rows: readonly [name: string, start: Start, whole: string, thinking: string, content: string, isOpen: boolean][] = [
  ['a block and text', { families: [think!], startsThinking: false }, '<think>\nI look.\n</think>\n\nDone.', '\nI look.\n', '\n\nDone.', false],
  ['text alone', { families: [think!], startsThinking: false }, 'Done.', '', 'Done.', false],
  ['a block that the prompt opened', { families: [think!], startsThinking: true }, 'I look.\n</think>\n\nDone.', 'I look.\n', '\n\nDone.', false],
  ['a block that prompt and model opened', { families: [think!], startsThinking: true }, '<think>I look.</think>Done.', 'I look.', 'Done.', false],
  ['a block that never ends', { families: [think!], startsThinking: false }, '<think>I look </thi', 'I look </thi', '', true],
  ['a prompt that opened a block, and no reply', { families: [think!], startsThinking: true }, '', '', '', true],
  ['marks that the text quotes later on', { families: [think!], startsThinking: false }, 'It says <think>x</think>.', '', 'It says <think>x</think>.', false],
  ['an empty block', { families: [think!], startsThinking: false }, '<think></think>Done.', '', 'Done.', false],
  ['harmony', { families: [harmony], startsThinking: false }, `${harmony.open}I look.${harmony.close}Done.`, 'I look.', 'Done.', false],
  ['harmony without analysis', { families: [harmony], startsThinking: false }, `${harmony.lead}Done.`, '', 'Done.', false],
  ['a mark of another family', { families: [think!], startsThinking: false }, '[THINK]x[/THINK]Done.', '', '[THINK]x[/THINK]Done.', false],
  ['a mark of any family, where the template tells none', { families: thinkingFamilies, startsThinking: false }, '[THINK]x[/THINK]Done.', 'x', 'Done.', false],
]
for (const [name, start, whole, thinking, content, isOpen] of rows) {
  t.test(`split: ${name}`, async (t) => t.same(split([whole], start), { thinking, content, isOpen }))
}

t.test('the family of a model is read off what its template writes around a thought', async (t) => {
  const family = (rendered: string): string[] => familiesIn(rendered, 'First I look.').map(({ open }) => open)
  t.same(family('<|im_start|>assistant\n<think>\nFirst I look.\n</think>'), ['<think>'])
  t.same(family('[THINK]First I look.[/THINK]'), ['[THINK]'])
  t.same(family('<|channel>thought\nFirst I look.<channel|>'), ['<|channel>thought\n'])
  t.same(family('<|ponder|>First I look.<|end|>'), [], 'marks that nobody here knows')
  t.same(family('Looking.<|im_end|>\n<|im_start|>assistant\n<think>\n'), ['<think>'], 'shown where the reply begins')
  t.same(family('Looking.<|Assistant|></think>'), ['<think>'], 'thinking is off')
  t.same(family('Looking.\nHere are my reasoning steps:\n'), [], 'the prompt asks for thinking without marks')
  t.same(family('Looking.</s>[INST]'), thinkingFamilies.map(({ open }) => open), 'a template that knows of no thinking')
})
