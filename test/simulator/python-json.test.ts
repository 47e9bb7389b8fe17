import t from 'tap'
import { dumpJson, parseJson } from '../../src/simulator/python-json.ts'

const again = (text: string): string => dumpJson(parseJson(text))

t.test('numbers are printed as Python prints them', async (t) => {
  const rows: Readonly<Record<string, string>> = {
    '1': '1', '-0': '0', '-0.0': '-0.0', '1.0': '1.0', '1e5': '100000.0', '1e16': '1e+16', '1E22': '1e+22', '123456.789e3': '123456789.0',
    '0.0001': '0.0001', '0.00001': '1e-05', '-1.5e-7': '-1.5e-07', '123456789012345678901234567890': '123456789012345678901234567890',
    '9007199254740993': '9007199254740993', '1e400': 'Infinity', 'NaN': 'NaN', '-Infinity': '-Infinity', '0.1': '0.1',
    '5e-324': '5e-324', '1234567890123456.7': '1234567890123456.8',
  }
  for (const [text, printed] of Object.entries(rows)) t.equal(again(text), printed, text)
})

t.test('keys keep their order, and the last of duplicates wins', async (t) => {
  t.equal(again('{"b":1,"2":2,"1":3}'), '{"b": 1, "2": 2, "1": 3}')
  t.equal(again('{"a":1,"b":2,"a":3}'), '{"a": 3, "b": 2}')
  t.equal(again('{"__proto__":{"x":1}}'), '{"__proto__": {"x": 1}}')
})

t.test('texts are escaped no more than Python escapes them', async (t) => {
  t.equal(again('"\\u00e9\\ud83d\\ude00\\n\\u0001\\u007f\\u2028\\/\\\\ud800"'), '"é😀\\n\\u0001\u007f\u2028/\\\\ud800"')
  t.equal(again('"\\ud800"'), '"\ud800"', 'a lone surrogate stays one')
  t.equal(again('"\\\\\\ud800"'), '"\\\\\ud800"', 'also behind a backslash')
})

t.test('what json.loads refuses is refused', async (t) => {
  for (const text of ['', '{', '[1,]', '{"a":1,}', "{'a':1}", '01', '+1', '.5', '1.', '"\n"', '"\\x"', '"\\u12"', '1 2', '{"a" 1}', 'nul', '"open']) {
    t.throws(() => parseJson(text), { name: 'JsonError' }, text)
  }
})
