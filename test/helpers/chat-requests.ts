// Chat requests as the engine sees them, for tests of the pure core: made from objects, or from the exact bytes given.

import fc from 'fast-check'
import { chat } from '../../src/endpoint/chat.ts'
import type { ReadRequest } from '../../src/endpoint/endpoint.ts'
import type { ChatRequest } from '../../src/wire/chat-request.ts'

/** Reads a request of the chat endpoint; a string is taken as its bytes. */
export function chatRequest(body: object | string | Buffer): ChatRequest {
  return readRequest(body).chat
}

/** The same with how it was written. */
export function readRequest(body: object | string | Buffer): ReadRequest {
  const request = chat.read(bytes(body))
  if (request === null) throw new Error('the test gave a request that cannot be read')
  return request
}

export function bytes(body: object | string | Buffer): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}

export const system = { role: 'system', content: 'You work in a shared folder.' }

export function user(text: string): object {
  return { role: 'user', content: text }
}

export function assistant(text: string): object {
  return { role: 'assistant', content: text }
}

/** An assistant message that makes one call per id. */
export function calls(...ids: string[]): object {
  return { role: 'assistant', content: null, tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'look', arguments: '{"at":"a"}' } })) }
}

export function answer(id: string, text = `answer to ${id}`): object {
  return { role: 'tool', tool_call_id: id, content: text }
}

export function tool(name: string, parameters: object = { type: 'object', properties: {} }): object {
  return { type: 'function', function: { name, parameters } }
}

/** White space as JSON allows it between tokens. */
const space = fc.constantFrom('', '', '', ' ', '\n', '\r\n', '\t ', '   ')

/** JSON text that no serialiser would write: white space anywhere, odd numbers, escapes, repeated and odd keys. */
export const oddJson: fc.Arbitrary<string> = fc.letrec<{ value: string, object: string, array: string, string: string }>((tie) => ({
  string: fc.array(fc.oneof(
    fc.constantFrom('\\"', '\\\\', '\\/', '\\n', '\\u0041', '\\ud83d', '\\ude00', '\\u0000', '漢', 'é', '👩‍👩‍👧', '{', '}', '[', ']', ',', ':', 'a', 'messages', '\u2028'),
    fc.string({ unit: 'grapheme-ascii', maxLength: 4 }).map((text) => JSON.stringify(text).slice(1, -1)),
  ), { maxLength: 6 }).map((parts) => `"${parts.join('')}"`),
  array: fc.tuple(space, fc.array(fc.tuple(tie('value'), space), { maxLength: 4 })).map(([lead, items]) =>
    `[${lead}${items.map(([item, trail]) => `${item}${trail}`).join(`,${lead}`)}]`),
  object: fc.tuple(space, space, fc.array(fc.tuple(
    fc.oneof(fc.constantFrom('"2"', '"10"', '"1"', '"__proto__"', '"a"', '"\\u0061"', '""', '"constructor"'), tie('string')), tie('value'),
  ), { maxLength: 5 })).map(([a, b, members]) => `{${a}${members.map(([key, value]) => `${key}${b}:${a}${value}${b}`).join(`,${a}`)}}`),
  value: fc.oneof({ maxDepth: 4, depthSize: 'small' },
    fc.constantFrom('1.0', '1e400', '-0', '9007199254740993', '0.1000', '1E+2', '-1.5e-7', 'true', 'false', 'null', '0'),
    tie('string'), tie('array'), tie('object')),
})).value
