// `warmfork classify FILE`: what a recorded request is taken for, and why, trait by trait. Prints no text of the request.

import { readFileSync } from 'node:fs'
import type { Agent } from '../summary/agents.ts'
import { genericTraits } from '../summary/generic.ts'
import { isMisspelt, Recogniser, requestWords, saidBy, traitsOf } from '../summary/recognise.ts'
import type { ReadRequest } from '../endpoint/endpoint.ts'
import { endpointAt, endpoints } from '../endpoint/endpoints.ts'
import type { ChatRequest } from '../wire/chat-request.ts'
import { bytesOf, memberNamed, membersOf, skipSpace, stringAt } from '../wire/json-slices.ts'

/** @returns what is printed, or one sentence on why nothing can be said */
export function classify(path: string, agents: readonly Agent[], generic: boolean): { text: string } | { fault: string } {
  let file: Buffer
  try {
    file = readFileSync(path)
  } catch {
    return { fault: `The file ${JSON.stringify(path)} cannot be read: give the path of a recorded request.` }
  }
  const { path: sentTo, headers, body } = recorded(file)
  const request = readAt(sentTo, headers, body, agents)
  if (!request) return { fault: `The file ${JSON.stringify(path)} holds no request of ${endpoints.map((endpoint) => endpoint.path).join(', ')}: give its JSON body, or {"path": "…", "headers": {…}, "body": {…}}.` }
  return { text: explain(headers, body, request, agents, generic) }
}

/** By the endpoint that a file names, or else by the first where an agent is known to send it, or that can read it. */
function readAt(path: string | null, headers: Record<string, string>, body: Buffer, agents: readonly Agent[]): ReadRequest | null {
  if (path !== null) return endpointAt(path.split('?')[0]!)?.read(body) ?? null
  const readable = endpoints.flatMap((endpoint) => endpoint.read(body) ?? [])
  return readable.find((request) => agents.some((agent) => traitsOf(agent, headers, request).every(({ holds }) => holds))) ?? readable[0] ?? null
}

/** A body alone, or an object of `path`, `headers` and `body`, the body as an object or as text. */
function recorded(file: Buffer): { path: string | null, headers: Record<string, string>, body: Buffer } {
  const members = membersOf(file, skipSpace(file, 0)) ?? []
  const body = memberNamed(members, 'body')
  if (!body || endpoints.some(({ itemsKey }) => memberNamed(members, itemsKey))) return { path: null, headers: {}, body: file }
  const path = memberNamed(members, 'path')
  const headersAt = memberNamed(members, 'headers')
  const headers = headersAt ? membersOf(file, headersAt.value.start) ?? [] : []
  const text = stringAt(file, body.value)
  return {
    path: path ? stringAt(file, path.value) : null,
    headers: Object.fromEntries(headers.map(({ key, value }) => [key.toLowerCase(), stringAt(file, value) ?? ''])),
    body: text === null ? bytesOf(file, body.value) : Buffer.from(text),
  }
}

function explain(headers: Record<string, string>, body: Buffer, request: ReadRequest, agents: readonly Agent[], generic: boolean): string {
  const recogniser = new Recogniser(agents, { generic })
  const found = recogniser.plainOf(headers, body) ? { kind: 'main' as const } : recogniser.recognise(headers, request)
  const said = saidBy(headers, request)
  const lines = [`taken for: ${verdict(found)}`, `the client says: ${said === null ? 'nothing' : `x-warmfork-request ${JSON.stringify(said)}`}${isMisspelt(said) ? `, which counts as nothing: it is none of ${requestWords.join(', ')}` : ''}`]

  const judged = agents.map((agent) => ({ agent, traits: traitsOf(agent, headers, request) }))
  // A fitting kind of tools, or the endpoint, says nothing alone.
  const near = judged.filter(({ traits }) => traits.some(({ name, holds }) => name !== 'tools' && name !== 'endpoint' && holds))
  for (const { agent, traits } of near) {
    lines.push(`${agent.agent} (${agent.file}), ${agent.shape}:`)
    for (const { name, wanted, holds } of traits) lines.push(`  ${holds ? 'yes' : 'no '}  ${name}: ${name === 'tools' ? `${wanted}; the request's are ${toolsOf(request.chat)}` : `"${wanted}"`}`)
    if (agent.traits.front) lines.push(`  ?    front: ${agent.traits.front}; known only while warmfork runs`)
  }
  lines.push(`other agents: ${judged.length - near.length}, none of whose markers stand in it`)

  lines.push(`without an agent file (agents.generic is ${generic}):`)
  for (const { wanted, holds } of genericTraits(body, request.chat)) lines.push(`  ${holds ? 'yes' : 'no '}  ${wanted}`)
  lines.push('  ?    it holds a recorded conversation from its beginning; where it has a system text of its own, that text asks: known only while warmfork runs')
  return `${lines.join('\n')}\n`
}

function verdict(found: ReturnType<Recogniser['recognise']>): string {
  switch (found.kind) {
    case 'main': return 'a main request'
    case 'side': return 'a side request'
    case 'summary': return found.agent ? `a summary request of ${found.agent.agent}` : 'a summary request, since the client says so'
    case 'conversation-summary': return 'a summary request by conversation id'
    case 'possible': return found.agent ? `a summary request of ${found.agent.agent}, unless its system text is that of a recorded conversation` : 'a summary request where it holds a recorded conversation, else a main request'
  }
}

function toolsOf({ tools }: ChatRequest): string {
  return tools === null ? 'absent' : tools.length === 0 ? 'empty' : `present (${tools.length})`
}
