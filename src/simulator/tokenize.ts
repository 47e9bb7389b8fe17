// POST /tokenize and /detokenize (vllm/entrypoints/serve/tokenize). Neither warms the cache.

import { type Answer, jsonAnswer } from './answer.ts'
import { optionalBoolean, quoted } from './body.ts'
import { errorObject, invalidField, Refusal } from './errors.ts'
import { type Renderer, tokenizePrompt } from './prompt.ts'
import type { JsonObject } from './python-json.ts'

export function tokenizeAnswer(renderer: Renderer, body: JsonObject): Answer {
  if (!body.has('messages') && !body.has('prompt')) {
    const missing = (name: string): string => `  {'type': 'missing', 'loc': 'body.${name}', 'msg': 'Field required', 'input': '${quoted(body)}'}`
    throw new Refusal(jsonAnswer(400, errorObject(
      `2 validation errors:\n${missing('prompt')}\n${missing('messages')}`, 'Bad Request', 'body.prompt', 400)))
  }
  if (!body.has('messages') && typeof body.get('prompt') !== 'string') {
    throw invalidField('string_type', 'prompt', 'Input should be a valid string', quoted(body.get('prompt')))
  }
  const { ids } = tokenizePrompt(renderer, body)
  const strings = optionalBoolean(body, 'return_token_strs') ? ids.map((id) => renderer.tokenizer.vocabularyString(id)) : null
  return jsonAnswer(200, { count: ids.length, max_model_len: renderer.settings.maxModelLen, tokens: ids, token_strs: strings })
}

export function detokenizeAnswer(renderer: Renderer, body: JsonObject): Answer {
  const tokens = body.get('tokens')
  if (tokens === undefined) throw invalidField('missing', 'tokens', 'Field required', quoted(body))
  if (!Array.isArray(tokens)) throw invalidField('list_type', 'tokens', 'Input should be a valid list', quoted(tokens))
  const ids = tokens.map((token, index) => {
    if (typeof token !== 'number') {
      throw invalidField('int_parsing', `tokens.${index}`, 'Input should be a valid integer, unable to parse string as an integer', quoted(token))
    }
    if (token < 0) throw invalidField('greater_than_equal', `tokens.${index}`, 'Input should be greater than or equal to 0', quoted(token))
    return token
  })
  return jsonAnswer(200, { prompt: renderer.tokenizer.decode(ids) })
}
