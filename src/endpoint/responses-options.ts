// What the members of a responses request are to a fork.
// Source: vLLM's ResponsesRequest (vllm/entrypoints/openai/responses/protocol.py, 0.32).

import type { OptionTable } from './endpoint.ts'

export const responsesOptions: OptionTable = {
  roles: {
    input: 'planned', tools: 'planned', tool_choice: 'planned', stream: 'planned', max_output_tokens: 'planned', enable_response_messages: 'planned',

    instructions: 'conversation',

    request_id: 'per-request',

    session_id: 'routing', prompt_cache_key: 'routing',

    // The format in `text` is a grammar; nothing of it is in the prompt.
    text: 'answer', include: 'answer', temperature: 'answer', top_p: 'answer', top_k: 'answer', min_p: 'answer', top_logprobs: 'answer',
    logit_bias: 'answer', presence_penalty: 'answer', frequency_penalty: 'answer', repetition_penalty: 'answer', seed: 'answer', stop: 'answer',
    stop_token_ids: 'answer', ignore_eos: 'answer', skip_special_tokens: 'answer', include_stop_str_in_output: 'answer',
    structured_outputs: 'answer', parallel_tool_calls: 'answer', max_tool_calls: 'answer', include_reasoning: 'answer', priority: 'answer',
    watermarking: 'answer',

    metadata: 'ignored', user: 'ignored', store: 'ignored', service_tier: 'ignored', safety_identifier: 'ignored', client_metadata: 'ignored',
    prompt_cache_retention: 'ignored', stream_options: 'ignored', mm_payload: 'ignored', return_mm_kwargs: 'ignored',
  },
  ownReasons: {
    model: 'model_changed',
    chat_template_kwargs: 'template_changed',
  },
  unforkable: [
    // The engine, or a server in front of it, has a part of the conversation that we do not see, or keeps one that is not the client's.
    'previous_response_id', 'conversation', 'background', 'store', 'prompt', 'previous_input_messages',
    'kv_transfer_params', 'ec_transfer_params', // vLLM takes the prompt's ids from them
  ],
  switches: {},
  choiceCounts: [],
}
