// vLLM's error answers. Three forms: an error object, a plain string for a missing key, FastAPI's `detail`.

import type { Answer } from './answer.ts'
import { jsonAnswer } from './answer.ts'

/** Thrown anywhere before a reply began; becomes the answer. */
export class Refusal extends Error {
  readonly answer: Answer
  constructor(answer: Answer) {
    super('refused')
    this.answer = answer
  }
}

/** vllm/entrypoints/serve/engine/protocol.py ErrorResponse. */
export function errorObject(message: string, type: string, param: string | null, code: number): object {
  return { error: { message, type, param, code } }
}

/** VLLMValidationError: its text names the parameter and, where given, the value (vllm/exceptions.py). */
export function badParameter(message: string, parameter: string, value?: string | number): Refusal {
  const named = value === undefined ? `(parameter=${parameter})` : `(parameter=${parameter}, value=${value})`
  return new Refusal(jsonAnswer(400, errorObject(`${message} ${named}`, 'BadRequestError', parameter, 400)))
}

export function badRequest(message: string): Refusal {
  return new Refusal(jsonAnswer(400, errorObject(message, 'BadRequestError', null, 400)))
}

/**
 * A field that pydantic refuses. vLLM quotes the input in the message, and so do we; where it tries a union of types it
 * lists one error for each of them, of which this is the one that matters.
 */
export function invalidField(type: string, location: string, message: string, input: string): Refusal {
  const at = location === '' ? 'body' : `body.${location}`
  const text = `1 validation error:\n  {'type': '${type}', 'loc': '${at}', 'msg': ${pythonString(message)}, 'input': ${pythonString(input)}}`
  return new Refusal(jsonAnswer(400, errorObject(text, 'Bad Request', at, 400)))
}

/** repr() of a string without control characters. */
function pythonString(text: string): string {
  return text.includes("'") && !text.includes('"') ? `"${text}"` : `'${text.replaceAll("'", "\\'")}'`
}

export function unknownModel(model: string, served: readonly string[]): Refusal {
  const message = `The model \`${model}\` does not exist. Valid aliases: ${served.join(', ')}.`
  return new Refusal(jsonAnswer(404, errorObject(message, 'NotFoundError', 'model', 404)))
}

/** FastAPI's own form, for what never reached vLLM's code. */
export function detail(status: number, message: string): Answer {
  return jsonAnswer(status, { detail: message })
}
