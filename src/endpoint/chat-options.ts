// What the members of a chat request are to a fork.
// Sources: vLLM's ChatCompletionRequest (vllm/entrypoints/openai/chat_completion/protocol.py, 0.10 to 0.32).

import type { OptionTable } from './endpoint.ts'

export const chatOptions: OptionTable = {
  roles: {
    messages: 'planned', tools: 'planned', tool_choice: 'planned',
    stream: 'planned', stream_options: 'planned', return_token_ids: 'planned',
    max_tokens: 'planned', max_completion_tokens: 'planned',

    request_id: 'per-request',

    // Body fields that routers in front of vLLM take for affinity.
    session_id: 'routing', prompt_cache_key: 'routing',

    frequency_penalty: 'answer', presence_penalty: 'answer', repetition_penalty: 'answer', logit_bias: 'answer',
    logprobs: 'answer', top_logprobs: 'answer', logprob_token_ids: 'answer', n: 'answer', seed: 'answer', stop: 'answer',
    stop_token_ids: 'answer', stream_interval: 'answer', temperature: 'answer', top_p: 'answer', top_k: 'answer',
    min_p: 'answer', length_penalty: 'answer', use_beam_search: 'answer', min_tokens: 'answer', ignore_eos: 'answer',
    include_stop_str_in_output: 'answer', skip_special_tokens: 'answer', spaces_between_special_tokens: 'answer',
    allowed_token_ids: 'answer', bad_words: 'answer', structured_outputs: 'answer', guided_json: 'answer',
    guided_regex: 'answer', guided_decoding_backend: 'answer', guided_whitespace_pattern: 'answer', structural_tag: 'answer',
    echo: 'answer', best_of: 'answer', guided_choice: 'answer', guided_grammar: 'answer', parallel_tool_calls: 'answer',
    include_reasoning: 'answer', thinking_token_budget: 'answer', priority: 'answer',
    return_tokens_as_token_ids: 'answer', return_token_offsets: 'answer', return_prompt_text: 'answer',
    return_assistant_tokens_mask: 'answer', routed_experts_prompt_start: 'answer', repetition_detection: 'answer',
    watermarking: 'answer',

    metadata: 'ignored', user: 'ignored', store: 'ignored', service_tier: 'ignored', safety_identifier: 'ignored',
    client_metadata: 'ignored', verbosity: 'ignored', prompt_cache_retention: 'ignored',
  },
  ownReasons: {
    model: 'model_changed',
    chat_template: 'template_changed',
    chat_template_kwargs: 'template_changed',
  },
  unforkable: [
    'kv_transfer_params', 'ec_transfer_params', // vLLM takes the prompt's ids from them
    'prompt_logprobs', // disables reading the cache (vllm/sampling_params.py)
    'truncate_prompt_tokens', 'truncation_side', // cut the prompt on chat alone, not on /tokenize
    'functions', 'function_call', // the old form of tools, which vLLM ignores
  ],
  switches: {
    continue_final_message: false, // the last message is no complete one
    echo: false, use_beam_search: false,
    add_generation_prompt: true,
  },
  choiceCounts: ['n', 'best_of'],
}
