// Every endpoint that the suites run over. An endpoint's own helper joins here when its module has joined the list in src.

import type { Test } from 'tap'
import { spokenChat } from './chat.ts'
import { spokenMessages } from './messages.ts'
import { spokenResponses } from './responses.ts'
import type { Spoken } from './spoken.ts'

export const spokenEndpoints: readonly Spoken[] = [spokenChat, spokenResponses, spokenMessages]

/** Runs a suite on every endpoint. */
export function overEndpoints(t: Pick<Test, 'test'>, suite: (t: Test, spoken: Spoken) => Promise<void>): void {
  for (const spoken of spokenEndpoints) void t.test(spoken.endpoint.name, async (t) => suite(t, spoken))
}
