// Chat bodies as an agent sends them: each request is the one before and one more tool call with its output.

import { codingTools } from '../../helpers/conversation.ts'

export interface Turn {
  /** Value of x-conversation-id. */
  readonly id: string
  readonly body: Buffer
}

export interface Chat {
  /** The next request; at one and a half of the wanted size another conversation begins. */
  next(stream: boolean): Turn
}

const line = 'the session store drops the oldest entry before it is flushed, unless a lock is held; 0x1f "quoted" \\ path/to/file.ts\n'

/** A conversation of this many bytes is a talk without tools. */
const talkBytes = 4096

/**
 * @param bytes about how large its bodies are: half of it at first, one and a half at last
 */
export function growingChat(name: string, bytes: number): Chat {
  const front = [
    { role: 'system', content: 'You are a coding agent. Work in small steps and check each of them.' },
    { role: 'user', content: `Find out why ${name} fails, and repair it.` },
  ]
  const tools = bytes < talkBytes ? '' : `"tools":${JSON.stringify(codingTools)},`
  const open = `{"model":"bench",${tools}"messages":[${front.map((message) => JSON.stringify(message)).join(',')}`
  const step = Math.max(bytes / 50, 300)
  const groups: string[] = []
  const starts: number[] = []
  for (let at = open.length, n = 0; at < 1.5 * bytes; n += 1) {
    const call = { id: `call_${n}`, type: 'function', function: { name: 'read_file', arguments: `{"path":"src/${n}.ts"}` } }
    const output = line.repeat(Math.ceil(step / line.length)).slice(0, Math.max(20, step - 220))
    const talk = `,{"role":"assistant","content":"Yes."},{"role":"user","content":"Go on."}`
    const group = bytes < talkBytes ? talk : `,${JSON.stringify({ role: 'assistant', content: null, tool_calls: [call] })},${JSON.stringify({ role: 'tool', tool_call_id: call.id, content: output })}`
    at += group.length
    groups.push(group)
    starts.push(at)
  }
  const text = Buffer.from(open + groups.join(''))
  const first = Math.max(0, starts.findIndex((end) => end > 0.5 * bytes))
  let turn = first
  let conversations = 1
  return {
    next(stream) {
      const end = starts[turn]!
      const id = `${name}-${conversations}`
      if (turn + 1 < starts.length) turn += 1
      else [turn, conversations] = [first, conversations + 1]
      return { id, body: Buffer.concat([text.subarray(0, end), Buffer.from(`],"max_tokens":4096,"temperature":0.2,"stream":${stream}}`)]) }
    },
  }
}
