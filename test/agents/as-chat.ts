// What an agent sent, in chat's words, whatever the endpoint: for the scripted model, and for whoever looks at a run.

import type { Endpoint } from '../../src/endpoint/endpoint.ts'
import { endpointAt, endpoints } from '../../src/endpoint/endpoints.ts'

/** @param target where it was sent @returns an empty object where it is no request of an endpoint */
export function asChat(target: string, body: Buffer): any {
  return chatOf(endpointAt(new URL(target, 'http://engine').pathname), body)
}

/** A body as the simulator gives it to a script. */
export function scriptedAsChat(name: string, body: object): any {
  const endpoint = endpoints.find((each) => each.name === name)
  return endpoint ? chatOf(endpoint, Buffer.from(JSON.stringify(body))) : body
}

function chatOf(endpoint: Endpoint | undefined, body: Buffer): any {
  const read = endpoint?.read(body)
  return read ? JSON.parse(read.chat.body.toString('utf8')) : {}
}
