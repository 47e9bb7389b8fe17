// The clients of the load runs, in a process of their own: each reads one stream off a raw socket and holds every chunk
// against the event that must come next. Gets one message with what to do, and sends what it found.

import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { endMark, event } from './paced-events.ts'

export interface Task {
  /** Streams by name: where to, how many. */
  readonly groups: readonly { readonly name: string, readonly url: string, readonly streams: number }[]
  readonly events: number
  /** The streams begin over so many ms: a thousand connections at once are another test, and so are a thousand ends. */
  readonly rampMs: number
}

export interface Found {
  readonly name: string
  /** What must not be, one line each. */
  readonly faults: string[]
  readonly events: number
  /** From an event's writing to its arrival, in ms. */
  readonly p50: number
  readonly p99: number
  readonly max: number
  /** Events a second of one stream, between its first and its last. */
  readonly perSecond: number
}

/** More say nothing more. */
const maxFaults = 20

process.once('message', async (task: Task) => {
  const found = await Promise.all(task.groups.map((group) => run(group, task)))
  process.send!(found)
  process.disconnect()
})
process.send!('ready')

async function run({ name, url, streams }: Task['groups'][number], { events, rampMs }: Task): Promise<Found> {
  const delays: number[] = []
  const faults: string[] = []
  const fault = (text: string) => void (faults.length < maxFaults && faults.push(`${name}: ${text}`))
  const spans = await Promise.all(Array.from({ length: streams }, async (_, i) => {
    await sleep(i * rampMs / streams)
    return readStream(Number(new URL(url).port), events, delays, fault)
  }))
  delays.sort((a, b) => a - b)
  const quantile = (q: number) => delays[Math.min(delays.length - 1, Math.floor(q * delays.length))] ?? NaN
  return { name, faults, events: delays.length, p50: quantile(0.5), p99: quantile(0.99), max: quantile(1), perSecond: 1000 * (events - 1) * streams / spans.reduce((sum, ms) => sum + ms, 0) }
}

/** @returns from its first event to its last, in ms */
function readStream(port: number, events: number, delays: number[], fault: (text: string) => void): Promise<number> {
  const canary = `canary-${randomBytes(8).toString('hex')}`
  const body = JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'system', content: 'You count.' }, { role: 'user', content: `${canary}: ${'count on, '.repeat(100)}` }] })
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  let text = ''
  let headRead = false
  let part = ''
  let next = 0
  let over = false
  let firstAt = 0
  let lastAt = 0

  const onEvent = (found: string) => {
    if (next === events) {
      if (found !== endMark) fault(`behind the last event came ${JSON.stringify(found.slice(0, 200))}`)
      next += 1
      return
    }
    const sent = /"sent_ns":"(\d+)"/.exec(found)?.[1] ?? ''
    if (found !== event(canary, next, sent, next === events - 1)) fault(`event ${next} of ${canary} was ${JSON.stringify(found.slice(0, 300))}`)
    lastAt = performance.now()
    if (next === 0) firstAt = lastAt
    delays.push(Number(process.hrtime.bigint() - BigInt(sent || 0)) / 1e6)
    next += 1
  }
  /** A chunk may be a part of an event where a packet ended inside it; it may never be more than one. */
  const onChunk = (data: string) => {
    part += data
    const end = part.indexOf('\n\n')
    if (end < 0) return
    if (end + 2 < part.length) fault(`one chunk of ${canary} has several events: ${JSON.stringify(part.slice(0, 600))}`)
    for (const found of part.split(/(?<=\n\n)/)) onEvent(found)
    part = ''
  }
  socket.on('data', (bytes) => {
    text += bytes.toString('latin1')
    if (!headRead) {
      const end = text.indexOf('\r\n\r\n')
      if (end < 0) return
      if (!text.startsWith('HTTP/1.1 200 ')) fault(`the reply began ${JSON.stringify(text.slice(0, 100))}`)
      text = text.slice(end + 4)
      headRead = true
    }
    for (;;) {
      const lineEnd = text.indexOf('\r\n')
      if (lineEnd < 0) return
      const length = parseInt(text.slice(0, lineEnd), 16)
      if (text.length < lineEnd + 2 + length + 2) return
      const data = text.slice(lineEnd + 2, lineEnd + 2 + length)
      text = text.slice(lineEnd + 2 + length + 2)
      if (length === 0) {
        over = true
        socket.end()
        return
      }
      onChunk(data)
    }
  })
  socket.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: load\r\ncontent-type: application/json\r\nauthorization: Bearer load\r\nx-events: ${events}\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
  return new Promise((resolve) => {
    socket.on('error', (error) => fault(`the connection of ${canary} failed: ${error.message}`))
    socket.once('close', () => {
      if (!over) fault(`the stream of ${canary} broke off behind ${next} events`)
      else if (next !== events + 1) fault(`${canary} got ${next} of ${events + 1} events`)
      resolve(lastAt - firstAt)
    })
  })
}
