// warmfork as a user runs it, before a simulated engine, on real sockets: sends an agent's requests, described as chat
// and written for one endpoint, and collects what the engine received and what was logged.

import { pino } from 'pino'
import { startApp, type App } from '../../src/app.ts'
import { type Config, defaultConfig } from '../../src/config.ts'
import { endpoints } from '../../src/endpoint/endpoints.ts'
import { type Fault, type FaultRequest, type RecordedRequest, type Reply as Scripted, type ReplyRequest, type Simulator, simulatorModel, type SimulatorOptions, startSimulator } from '../../src/simulator/simulator.ts'
import { type Conversation, conversation, type ConversationOptions } from './conversation.ts'
import { spokenChat } from './endpoints/chat.ts'
import { parts, type ChatBody, type Said, type Spoken } from './endpoints/spoken.ts'
import { begin, collect, send, sleep, type Reply } from './http.ts'

export type { ChatBody } from './endpoints/spoken.ts'

export interface LogLine {
  readonly level: number
  readonly msg: string
  readonly [field: string]: any
}

export type ConfigOverrides = { readonly [Section in keyof Config]?: Config[Section] extends object ? Partial<Config[Section]> : Config[Section] }

export interface WarmforkOptions {
  /** Where requests go, and how they are written; chat by default. */
  readonly spoken?: Spoken | undefined
  readonly engine?: SimulatorOptions
  readonly config?: ConfigOverrides
  /** Puts something between warmfork and the engine. @returns the URL that warmfork is to use */
  readonly between?: (engineUrl: string) => Promise<string>
}

export interface Sending {
  /** Name, value, … behind the content type. */
  readonly headers?: readonly string[]
  readonly target?: string
}

export interface Warmfork {
  readonly spoken: Spoken
  readonly app: App
  readonly engine: Simulator
  readonly port: number
  /** Everything that was logged, at level trace. */
  readonly logged: LogLine[]
  /** What the engine says and how it fails, from now on; a test sets and deletes them. */
  readonly script: { reply?: ((request: ReplyRequest) => Scripted | Promise<Scripted>) | undefined, fault?: ((request: FaultRequest) => Fault | undefined) | undefined }
  /** The bytes of a request. */
  write(body: ChatBody): Buffer
  /** A request that the engine got, as chat. */
  asChat(body: Buffer): ChatBody
  /** Sends a request: one that is described, or these bytes. */
  chat(body: object | string | Buffer, sending?: Sending): Promise<ChatReply>
  /** The same, up to the reply's head. */
  begin(body: object | string | Buffer, sending?: Sending): ReturnType<typeof begin>
  /** Sends a request straight to the engine. */
  engineAlone(body: object | string | Buffer, sending?: Sending): Promise<ChatReply>
  /** Sends a main request and asserts that it went well. */
  main(session: Session, sending?: Sending): Promise<ChatReply>
  /** The receipt line of a reply. */
  receipt(reply: Reply): Promise<LogLine>
  /** The outcome line of a reply. */
  outcome(reply: Reply): Promise<LogLine>
  /** Waits for a log line. */
  line(wanted: (line: LogLine) => boolean): Promise<LogLine>
  /** Notes where recordings stand: what follows is told from here on. */
  since(): Since
}

/** What came after a moment. */
export interface Since {
  /** Chats and completions that the engine received, calibrations apart. */
  generations(): RecordedRequest[]
  /** Questions of warmfork's own, as `METHOD /path`, calibrations included. */
  questions(): string[]
  /** Warnings and errors. */
  warnings(): LogLine[]
}

/** A reply as a client of the endpoint reads it. */
export interface ChatReply extends Reply, Said {
  readonly text: string
  /** The x-warmfork- headers, without the prefix and without the receipt's id. */
  readonly warmfork: Record<string, string>
  /** The JSON of a whole reply, or of every event of a stream but the end mark. */
  readonly parts: any[]
}

