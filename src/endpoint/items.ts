// Where a request can be cut: several chat messages may be made of one item, and an item may go on in the message before.

import type { AsChat } from './endpoint.ts'

/** Whether no item of a request reaches over the place behind so many of its chat messages. */
export function isCut({ itemsEnd }: Pick<AsChat, 'itemsEnd'>, length: number): boolean {
  return length === 0 || length >= itemsEnd.length || itemsEnd[length - 1]! < itemsEnd[length]!
}
