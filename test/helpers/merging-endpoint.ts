// An endpoint of a test's making, on which messages and items are not one to one: `parts` of an item are a message each,
// and `more` goes on in the message before.

import { chat } from '../../src/endpoint/chat.ts'
import type { AsChat, Endpoint, ReadRequest } from '../../src/endpoint/endpoint.ts'
import { object } from '../../src/engine/prompt.ts'
import { answerMembers, keptMembers } from '../../src/fork/build.ts'
import { elementsOf, memberNamed, membersOf } from '../../src/wire/json-slices.ts'
import { bytes, chatRequest } from './chat-requests.ts'

type Item =
  | { readonly role: string, readonly content: string }
  | { readonly role: string, readonly parts: readonly string[] }
  | { readonly more: string }

export const merging: Endpoint = {
  ...chat,
  name: 'responses',
  itemsKey: 'input',
  read(body) {
    const members = membersOf(body, 0)
    return members && { endpoint: merging, body, members, ...asChat(body) }
  },
  forkBody: (parts) => object([...keptMembers(parts), ...answerMembers(parts.summary)]),
}

export function mergingRequest(input: readonly Item[]): ReadRequest {
  return merging.read(bytes({ model: 'm', input }))!
}

function asChat(body: Buffer): AsChat {
  const { model, input } = JSON.parse(body.toString('utf8')) as { model: string, input: Item[] }
  const messages: { role: string, content: string }[] = []
  const itemsEnd: number[] = []
  for (const [i, item] of input.entries()) {
    if ('more' in item) {
      messages.at(-1)!.content += item.more
      itemsEnd[itemsEnd.length - 1] = i + 1
      continue
    }
    for (const content of 'parts' in item ? item.parts : [item.content]) {
      messages.push({ role: item.role, content })
      itemsEnd.push(i + 1)
    }
  }
  const items = elementsOf(body, memberNamed(membersOf(body, 0)!, 'input')!.value.start)!
  return { chat: chatRequest({ model, messages }), items, itemsEnd }
}
