// What the members of a messages request are to a fork.
// Source: vLLM's AnthropicMessagesRequest (vllm/entrypoints/anthropic/protocol.py, 0.32).

import type { OptionTable } from './endpoint.ts'

export const messagesOptions: OptionTable = {
  roles: {
    messages: 'planned', tools: 'planned', tool_choice: 'planned', stream: 'planned', max_tokens: 'planned',

    system: 'conversation',

    temperature: 'answer', top_p: 'answer', top_k: 'answer', stop_sequences: 'answer', watermarking: 'answer',

    metadata: 'ignored', service_tier: 'ignored', betas: 'ignored', context_management: 'ignored', cache_control: 'ignored', mm_payload: 'ignored', return_mm_kwargs: 'ignored',
  },
  ownReasons: {
    model: 'model_changed',
    chat_template_kwargs: 'template_changed',
  },
  unforkable: [
    'kv_transfer_params', 'ec_transfer_params', // vLLM takes the prompt's ids from them
    'container', 'mcp_servers', // a part of the conversation that we do not see
  ],
  switches: {},
  choiceCounts: [],
}
