// What one event of a paced stream is, to the byte: the engine writes it, the client expects it.

/** How long a stream's canary is: `canary-` and a hexadecimal number. */
export const canaryPattern = /canary-[0-9a-f]{16}/

/**
 * @param n its number in the stream, from 0
 * @param sentNs when it was written, process.hrtime
 */
export function event(canary: string, n: number, sentNs: string, isLast: boolean): string {
  return `data: {"id":"chatcmpl-${canary}","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" ${n}"},"logprobs":null,"finish_reason":${isLast ? '"stop"' : 'null'},"token_ids":null}],"sent_ns":"${sentNs}"}\n\n`
}

export const endMark = 'data: [DONE]\n\n'
