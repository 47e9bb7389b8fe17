// Hours of an agent's life in minutes: conversations that end in a summary, side requests, clients that go or do not read,
// engines that die under running streams. Every reply must be its request's own, whole, or visibly broken; and when all is
// quiet, warmfork must be as it was.

import type { ChildProcess } from 'node:child_process'
import { Agent, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { codingTools, conversation, type Message } from '../helpers/conversation.ts'
import { begin, collect } from '../helpers/http.ts'
import { chatReply, streamed, summaryInstruction, summarySystem } from '../helpers/warmfork.ts'
import { simulatorModel } from '../../src/simulator/simulator.ts'
import { answerTo, asked, newCount } from './counting.ts'
import { messageOf, startBeside, startWarmforkProcess, type RunningWarmfork, type Usage } from './process.ts'

export interface SoakOptions {
  readonly seconds: number
  /** Part of `seconds` after which memory and descriptors are noted. */
  readonly warmUpSeconds: number
  readonly agents: number
  /** Between two deaths of the engine. */
  readonly restartEverySeconds: number
}

export interface SoakFound {
  readonly faults: string[]
  /** By what was asked and what became of it. */
  readonly tally: Record<string, number>
  /** Summaries by decision or reason. */
  readonly decisions: Record<string, number>
  readonly warnings: Record<string, number>
  readonly restarts: number
  /** Quiet, after the warm-up and at the end. */
  readonly before: Usage
  readonly after: Usage
  /** About ten over the whole time, while it works. */
  readonly samples: readonly Usage[]
}

/** Idle connections to the engine are closed after 4 s. */
const quietMs = 6_000
/** The longest that anything an agent does may take. */
const patienceMs = 60_000
/** How much more may be held at the end, and how much larger the process may be. */
const heldMb = 16
const rssMb = 64

export async function soak(options: SoakOptions): Promise<SoakFound> {
  const faults: string[] = []
  const engine = new MortalEngine()
  await engine.start()
  // Little evidence, so that its bound is reached before the first measurement.
  const warmfork = await startWarmforkProcess({ upstream: { url: `http://127.0.0.1:${engine.port}` }, evidence: { max_bytes: 400_000 }, fork: { min_saved_tokens: 64 }, log: { level: 'info' } })
  const traffic = new Traffic(warmfork, engine, faults)
  const samples: Usage[] = []
  try {
    await traffic.run(options.agents, options.warmUpSeconds * 1000, [])
    await sleep(quietMs)
    const before = await warmfork.settledUsage()
    const left = (options.seconds - options.warmUpSeconds) * 1000
    await traffic.run(options.agents, left, [
      { everyMs: options.restartEverySeconds * 1000, act: () => engine.dieAndComeBack() },
      { everyMs: options.seconds * 100, act: async () => void samples.push(await warmfork.usage()) },
    ])
    await sleep(quietMs)
    const after = await warmfork.settledUsage()
    const running = await engine.running()
    if (running > 0) faults.push(`${running} requests still run at the engine`)
    faults.push(...differences(before, after))
    faults.push(...warmfork.logged.filter(({ level }) => level >= 50).map((line) => `logged: ${JSON.stringify(line)}`))
    const warnings: Record<string, number> = {}
    for (const { msg } of warmfork.logged.filter(({ level }) => level === 40)) add(warnings, msg)
    return { faults, tally: traffic.tally, decisions: traffic.decisions, warnings, restarts: engine.deaths, before, after, samples }
  } finally {
    const code = await warmfork.stop()
    if (code !== 0) faults.push(`warmfork ended with ${code}`)
    engine.stop()
  }
}

function differences(before: Usage, after: Usage): string[] {
  const own = ({ heldMb, evidenceMb }: Usage) => heldMb - evidenceMb
  const found: string[] = []
  if (after.files > before.files) found.push(`${after.files} files are open, ${before.files} were`)
  if (after.clients > 0 || after.upstreams > 0) found.push(`${after.clients} connections of clients and ${after.upstreams} to the engine are left`)
  if (own(after) > own(before) + heldMb) found.push(`${own(after).toFixed(1)} MB are held beside evidence, ${own(before).toFixed(1)} were`)
  if (after.rssMb > 1.25 * before.rssMb + rssMb) found.push(`the process has ${after.rssMb.toFixed(0)} MB, it had ${before.rssMb.toFixed(0)}`)
  return found
}

/** An engine that is killed, or breaks all it runs and starts anew, by turns; its address stays. */
class MortalEngine {
  port = 0
  deaths = 0
  #child: ChildProcess | undefined
  /** performance.now() from when to when nothing is promised. */
  readonly #away: { from: number, to: number }[] = []

  async start(): Promise<void> {
    this.#child = startBeside('soak-engine.ts', [String(this.port)])
    this.port = (await messageOf<{ port: number }>(this.#child)).port
  }

  async dieAndComeBack(): Promise<void> {
    const away = { from: performance.now(), to: Infinity }
    this.#away.push(away)
    this.deaths += 1
    if (this.deaths % 2 === 0) {
      this.#child!.send('restart')
      await messageOf(this.#child!)
    } else {
      this.#child!.kill('SIGKILL')
      await this.start()
    }
    // What was sent to the old one may be answered for a moment.
    away.to = performance.now() + 1_000
  }

  /** Whether it was away at any time since. */
  wasAway(since: number): boolean {
    return this.#away.some(({ to }) => to > since)
  }

  async running(): Promise<number> {
    this.#child!.send('running')
    return (await messageOf<{ running: number }>(this.#child!)).running
  }

  stop(): void {
    this.#child?.disconnect()
  }
}

interface Repeated {
  readonly everyMs: number
  readonly act: () => Promise<void>
}

/** Why a reply is not what it must be, or null. */
type Fault = string | null

class Traffic {
  readonly tally: Record<string, number> = {}
  readonly decisions: Record<string, number> = {}
  readonly #warmfork: RunningWarmfork
  readonly #engine: MortalEngine
  readonly #faults: string[]
  readonly #port: number
  #sessions = 0

  constructor(warmfork: RunningWarmfork, engine: MortalEngine, faults: string[]) {
    this.#warmfork = warmfork
    this.#engine = engine
    this.#faults = faults
    this.#port = Number(new URL(warmfork.url).port)
  }

  /** Runs agents for a time, and waits until each of them is done. */
  async run(agents: number, ms: number, repeated: readonly Repeated[]): Promise<void> {
    const end = performance.now() + ms
    const over = new AbortController()
    const repeating = repeated.map(async ({ everyMs, act }) => {
      while (await sleep(everyMs, true, { signal: over.signal }).catch(() => false)) await act()
    })
    await Promise.all(Array.from({ length: agents }, (_, number) => this.#agent(number, end)))
    over.abort()
    await Promise.all(repeating)
  }

  async #agent(number: number, end: number): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const headers = ['content-type', 'application/json', 'authorization', `Bearer key-${number % 4}`]
    while (performance.now() < end && this.#warmfork.child.exitCode === null) {
      const kind = chance([['session', 5], ['side', 2], ['leaves', 2], ['stalls', 1], ['other routes', 2]] as const)
      const act = kind === 'session' ? this.#session(agent, number % 3 === 0 ? [...headers, 'x-session-id', `s-${number}-${this.#sessions}`] : headers, end)
        : kind === 'side' ? this.#chat('side', agent, [...headers, 'x-warmfork-request', 'side'], [{ role: 'user', content: 'Name this talk.' }], 12)
        : kind === 'leaves' ? this.#leaves(headers)
        : kind === 'stalls' ? this.#stalls(headers)
        : this.#otherRoutes(agent, headers)
      if (await Promise.race([act.then(() => true), sleep(patienceMs, false, { ref: false })])) {
        await sleep(100 + Math.random() * 600)
        continue
      }
      this.#faults.push(`${kind}: no end after ${patienceMs / 1000} s`)
      break
    }
    agent.destroy()
  }

  /** A conversation of a few turns, and its summary. */
  async #session(agent: Agent, headers: readonly string[], end: number): Promise<void> {
    const built = conversation({ seed: `soak ${++this.#sessions}`, groups: 2 + this.#sessions % 4, outputTokens: 80 })
    const messages: Message[] = [...built.messages]
    for (let turn = 0; turn < 3 && performance.now() < end; turn++) {
      const reply = await this.#chat('main', agent, headers, messages, 20, { tools: codingTools })
      if (reply === null) return
      messages.push({ role: 'user', content: reply.asked }, { role: 'assistant', content: reply.content })
      await sleep(Math.random() * 300)
    }
    const summary: Message[] = [{ role: 'system', content: summarySystem }, ...messages.slice(1), { role: 'user', content: 'What did we do so far?' }]
    await this.#chat('summary', agent, headers, summary, 30, { max_tokens: 1000 }, summaryInstruction)
  }

  /** Sends a chat that asks for a count behind its messages. @returns what was asked and answered; null where that failed */
  async #chat(kind: string, agent: Agent, headers: readonly string[], messages: readonly Message[], to: number, members: object = {}, before = ''): Promise<{ asked: string, content: string } | null> {
    const count = newCount(to)
    const text = `${before} ${asked(count)}`.trim()
    const stream = Math.random() < 0.6
    const body = { model: simulatorModel, messages: [...messages, { role: 'user', content: text }], ...members, ...(stream && streamed) }
    const since = performance.now()
    const reply = await this.#send(agent, headers, body).then(collect).then(chatReply, (error: Error) => error)
    if (reply instanceof Error) return this.#note(kind, since, `has no reply: ${reply.message}`)
    const right = reply.status === 200 && reply.whole && reply.content === answerTo(count) && reply.finish === 'stop' && (!stream || reply.done)
    const fault = right ? null : `is ${reply.status}${reply.whole ? '' : ', broken off'}: ${reply.text.slice(-300)}`
    // Half an answer that looks whole is one too many, whoever died.
    const looksRight = !right && reply.status === 200 && reply.whole && reply.finish === 'stop' && (!stream || reply.done)
    if (kind === 'summary') add(this.decisions, reply.warmfork['fallback-reason'] ?? reply.warmfork['decision'] ?? 'no receipt')
    this.#note(kind, looksRight ? Infinity : since, fault)
    return right ? { asked: text, content: reply.content } : null
  }

  /** A client that goes in the middle of its reply, or before it. */
  async #leaves(headers: readonly string[]): Promise<void> {
    const count = newCount(300)
    const since = performance.now()
    const response = await this.#send(undefined, headers, { model: simulatorModel, messages: [{ role: 'user', content: asked(count) }], stream: true }).catch((error: Error) => error)
    if (response instanceof Error) return void this.#note('leaves', since, `has no reply: ${response.message}`)
    const collected = collect(response)
    await sleep(Math.random() * 300)
    response.destroy()
    const { content, status } = chatReply(await collected)
    this.#note('leaves', since, status === 200 && answerTo(count).startsWith(content) ? null : `is ${status}: ${content.slice(0, 300)}`)
  }

  /** A client that does not read for some seconds; then it does, or goes. */
  async #stalls(headers: readonly string[]): Promise<void> {
    const count = newCount(4_000)
    const since = performance.now()
    const stream = Math.random() < 0.5
    const response = await this.#send(undefined, headers, { model: simulatorModel, messages: [{ role: 'user', content: asked(count) }], stream }).catch((error: Error) => error)
    if (response instanceof Error) return void this.#note('stalls', since, `has no reply: ${response.message}`)
    const collected = collect(response)
    response.pause()
    await sleep(1_000 + Math.random() * 4_000)
    if (Math.random() < 0.4) {
      response.destroy()
      return void this.#note('stalls, then leaves', since, null)
    }
    response.resume()
    const reply = chatReply(await collected)
    this.#note('stalls', since, reply.status === 200 && reply.whole && reply.content === answerTo(count) ? null : `is ${reply.status}${reply.whole ? '' : ', broken off'}: ${reply.text.slice(-300)}`)
  }

  async #otherRoutes(agent: Agent, headers: readonly string[]): Promise<void> {
    const { canary } = newCount(1)
    const large = `{"model":"${canary}","prompt":"${'x'.repeat(3_000_000)}`
    const [method, target, body, status] = chance([
      [['GET', '/v1/models', undefined, 200], 2],
      [['POST', '/tokenize', JSON.stringify({ model: simulatorModel, prompt: canary }), 200], 2],
      [['GET', '/sleep', undefined, 404], 1],
      [['POST', '/v1/completions', large, 400], 1],
    ] as const)
    const since = performance.now()
    const reply = await begin(this.#port, { method, target, headers, agent, ...(body !== undefined && { body }) }).then(({ response }) => collect(response), (error: Error) => error)
    if (reply instanceof Error) return void this.#note('other routes', since, `has no reply: ${reply.message}`)
    this.#note('other routes', since, reply.status === status && reply.whole ? null : `${target} is ${reply.status}: ${reply.body.toString().slice(0, 200)}`)
  }

  async #send(agent: Agent | undefined, headers: readonly string[], body: object): Promise<IncomingMessage> {
    const { response } = await begin(this.#port, { target: '/v1/chat/completions', headers, body: JSON.stringify(body), ...(agent && { agent }) })
    return response
  }

  /** @param since when the request was sent: what an engine that died since then took with it is no fault */
  #note(kind: string, since: number, fault: Fault): null {
    if (fault === null) add(this.tally, `${kind}: right`)
    else if (this.#engine.wasAway(since)) add(this.tally, `${kind}: died with the engine`)
    else {
      add(this.tally, `${kind}: wrong`)
      this.#faults.push(`${kind}: the reply ${fault}`)
    }
    return null
  }
}

function add(tally: Record<string, number>, name: string): void {
  tally[name] = (tally[name] ?? 0) + 1
}

/** One of several, each as often as its weight says. */
function chance<T>(weighted: readonly (readonly [T, number])[]): T {
  let at = Math.random() * weighted.reduce((sum, [, weight]) => sum + weight, 0)
  return (weighted.find(([, weight]) => (at -= weight) < 0) ?? weighted[0]!)[0]
}
