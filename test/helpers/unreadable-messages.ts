// Messages requests that have no chat form.

const user = { role: 'user', content: 'a' }
const result = (content: unknown): object => ({ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content }] })
const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } }

/** With the rest of a body that vLLM takes. */
const body = (members: object): object => ({ model: 'm', max_tokens: 10, messages: [user], ...members })

export const unreadableMessages: readonly { readonly body: object, readonly isRefused: boolean }[] = [
  ...[
    { messages: null }, { messages: 'a' }, { messages: [1] }, { messages: [{ role: 'tool', content: 'a' }] }, { messages: [{ role: 'user' }] }, { messages: [{ role: 'user', content: null }] },
    { messages: [{ role: 'user', content: ['a'] }] }, { messages: [{ role: 'user', content: [{ type: 'document', source: {} }] }] },
    { messages: [{ role: 'assistant', content: [{ type: 'server_tool_use', id: 'a', name: 'web_search', input: {} }] }] },
    { messages: [{ role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'b', input: 'c' }] }] }, { messages: [result(5)] },
    { system: 5 }, { system: [{ text: 'a' }] }, { tools: 'a' }, { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, { tools: [{ name: 'a', input_schema: [] }] },
    { tool_choice: { type: 'function' } }, { tool_choice: { type: 'tool' } }, { stop_sequences: 'a' }, { thinking: { type: 'auto' } }, { thinking: { type: 'enabled' } }, { output_config: { effort: 'none' } },
  ].map((members) => ({ body: body(members), isRefused: true })),
  ...[
    // Made a message of its own, or printed as a Python object, or named by the time.
    { messages: [result([image])] }, { messages: [result([{ type: 'tool_reference', tool_name: 'a' }])] },
    { messages: [user, { role: 'assistant', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'b' }] }] },
    { messages: [user, { role: 'assistant', content: [{ type: 'tool_use', name: 'b', input: {} }] }] },
    { messages: [{ role: 'user', content: [{ type: 'tool_use', id: 'a', name: 'b', input: {} }] }] }, { messages: [{ role: 'user', content: [{ type: 'thinking', thinking: 'a' }, { type: 'text', text: 'a' }] }] },
    { messages: [user, { role: 'system', content: [{ type: 'tool_removal', tool: { type: 'tool_reference', name: 'a' } }] }], tools: [{ name: 'a', input_schema: {} }] },
    { system: [image] },
  ].map((members) => ({ body: body(members), isRefused: false })),
]
