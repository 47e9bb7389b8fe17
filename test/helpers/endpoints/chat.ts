// /v1/chat/completions, as tests speak to it.

import { chat } from '../../../src/endpoint/chat.ts'
import { parts, type Spoken } from './spoken.ts'

export const spokenChat: Spoken = {
  endpoint: chat,
  lacks: [],
  write: (body) => body,
  read(data) {
    const read = parts(data)
    const choices = read.flatMap((part) => part?.choices ?? []).filter((choice: any) => choice?.index === 0)
    const messages = choices.map((choice: any) => choice.delta ?? choice.message ?? {})
    return {
      content: messages.map(({ content }: any) => content ?? '').join(''),
      thinking: messages.map(({ reasoning }: any) => reasoning ?? '').join(''),
      finish: choices.map((choice: any) => choice.finish_reason).findLast((finish: unknown) => typeof finish === 'string') ?? null,
      done: data.includes('[DONE]'),
      error: read.find((part) => part?.error)?.error ?? null,
    }
  },
  canned(texts) {
    const events = texts.map((content) => ({ choices: [{ index: 0, delta: { content }, finish_reason: null }] }))
    return {
      whole: JSON.stringify({ choices: [{ index: 0, message: { content: texts.join('') }, finish_reason: 'stop' }] }),
      events: [...events, { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }].map((event) => `data: ${JSON.stringify(event)}\n\n`),
      end: 'data: [DONE]\n\n',
    }
  },
  error: (code, message, type = 'summary_error') => ({ error: { message, type, param: null, code } }),
  errorEvent: (code, message) => spokenChat.error(code, message),
}
