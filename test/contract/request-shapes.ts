// Request shapes whose prompt ids chat and /tokenize must agree on. All are written as JSON texts where JavaScript
// could not keep them (1.0, large integers, key order).

const tool = (members: string): string => `{"type":"function","function":{"name":"read","description":"reads a file","parameters":{"type":"object","properties":{"path":{"type":"string"}}}${members}}}`
const tools = `"tools":[${tool('')}]`
const call = (args: string, id = 'c1'): string => `{"id":"${id}","type":"function","function":{"name":"read","arguments":${JSON.stringify(args)}}}`
const question = '{"role":"user","content":"q"}'
const result = '{"role":"tool","tool_call_id":"c1","content":"r"}'
const messages = (...list: string[]): string => `"messages":[${list.join(',')}]`
const called = (assistant: string, args = '{"path": "x"}'): string =>
  `${messages(question, `{"role":"assistant",${assistant}"tool_calls":[${call(args)}]}`, result)},${tools}`
const text = (value: string): string => messages(`{"role":"user","content":${JSON.stringify(value)}}`)

/** Members of a body, without braces and without the model. */
export const requestShapes: Readonly<Record<string, string>> = {
  'one user message': messages(question),
  'a system message': messages('{"role":"system","content":"be brief"}', question),
  'a system message late': messages(question, '{"role":"system","content":"be brief"}', question),
  'a developer message': messages('{"role":"developer","content":"be brief"}', question),
  'developer and system messages mixed': messages(question, '{"role":"developer","content":"two"}', '{"role":"system","content":"three"}', question),
  'an unknown role': messages(question, '{"role":"critic","content":"no"}', question),
  'names and unknown members': messages('{"role":"user","name":"bob","content":"q","extra":{"a":1}}'),
  'two user messages in a row': messages(question, question),
  'an answered question': messages(question, '{"role":"assistant","content":"a"}', question),
  'content in parts': messages('{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}'),
  'content of no parts': messages('{"role":"user","content":[]}'),
  'empty content': messages('{"role":"user","content":""}'),
  'missing content': messages('{"role":"user"}'),
  'system content in parts': messages('{"role":"system","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}', question),
  'a tool result in parts': `${messages(question, `{"role":"assistant","content":"","tool_calls":[${call('{}')}]}`, '{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}')},${tools}`,
  'a call with null content': called('"content":null,'),
  'a call without content': called(''),
  'a call with empty content': called('"content":"",'),
  'a call with content': called('"content":"I look.",'),
  'a call with content in parts': called('"content":[{"type":"text","text":"I look."}],'),
  'two calls': `${messages(question, `{"role":"assistant","content":"","tool_calls":[${call('{}')},${call('{}', 'c2')}]}`, result, '{"role":"tool","tool_call_id":"c2","content":"s"}')},${tools}`,
  'an empty list of calls': messages(question, '{"role":"assistant","content":"a","tool_calls":[]}', question),
  'calls null': messages(question, '{"role":"assistant","content":"a","tool_calls":null}', question),
  'arguments with floats and large integers': called('"content":"",', '{"a": 1.0, "b": 1e5, "c": 1e22, "d": 0.00001, "e": 123456789012345678901234567890, "f": -0, "g": 1E16}'),
  'arguments with keys like integers': called('"content":"",', '{"b":1,"2":2,"1":3,"a":{"10":1,"9":2}}'),
  'arguments with duplicate keys': called('"content":"",', '{"a":1,"b":2,"a":3}'),
  'arguments with escapes': called('"content":"",', '{"a":"\\u00e9\\ud83d\\ude00\\n\\t\\u007f\\/"}'),
  'arguments with spaces': called('"content":"",', ' { "a" :  [1,2 , {"x":null}] }\n'),
  'arguments that are no JSON': called('"content":"",', '{"a": 1'),
  'arguments that are a list': called('"content":"",', '[1,2]'),
  'empty arguments': called('"content":"",', ''),
  'reasoning in a tool loop': called('"content":"","reasoning":"I think.",'),
  'reasoning before a user message': `${messages(question, `{"role":"assistant","content":"","reasoning":"I think.","tool_calls":[${call('{}')}]}`, result, question)},${tools}`,
  'empty reasoning': called('"content":"","reasoning":"",'),
  'a think block in the content': messages(question, '{"role":"assistant","content":"<think>\\nhm\\n</think>\\n\\nyes"}', question),
  'a final assistant message with reasoning': messages(question, '{"role":"assistant","content":"\\n  a \\n","reasoning":"\\n x \\n"}'),
  'a tool of the least members': `${messages(question)},"tools":[{"type":"function","function":{"name":"f"}}]`,
  'a tool with members in another order': `${messages(question)},"tools":[{"function":{"parameters":{"z":1,"a":2.0},"name":"f","description":"d"},"type":"function","x":1}]`,
  'a strict tool': `${messages(question)},"tools":[${tool(',"strict":true')}]`,
  'a tool that is not strict': `${messages(question)},"tools":[${tool(',"strict":false')}]`,
  'a deferred tool': `${messages(question)},"tools":[${tool(',"defer_loading":true')}]`,
  'two tools': `${messages(question)},"tools":[${tool('')},{"type":"function","function":{"name":"g","description":"é \\u2028 \\"q\\"","parameters":{"2":1,"1":2,"n":12345678901234567890}}}]`,
  'tools and tool_choice auto': `${messages(question)},${tools},"tool_choice":"auto"`,
  'tools and tool_choice none': `${messages(question)},${tools},"tool_choice":"none"`,
  'tools and tool_choice required': `${messages(question)},${tools},"tool_choice":"required"`,
  'tools and a named tool': `${messages(question)},${tools},"tool_choice":{"type":"function","function":{"name":"read"}}`,
  'unicode': text('héllo 日本語 🎉👩‍👩‍👧 e\u0301 \u200b\u00a0\ufeff\u2028 مرحبا हिन्दी ٣٤ Ⅷ ǅ'),
  'control characters': text('a\u0000b\u0001\u001f\u007f\r\n\r\n\t\t  x   \n\n\n  y\u0085'),
  'special-token text': text('<|im_end|>\n<|im_start|>system\nhi <think>x</think> <tool_call> <|endoftext|> <|fim_prefix|> <tool_response>'),
  'code': text('for (let i = 0; i < 10; i++) {\n\tconsole.log(`${i}: don\'t`)\n}\n\n\n// 12345 0x1F\n'),
  'escaped keys': '"mess\\u0061ges":[{"r\\u006fle":"user","content":"a"}]',
  'duplicate keys in a message': messages('{"role":"user","content":"a","content":"b"}'),
  'no generation prompt': `${messages(question)},"add_generation_prompt":false`,
  'a continued final message': `${messages(question, '{"role":"assistant","content":" partly "}')},"add_generation_prompt":false,"continue_final_message":true`,
  'thinking off': `${messages(question)},"chat_template_kwargs":{"enable_thinking":false}`,
  'thinking on': `${messages(question)},"chat_template_kwargs":{"enable_thinking":true}`,
  'unknown template kwargs': `${messages(question)},"chat_template_kwargs":{"enable_thinking":null,"colour":"red","add_generation_prompt":false}`,
  'members that vLLM ignores': `${messages(question)},"metadata":{"a":"b"},"user":"x","store":true,"service_tier":"auto"`,
  'given prompt ids': `${messages(question)},"kv_transfer_params":{"prompt_token_ids":[1,2,3,198]}`,
}
