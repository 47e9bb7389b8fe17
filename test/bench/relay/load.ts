// The load of the relay's benchmark: agents that send their next request when they have the last reply.

import { Pool } from 'undici'
import { growingChat, type Chat } from './chats.ts'

export interface Load {
  /** About how large a request's body is. */
  readonly bytes: number
  readonly stream: boolean
  /** Conversations at a time. */
  readonly agents: number
  /** Requests of each agent in one round. */
  readonly requests: number
}

export interface Answered {
  /** From the request to the reply's last byte, or, of a stream, from each event's writing to its arrival, in µs. */
  readonly delays: number[]
  readonly requests: number
  readonly events: number
}

export interface Client {
  run(): Promise<Answered>
  close(): Promise<void>
}

/** A client of one proxy, with its own connections and conversations. */
export function client(url: string, load: Load): Client {
  const pool = new Pool(url, { connections: load.agents, pipelining: 1, keepAliveTimeout: 60_000, keepAliveMaxTimeout: 60_000, headersTimeout: 0, bodyTimeout: 0 })
  const chats = Array.from({ length: load.agents }, (_, i) => growingChat(`${new URL(url).port}-${load.bytes}-${load.stream}-${i}`, load.bytes))

  async function agent(chat: Chat, answered: { delays: number[], events: number }): Promise<void> {
    for (let i = 0; i < load.requests; i++) {
      const { id, body } = chat.next(load.stream)
      const sent = performance.now()
      const reply = await pool.request({
        method: 'POST', path: '/v1/chat/completions', body,
        headers: {
          'content-type': 'application/json', accept: 'application/json', 'user-agent': 'bench/1', authorization: 'Bearer sk-bench',
          'x-stainless-lang': 'js', 'x-stainless-runtime': 'node', 'x-conversation-id': id, 'x-bench': load.stream ? 'stream' : 'whole',
        },
      })
      if (reply.statusCode !== 200) throw new Error(`a proxy answered ${reply.statusCode}`)
      if (load.stream) {
        const events = await readEvents(reply.body, answered.delays)
        answered.events += events
      } else {
        await reply.body.arrayBuffer()
        answered.delays.push((performance.now() - sent) * 1000)
      }
    }
  }

  return {
    async run() {
      const answered = { delays: [] as number[], requests: load.agents * load.requests, events: 0 }
      await Promise.all(chats.map((chat) => agent(chat, answered)))
      return answered
    },
    close: () => pool.close(),
  }
}

async function readEvents(body: AsyncIterable<Buffer>, delays: number[]): Promise<number> {
  let events = 0
  for await (const chunk of body) {
    const now = process.hrtime.bigint()
    const text = chunk.toString('latin1')
    events += text.split('\n\n').length - 1
    for (const [, sent] of text.matchAll(/"sent_ns":"(\d+)"/g)) delays.push(Number(now - BigInt(sent!)) / 1000)
  }
  return events
}
