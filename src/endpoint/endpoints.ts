// The endpoints whose conversations are remembered and whose summaries are forked; every other route is only relayed.

import { openAiErrors, type ErrorForm } from '../errors.ts'
import { chat } from './chat.ts'
import type { Endpoint } from './endpoint.ts'
import { messages } from './messages.ts'
import { responses } from './responses.ts'

export const endpoints: readonly Endpoint[] = [chat, responses, messages]

/** @param path the decoded path without the query */
export function endpointAt(path: string): Endpoint | undefined {
  return endpoints.find((endpoint) => endpoint.path === path)
}

/** How errors of ours look on a route: as the endpoint's on everything below it too. */
export function errorsAt(path: string | undefined): ErrorForm {
  return endpoints.find((endpoint) => path === endpoint.path || path?.startsWith(`${endpoint.path}/`))?.errors ?? openAiErrors
}
