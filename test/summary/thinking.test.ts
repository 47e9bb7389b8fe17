import t from 'tap'
import { splitThinking, thinkingFamilies } from '../../src/summary/thinking.ts'

for (const { open, close } of thinkingFamilies) {
  t.test(`thinking between ${JSON.stringify(open)} and its end is not visible`, async (t) => {
    t.strictSame(splitThinking(`${open}I look.${close}Seen.`), { visible: 'Seen.', open: false })
    t.strictSame(splitThinking(`\n ${open}I look.${close}\n\nSeen.`), { visible: '\n\nSeen.', open: false })
    t.strictSame(splitThinking(`${open}I look.`), { visible: '', open: true })
    t.strictSame(splitThinking(`${open}${close}`), { visible: '', open: false })
    t.strictSame(splitThinking(`I look.${close}Seen.`), { visible: 'Seen.', open: false }, 'opened by the generation prompt')
  })

  t.test(`blocks one after another between ${JSON.stringify(open)} and its end are all thinking`, async (t) => {
    t.strictSame(splitThinking(`${open}a${close}\n${open}b${close}Seen.`), { visible: 'Seen.', open: false })
    t.strictSame(splitThinking(`${open}a${close}\n${open}b`), { visible: '', open: true })
    t.strictSame(splitThinking(`a${close}\n${open}b`), { visible: '', open: true })
    t.strictSame(splitThinking(`${open}a${close}${open}b${close}`), { visible: '', open: false })
  })

  t.test(`a text that quotes ${JSON.stringify(open)} and its end stays as it is`, async (t) => {
    const quote = `The template writes ${open} and ${close} around it.`
    t.strictSame(splitThinking(quote), { visible: quote, open: false })
    const half = `The template writes ${open} first.`
    t.strictSame(splitThinking(half), { visible: half, open: false })
  })

  t.test(`where a parser took thinking out, a text that names ${JSON.stringify(close)} is a text`, async (t) => {
    const text = `The parser looked for ${close}`
    t.strictSame(splitThinking(text, true), { visible: text, open: false })
  })
}

t.test('a text without marks is visible, as it is', async (t) => {
  for (const text of ['', ' \n', 'Summary.', '<thinking>not a mark</thinking>']) t.strictSame(splitThinking(text), { visible: text, open: false })
})

t.test('one family quoted behind the thinking of another stays', async (t) => {
  t.strictSame(splitThinking('[THINK]a[/THINK]It ends with </think> there.'), { visible: 'It ends with </think> there.', open: false })
})

t.test('no text of 200 kB takes long', async (t) => {
  for (const { open, close } of thinkingFamilies) {
    for (const piece of [open, close, open + close, `${close} `, ' ', '\n', '<']) {
      const start = performance.now()
      splitThinking(piece.repeat(Math.ceil(200_000 / piece.length)))
      t.ok(performance.now() - start < 500, JSON.stringify(piece))
    }
  }
})