/** Starts engine and warmfork; the test's teardown ends both. */
export async function startWarmfork(t: { teardown(handler: () => Promise<void>): unknown }, options: WarmforkOptions = {}): Promise<Warmfork> {
  const { spoken = spokenChat } = options
  const script: Warmfork['script'] = {}
  const engine = await startSimulator({
    record: true,
    reply: (request) => script.reply?.(request) ?? {},
    fault: (request) => script.fault?.(request),
    ...spoken.engine,
    ...options.engine,
  })
  const logged: LogLine[] = []
  const url = await (options.between?.(engine.url) ?? engine.url)
  const app = await startApp(configured(url, options.config), pino({ level: 'trace' }, { write: (line: string) => void logged.push(JSON.parse(line)) }))
  t.teardown(async () => {
    await app.close(0)
    await engine.close()
  })
  const port = Number(new URL(app.url).port)
  // Every start asks this once, or says that it could not; what is counted in a test begins behind it.
  for (const deadline = Date.now() + 1_000; Date.now() < deadline && logged.length < 2 && !engine.requests.some(({ target }) => target === '/health');) await sleep(1)
  engine.requests.length = 0

  const write = (body: object | string | Buffer): Buffer => toBytes(typeof body === 'string' || Buffer.isBuffer(body) ? body : spoken.write(body as ChatBody))
  const sent = (body: object | string | Buffer, { headers = [], target = spoken.endpoint.path }: Sending = {}) =>
    ({ target, headers: ['content-type', 'application/json', ...headers], body: write(body) })
  const chat = async (to: number, body: object | string | Buffer, sending?: Sending): Promise<ChatReply> => chatReply(await send(to, sent(body, sending)), spoken)
  const line = async (wanted: (line: LogLine) => boolean): Promise<LogLine> => {
    for (const deadline = Date.now() + 5_000; Date.now() < deadline; await sleep(5)) {
      const found = logged.find(wanted)
      if (found) return found
    }
    throw new Error('the line was not logged')
  }
  const lineOf = (msg: string, reply: Reply): Promise<LogLine> => {
    const id = reply.header('x-warmfork-receipt')
    if (id === undefined) throw new Error(`the reply has no receipt: ${reply.status} ${reply.body.toString().slice(0, 300)}`)
    return line((entry) => entry.msg === msg && entry['receipt'] === id)
  }

  return {
    spoken, app, engine, port, logged, script, line, write,
    asChat(body) {
      const chat = JSON.parse(spoken.endpoint.read(body)!.chat.body.toString('utf8')) as ChatBody
      return { ...chat, messages: chat.messages.map((message) => (spoken.dropsEmptyTexts && message.role === 'assistant' ? { ...message, content: message.content ?? '' } : message)) }
    },
    chat: (body, sending) => chat(port, body, sending),
    begin: (body, sending) => begin(port, sent(body, sending)),
    engineAlone: (body, sending) => chat(engine.port, body, sending),
    async main(session, sending) {
      const reply = await chat(port, session.main, sending)
      if (reply.status !== 200 || !reply.whole) throw new Error(`the main request failed: ${reply.status} ${reply.body}`)
      return reply
    },
    receipt: (reply) => lineOf('receipt', reply),
    outcome: (reply) => lineOf('outcome', reply),
    since() {
      const request = engine.requests.length
      const entry = logged.length
      return {
        generations: () => engine.requests.slice(request).filter(isGeneration),
        questions: () => engine.requests.slice(request).filter((each) => !isGeneration(each)).map(({ method, target }) => `${method} ${target}`),
        warnings: () => logged.slice(entry).filter(({ level }) => level >= 40),
      }
    },
  }
}

/** The default configuration with free ports, an upstream and changes. */
export function configured(upstream: string, overrides: ConfigOverrides = {}): Config {
  const base: Config = {
    ...defaultConfig,
    upstream: { ...defaultConfig.upstream, url: upstream },
    server: { ...defaultConfig.server, port: 0 },
    admin: { ...defaultConfig.admin, port: 0 },
  }
  const sections = Object.entries(overrides).map(([name, value]) =>
    [name, typeof value === 'object' ? { ...base[name as keyof Config] as object, ...value } : value] as const)
  return { ...base, ...Object.fromEntries(sections) }
}

/** A body as it goes over the wire. */
export function toBytes(body: object | string | Buffer): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}

/** Reads a reply as a client does. */
export function chatReply(reply: Reply, spoken: Spoken = spokenChat): ChatReply {
  const text = reply.body.toString('utf8')
  const data = (reply.header('content-type') ?? '').startsWith('text/event-stream') ? eventData(text) : [text]
  const warmfork = reply.rawHeaders.flatMap((name, i) => i % 2 === 0 && /^x-warmfork-/i.test(name) ? [[name.slice(11).toLowerCase(), reply.rawHeaders[i + 1]!] as const] : [])
  return {
    ...reply,
    text,
    parts: parts(data),
    warmfork: Object.fromEntries(warmfork.filter(([name]) => name !== 'receipt')),
    ...spoken.read(data),
  }
}

