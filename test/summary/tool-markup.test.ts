import t from 'tap'
import { hasToolMarkup } from '../../src/summary/tool-markup.ts'

/** One call to `look` as each family writes it, and the same call to another tool. */
const families: Readonly<Record<string, (name: string) => string>> = {
  'hermes': (name) => `<tool_call>\n{"name": "${name}", "arguments": {"at": "a"}}\n</tool_call>`,
  'hermes, quoting its own end': (name) => `<tool_call>{"name":"${name}","arguments":{"new":"</tool_call>"}}</tool_call>`,
  'qwen3_coder': (name) => `<tool_call>\n<function=${name}>\n<parameter=at>\na\n</parameter>\n</function>\n</tool_call>`,
  'step3, without the outer tag': (name) => `<function=${name}><parameter=at>a</parameter></function>`,
  'seed_oss': (name) => `<seed:tool_call>\n<function=${name}><parameter=at>a</parameter></function>\n</seed:tool_call>`,
  'glm4_moe': (name) => `<tool_call>${name}\n<arg_key>at</arg_key>\n<arg_value>a</arg_value>\n</tool_call>`,
  'glm4_moe, without arguments': (name) => `<tool_call>${name}</tool_call>`,
  'mistral, array': (name) => `[TOOL_CALLS] [{"name": "${name}", "arguments": {"at": "a"}}]`,
  'mistral, arguments': (name) => `[TOOL_CALLS]${name}[ARGS]{"at": "a"}`,
  'mistral, with an id': (name) => `[TOOL_CALLS]${name}[CALL_ID]abcdefghi[ARGS]{"at": "a"}`,
  'mistral, bare': (name) => `[TOOL_CALLS]${name}{"at": {"b": "}"}}`,
  'minimax_m2': (name) => `<minimax:tool_call>\n<invoke name="${name}">\n<parameter name="at">a</parameter>\n</invoke>\n</minimax:tool_call>`,
  'function_calls': (name) => `<function_calls><invoke name="${name}"><parameter name="at">a</parameter></invoke></function_calls>`,
  'invoke': (name) => `<invoke name="${name}"></invoke>`,
  'kimi_k2': (name) => `<|tool_calls_section_begin|><|tool_call_begin|>functions.${name}:0<|tool_call_argument_begin|>{"at":"a"}<|tool_call_end|><|tool_calls_section_end|>`,
  'deepseek_v3': (name) => `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>${name}\n\`\`\`json\n{"at":"a"}\n\`\`\`<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
  'deepseek_v31': (name) => `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>${name}<｜tool▁sep｜>{"at":"a"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
  'llama3_json': (name) => `{"name": "${name}", "parameters": {"at": "a", "name": "x"}}`,
  'llama3_json, marked': (name) => `<|python_tag|>{ "name":"${name}", "parameters": {}}`,
}

const tools = ['look', 'edit.file', 'a+b']

for (const [family, write] of Object.entries(families)) {
  t.test(`a call in ${family}'s form is markup alone, first or last [case 50]`, async (t) => {
    const call = write('look')
    t.equal(hasToolMarkup(call, tools), true, 'alone')
    t.equal(hasToolMarkup(`\n  ${call}\n`, tools), true, 'in white space')
    t.equal(hasToolMarkup(`${call}\n\nThen the summary goes on.`, tools), true, 'first')
    t.equal(hasToolMarkup(`Here is the summary.\n\n${call}`, tools), true, 'last')
    t.equal(hasToolMarkup(`${call}\n${call}`, tools), true, 'twice')
    t.equal(hasToolMarkup(write('edit.file'), tools), true, 'a name with a dot')
    t.equal(hasToolMarkup(write('a+b'), tools), true, 'a name with a sign')
  })

  t.test(`a call in ${family}'s form that is quoted, fenced or foreign is none`, async (t) => {
    const call = write('look')
    t.equal(hasToolMarkup(`The agent wrote ${call} and got an answer.`, tools), false, 'in the middle')
    t.equal(hasToolMarkup(`It wrote:\n\`\`\`\n${call}\n\`\`\``, tools), false, 'in a closed fence')
    if (!call.includes('```')) t.equal(hasToolMarkup(`It wrote:\n~~~\n${call}`, tools), false, 'in an open fence')
    t.equal(hasToolMarkup(`It wrote \`${call}\``, tools), false, 'in a code span')
    t.equal(hasToolMarkup(write('other'), tools), false, 'of a tool that the request has not')
    t.equal(hasToolMarkup(write('lookx'), tools), false, 'of a longer name')
    t.equal(hasToolMarkup(write('editxfile'), tools), false, 'a dot is a dot')
    t.equal(hasToolMarkup(call, []), false, 'without tools')
  })
}

t.test('a call quoted in the middle and an ending that only looks alike are no call', async (t) => {
  t.equal(hasToolMarkup('It sent {"name": "look", "parameters": {"a": 1}} first. The file is {"x": {"y": 1}}', tools), false)
  t.equal(hasToolMarkup('It sent <tool_call>{"name": "look", "arguments": {}}</tool_call>, and then nothing but {"a": 1}</tool_call>', tools), false)
  t.equal(hasToolMarkup('<tool_call>{"name": "other", "arguments": {}}</tool_call> was followed by "name": "look" and {}</tool_call> in the log.', tools), false)
})

t.test('half a call is none: it says so by its finish', async (t) => {
  for (const half of ['<tool_call>', '<tool_call>{"name": "look"', '<function=look>', '[TOOL_CALLS]', '[TOOL_CALLS] [{"name": "look"', '[TOOL_CALLS]look[ARGS]{"a"', '{"name": "look", "parameters": {', '<invoke name="look">']) {
    t.equal(hasToolMarkup(half, tools), false, half)
    t.equal(hasToolMarkup(`Text. ${half}`, tools), false, half)
  }
})

t.test('a fence inside another kind of fence ends nothing', async (t) => {
  t.equal(hasToolMarkup('~~~\n```\n~~~\ntext\n<tool_call>look</tool_call>', tools), true)
  t.equal(hasToolMarkup('~~~\n```\ntext\n<tool_call>look</tool_call>', tools), false)
})

t.test('no text of 200 kB takes long', async (t) => {
  const hostile = ['<tool_call>{', '<tool_call>{"name":"look"', '<tool_call>', '<function=look>', '[TOOL_CALLS][{', '[TOOL_CALLS]look{', '<invoke name="look">', '<|tool_call_begin|>', '<｜tool▁call▁begin｜>', '{"name":"look",',
    '{ "name" : "look" , "parameters" : {', '{', ' ', '\n', '\n```', '{\n', '"name"', '"', '\\', '}}', ']}', '<tool_call>{"name":"look","arguments":{}}</tool_call> ']
  for (const piece of hostile) {
    for (const end of ['', '</tool_call>', '}}', '</function>', '}</tool_call>', '<tool_call>look</tool_call>']) {
      const text = `x${piece.repeat(Math.ceil(200_000 / piece.length))}${end}`
      const start = performance.now()
      hasToolMarkup(text, tools)
      hasToolMarkup(text.slice(1), tools)
      const took = performance.now() - start
      if (took > 700) t.fail(`${JSON.stringify(piece)} … ${JSON.stringify(end)} took ${took} ms`)
    }
  }
  t.pass('all were quick')
})
