// Every endpoint that the suites run over. An endpoint's own helper joins here when its module has joined the list in src.

import { spokenChat } from './chat.ts'
import type { Spoken } from './spoken.ts'

export const spokenEndpoints: readonly Spoken[] = [spokenChat]
