// Chat bodies as an agent sends them: each request is the one before and one more tool call with its output.

import { codingTools } from '../../helpers/conversation.ts'

export interface Chat {
  /** Value of x-conversation-id. */
  readonly id: string
  /** The next request's body; at a quarter above the wanted size the conversation begins anew. */
  next(stream: boolean): Buffer
}

const line = 'the session store drops the oldest entry before it is flushed, unless a lock is held; 0x1f "quoted" \\ path/to/file.ts\n'

/**
 * @param bytes about how large its bodies are: three quarters of it at first, five quarters at last
 */
export function growingChat(id: string, bytes: number): Chat {
  const tools = bytes < 4096 ? codingTools.slice(0, 1) : codingTools
  const front = [
    { role: 'system', content: 'You are a coding agent. Work in small steps and check each of them.' },
    { role: 'user', content: `Find out why conversation ${id} fails, and repair it.` },
  ]
  const open = `{"model":"bench","tools":${JSON.stringify(tools)},"messages":[${front.map((message) => JSON.stringify(message)).join(',')}`
  const step = Math.max(bytes / 50, 120)
  const groups: string[] = []
  const starts: number[] = []
  for (let at = open.length, n = 0; at < 1.25 * bytes; n += 1) {
    const call = { id: `call_${n}`, type: 'function', function: { name: 'read_file', arguments: `{"path":"src/${n}.ts"}` } }
    const output = line.repeat(Math.ceil(step / line.length)).slice(0, Math.max(20, step - 220))
    const group = `,${JSON.stringify({ role: 'assistant', content: null, tool_calls: [call] })},${JSON.stringify({ role: 'tool', tool_call_id: call.id, content: output })}`
    at += group.length
    groups.push(group)
    starts.push(at)
  }
  const text = Buffer.from(open + groups.join(''))
  const first = Math.max(0, starts.findIndex((end) => end > 0.75 * bytes))
  let turn = first
  return {
    id,
    next(stream) {
      const end = starts[turn]!
      turn = turn + 1 < starts.length ? turn + 1 : first
      return Buffer.concat([text.subarray(0, end), Buffer.from(`],"max_tokens":4096,"temperature":0.2,"stream":${stream}}`)])
    },
  }
}
