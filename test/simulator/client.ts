// What the simulator's tests say to it.

import { request } from 'undici'
import type { Simulator } from '../../src/simulator/simulator.ts'

export interface Said { readonly status: number, readonly headers: Record<string, string | string[] | undefined>, readonly text: string, readonly json: any }

export const question = [{ role: 'user', content: 'q' }]
export const tools = [{ type: 'function', function: { name: 'read', description: 'Reads a file.', parameters: { type: 'object' } } }]

export async function say(simulator: Simulator, path: string, body?: object, headers: Record<string, string> = {}): Promise<Said> {
  const answer = await request(simulator.url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.body.text()
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    json = undefined
  }
  return { status: answer.statusCode, headers: answer.headers, text, json }
}

export async function chat(simulator: Simulator, body: object = {}): Promise<Said> {
  return await say(simulator, '/v1/chat/completions', { messages: question, ...body })
}

/** Events of a stream as they were sent, [DONE] included. */
export function events(text: string): any[] {
  return text.split('\n\n').filter((event) => event !== '').map((event) => event === 'data: [DONE]' ? '[DONE]' : JSON.parse(event.slice('data: '.length)))
}
