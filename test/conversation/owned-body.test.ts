import t from 'tap'
import { EventEmitter } from 'node:events'
import { Records } from '../../src/conversation/records.ts'
import { MemoryStore } from '../../src/conversation/memory-store.ts'
import { chat } from '../../src/endpoint/chat.ts'
import { Tenants } from '../../src/conversation/tenant.ts'
import type { ClientRequest } from '../../src/relay/types.ts'

t.test('evidence keeps its own bytes in memory and not the buffer that they were read into', async (t) => {
  const store = new MemoryStore({ maxBytes: 1 << 20, ttlMs: 60_000 })
  const tenants = new Tenants([])
  const recorded = new EventEmitter()
  const records = new Records({
    store, tenants, sources: { headers: [], bodyFields: [] }, keepReplies: false,
    onNewLine: (evidence) => recorded.emit('evidence', evidence),
    onFault: (error) => { throw error },
  })
  const read = Buffer.alloc(64 * 1024)
  const length = read.write('{"messages":[{"role":"user","content":"hi"}]}')
  const request = { rawHeaders: [], headers: {}, body: read.subarray(0, length) } as unknown as ClientRequest
  const observer = records.observe(request, records.place(request, chat)!, null)
  observer.head(200, ['content-type', 'application/json'])
  observer.data(Buffer.from('{"choices":[{"index":0,"message":{"content":"x"},"finish_reason":"stop"}]}'))
  const kept = new Promise<{ body: Buffer }>((resolve) => recorded.once('evidence', resolve))
  observer.end('complete')
  const { body } = await kept
  t.ok(body.equals(read.subarray(0, length)))
  t.equal(body.buffer.byteLength, length)
})
