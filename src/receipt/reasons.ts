// Why a summary request was not forked. Each reason exists once, here; README and metrics are made from this table.

export const reasons = {
  no_warm_evidence: 'No main request of this conversation is recorded: none ended well since the start (one that was cut at its limit or left does not count), none shares its beginning, or a summary by id names no known id.',
  evidence_expired: 'The last main request of this conversation is older than evidence.ttl_s. The next one records it anew.',
  ambiguous_conversation: 'Two recorded conversations fit equally well and would give different forks. Send x-warmfork-conversation with main requests and summary requests.',
  model_changed: 'The summary request names another model than the conversation.',
  endpoint_changed: 'The conversation ran over another endpoint than the summary request.',
  template_changed: 'The summary request names another chat template, or other arguments for it, than the conversation.',
  options_changed: 'The summary request sets an option that can shape the prompt or the cache key to another value.',
  prefix_changed: "The tools of the summary request are others than the conversation's, and not left out.",
  mid_range: 'The summary request starts in the middle of the conversation.',
  coverage_unproven: 'Too little of the summary request could be found at the beginning of the conversation.',
  incomplete_tool_group: 'The summary request ends, or its only shared part lies, inside a tool group: a call lacks its answer.',
  caching_not_advertised: "The engine's metrics do not say that prefix caching is on, or cannot be read. Start vLLM with --enable-prefix-caching, and without --disable-log-stats.",
  tokenize_unavailable: 'The engine did not answer the token questions of the plan in time, or not usefully. Raise proof.timeout_ms if it is busy.',
  token_ids_missing: "The engine's answer held no usable token ids.",
  tokenizer_uncalibrated: 'The ids of /tokenize are not those that the endpoint prefills, and there is no render endpoint.',
  prefix_diverges: "Rendered by the engine, the fork departs from the conversation's ids before the end of the head.",
  head_too_small: 'The shared part is smaller than one cache block.',
  head_over_cap: "The fork's prompt would be larger than summary.input_cap_tokens.",
  window_exceeded: "The fork's prompt leaves too little of the model's window for a summary.",
  no_gain: 'The fork would leave about as many tokens to prefill as the request as it came.',
  media_unsupported: 'The conversation holds images, audio or other media; their ids prove nothing about their content.',
  unforkable_options: 'An option of either request cannot be kept true in a fork (several choices, a forced tool, prompt log-probabilities, …).',
  unreadable_body: 'The body of the summary request, or of the recorded one, cannot be read as the engine reads it.',
  fork_rejected: "The engine refused the fork before generating; the agent's own request, where there is one, was sent instead.",
  fork_failed_before: 'An earlier fork from the same recorded request generated no valid summary, or was not prefilled as proven.',
  model_switched_off: 'The engine refused three forks in a row for this model; forking waits for a new calibration.',
  reuse_not_observed: 'The last forks were reported as not cached; forking pauses for fork.backoff_s.',
  observed_only: 'fork.mode is observe: the fork was planned and proven, and not sent. Set it to on.',
  disabled: 'fork.mode is off, or a summary by id was asked for while summary.by_id is off. Turn it on in the configuration.',
  internal_error: 'A fault of warmfork itself; see the warning in its log.',
} as const

/** A stable name of why there was no fork. */
export type Reason = keyof typeof reasons
