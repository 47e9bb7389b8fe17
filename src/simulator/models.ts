// GET /v1/models: one card per served name, all of one model (vllm/entrypoints/openai/models/serving.py).

import { randomUUID } from 'node:crypto'
import { type Answer, jsonAnswer } from './answer.ts'
import type { Settings } from './options.ts'

export function modelsAnswer({ models, maxModelLen }: Settings): Answer {
  // `created` is the time of the call, as in vLLM.
  const created = Math.floor(Date.now() / 1000)
  return jsonAnswer(200, {
    object: 'list',
    data: models.map((id) => ({
      id, object: 'model', created, owned_by: 'vllm', root: 'Qwen/Qwen3', parent: null, max_model_len: maxModelLen,
      permission: [{
        id: `modelperm-${randomUUID().replaceAll('-', '').slice(0, 16)}`, object: 'model_permission', created,
        allow_create_engine: false, allow_sampling: true, allow_logprobs: true, allow_search_indices: false,
        allow_view: true, allow_fine_tuning: false, organization: '*', group: null, is_blocking: false,
      }],
    })),
  })
}
