// Websockets (vLLM's /v1/realtime) by the rules of any request.

import { createHash } from 'node:crypto'
import type { Socket } from 'node:net'
import { open, sleep } from '../../helpers/http.ts'
import { type EngineRequest, reply, type RawEngine } from '../../helpers/raw-engine.ts'
import { must, type Row, type Stage } from '../row.ts'

function accepts({ socket, header }: EngineRequest): void {
  const accept = createHash('sha1').update(`${header('sec-websocket-key')}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nX-Kept: yes\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`)
}

const handshake =
  'GET /v1/realtime?model=m%20x HTTP/1.1\r\nHost: proxy.test\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nAuthorization: Bearer k\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'

/** A frame with a binary message; a client's is masked. */
function frame(data: Buffer, masked: boolean): Buffer {
  const mask = masked ? 0x80 : 0
  const length = data.length < 126 ? Buffer.of(mask | data.length) : Buffer.from([mask | 127, ...Array(8).fill(0)])
  if (data.length >= 126) length.writeBigUInt64BE(BigInt(data.length), 1)
  // A mask of zeros leaves the bytes as they are.
  return Buffer.concat([Buffer.of(0x82), length, masked ? Buffer.alloc(4) : Buffer.alloc(0), data])
}

/** Unmasked message bytes at the end of what arrived, whatever mask a proxy that speaks websocket itself has put on them. */
function carries(received: Buffer, data: Buffer, masked: boolean): boolean {
  if (received.length < data.length) return false
  const tail = received.subarray(received.length - data.length)
  if (!masked) return tail.equals(data)
  const mask = received.subarray(received.length - data.length - 4, received.length - data.length)
  return tail.every((byte, i) => (byte ^ mask[i % 4]!) === data[i])
}

/** A frame that closes; both sides answer it, as a proxy that speaks websocket itself waits for that. */
const closing = Buffer.of(0x88, 0)

async function opened(stage: Stage): Promise<{ client: Socket, engine: RawEngine, request: EngineRequest, head: string }> {
  const { engine, port } = await stage.before(accepts)
  const client = await open(port)
  const first = new Promise<Buffer>((resolve) => client.once('data', resolve).once('close', () => resolve(Buffer.alloc(0))))
  client.write(handshake)
  const request = await Promise.race([engine.next(), sleep(2_000)])
  must(request !== undefined, 'the handshake does not arrive')
  for (const socket of [client, request.socket]) socket.on('data', (part) => void (part[0] === closing[0] && socket.end(closing)))
  return { client, engine, request, head: (await first).toString('latin1') }
}

async function arrives(socket: Socket, write: () => void, data: Buffer, masked: boolean): Promise<boolean> {
  let received = Buffer.alloc(0)
  const onData = (part: Buffer) => { received = Buffer.concat([received, part]) }
  socket.on('data', onData)
  write()
  for (let i = 0; i < 300 && !carries(received, data, masked); i++) await sleep(10)
  socket.off('data', onData)
  return carries(received, data, masked)
}

export const websocket: readonly Row[] = [
  {
    name: 'the handshake of a websocket passes, target and headers as any request’s',
    cases: [29],
    async check(stage) {
      const { request, head } = await opened(stage)
      must(head.startsWith('HTTP/1.1 101 '), head.slice(9, 12) || 'no reply')
      must(request.target === '/v1/realtime?model=m%20x', request.target)
      must(request.header('authorization') === 'Bearer k', 'authorization is gone')
      must(/^x-kept: yes\r$/im.test(head), 'the reply’s headers are gone')
    },
  },
  {
    name: 'messages go both ways, large ones too',
    async check(stage) {
      const { client, request } = await opened(stage)
      for (const data of [Buffer.from('hello'), Buffer.alloc(300_000, 'abcdefg')]) {
        must(await arrives(request.socket, () => client.write(frame(data, true)), data, true), `${data.length} bytes do not reach the engine`)
        must(await arrives(client, () => request.socket.write(frame(data, false)), data, false), `${data.length} bytes do not reach the client`)
      }
    },
  },
  {
    name: 'a websocket client that goes takes the engine’s connection with it',
    cases: [14],
    async check(stage) {
      for (const how of ['destroy', 'end', 'resetAndDestroy'] as const) {
        const { client, request } = await opened(stage)
        request.socket.resume()
        client[how]()
        must((await Promise.race([request.closed, sleep(2_000)])) !== undefined, `it stays open after ${how}`)
      }
    },
  },
  {
    name: 'a websocket client that goes during the handshake takes the engine’s connection with it',
    cases: [14],
    async check(stage) {
      const { engine, port } = await stage.before()
      const client = await open(port)
      client.write(handshake)
      const request = await Promise.race([engine.next(), sleep(2_000)])
      must(request !== undefined, 'the handshake does not arrive')
      client.destroy()
      must((await Promise.race([request.closed, sleep(2_000)])) !== undefined, 'it stays open')
    },
  },
  {
    name: 'an engine that dies in a websocket looks dead to the client',
    cases: [9],
    async check(stage) {
      for (const how of ['destroy', 'resetAndDestroy'] as const) {
        const { client, request } = await opened(stage)
        const closed = new Promise((resolve) => client.once('close', () => resolve(true)))
        request.socket[how]()
        client.resume()
        must((await Promise.race([closed, sleep(2_000)])) === true, 'it waits on')
      }
    },
  },
  {
    name: 'a refused handshake passes as it is',
    cases: [42],
    async check(stage) {
      const { port } = await stage.before(({ socket }) => socket.write(reply('403 Forbidden', ['x-why', 'no', 'connection', 'close'], 'no!!')))
      const client = await open(port)
      let text = ''
      client.on('data', (part) => { text += part.toString('latin1') })
      client.write(handshake)
      for (let i = 0; i < 200 && !client.destroyed && !text.includes('no!!'); i++) await sleep(10)
      must(text.startsWith('HTTP/1.1 403 ') && /^x-why: no\r$/m.test(text), text === '' ? 'no answer' : `answered with ${text.slice(9, 12)}`)
      must(text.includes('no!!'), 'without its body')
    },
  },
]