/** The data of every event that has any; every line that vLLM writes is one. */
export function eventData(text: string): string[] {
  return text.split('\n\n').flatMap((event) => event.split('\n').filter((line) => line.startsWith('data: ')).map((line) => line.slice(6)))
}

/** Continues a reply whose head has come. */
export async function collectChat(response: Parameters<typeof collect>[0], spoken?: Spoken): Promise<ChatReply> {
  return chatReply(await collect(response), spoken)
}

/** A reply without what differs from one generation to the next: ids, times, and how much was cached. */
export function sameForAll(reply: Pick<Reply, 'body'>): string {
  return reply.body.toString('utf8')
    .replace(/"id":"(chatcmpl|cmpl)-[^"]*"/g, '"id":"$1"').replace(/"id":"chatcmpl-tool-[^"]*"/g, '"id":"call"')
    .replace(/"(id|item_id|call_id)":"(resp|rs|msg|fc|ctc|chatcmpl-tool)[_-][^"]*"/g, '"$1":"$2"')
    .replace(/"created(_at)?":\d+/g, '"created$1":0')
    .replace(/"(cached_tokens|created_cache_tokens|cache_write_tokens)":\d+/g, '"$1":0')
    .replace(/"signature":"\w*"/g, '"signature":""')
    .replace(/"input_tokens":(\d+),"output_tokens":(\d+)((?:,"cache_\w+_input_tokens":\d+)*)/g, (_, fresh, output, apart) =>
      `"prompt":${[fresh, ...apart.matchAll(/\d+/g)].reduce((sum, count) => sum + Number(count), 0)},"output":${output}`)
}

/** Whether the engine was asked to generate for a client: calibrations are questions of warmfork's own. */
function isGeneration({ method, target, body }: RecordedRequest): boolean {
  return method === 'POST' && [...endpoints.map(({ path }) => path), '/v1/completions'].includes(target.split('?')[0]!) && !isCalibration(body)
}

export function isCalibration(body: Buffer | string): boolean {
  return /"max(_output)?_tokens":1[,}]/.test(body.toString()) && (body.includes('Look it up.') || body.includes('"cache_salt":"warmfork-calibration-'))
}

/** Whether a body that the engine received is a fork: the frame of its directive, or token ids. */
export function isFork(body: Buffer | string): boolean {
  return body.includes('The conversation above is the material') || body.includes('"skip_special_tokens":false,"prompt":[') ||
    body.includes('"skip_special_tokens":false,"stream_options":{"include_usage":true},"prompt":[')
}

/** Whether a body, as a script sees it, asks for a summary, by a fork or by the agent's own request. */
export function asksForSummary({ body }: ReplyRequest): boolean {
  return JSON.stringify((body.messages ?? body.input)?.at(-1) ?? '').includes(instructionMarker)
}

/** Answers forks with one reply and everything else with another. */
export function whenForked(forked: Scripted, otherwise: Scripted = {}): (request: ReplyRequest) => Scripted {
  return ({ endpoint, body }) => endpoint === 'completions' || isFork(JSON.stringify(body)) ? forked : otherwise
}

export interface Session {
  readonly main: ChatBody
  readonly summary: ChatBody
}

export const instructionMarker = 'Provide a detailed prompt for continuing'
export const summarySystem = 'You are a helpful AI assistant tasked with summarizing conversations.'
export const summaryInstruction = `${instructionMarker} our conversation above. Say what was done, what is open and which files matter.`

let sessions = 0

/**
 * A session in opencode 1.2's shape: every message as it was, another system text, no tools, two trailing user messages.
 * No two sessions of a process are alike.
 */
export function opencodeSession(options: Partial<ConversationOptions> = {}, of: Partial<Conversation> = {}): Session {
  const built = conversation({ seed: `s${++sessions}`, groups: 6, outputTokens: 300, ...options })
  const { messages, tools } = { ...built, ...of }
  return {
    main: { model: simulatorModel, messages, tools },
    summary: {
      model: simulatorModel,
      messages: [
        { role: 'system', content: summarySystem },
        ...messages.slice(1),
        { role: 'assistant', content: 'All of it is read.' },
        { role: 'user', content: 'What did we do so far?' },
        { role: 'user', content: summaryInstruction },
      ],
      max_tokens: 1000,
    },
  }
}

/** The same request with other members. */
export function withMembers(body: ChatBody, members: object): ChatBody {
  return { ...body, ...members }
}

export const streamed = { stream: true, stream_options: { include_usage: true } }
