// @fastify/http-proxy as it is set up before vLLM: no limits of time and of connections, large bodies, websockets.

import httpProxy from '@fastify/http-proxy'
import Fastify, { type FastifyRequest } from 'fastify'
import type { IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Running } from './row.ts'

const without = (headers: IncomingHttpHeaders, names: readonly string[]) => Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)))

export async function startHttpProxy(origin: string): Promise<Running> {
  const app = Fastify({
    bodyLimit: 256 * 1024 * 1024,
    forceCloseConnections: true,
    http: { maxHeaderSize: 65_536 },
    keepAliveTimeout: 75_000,
    // Of its router, which would refuse longer ones.
    routerOptions: { maxParamLength: 65_536 },
  })
  // The types lack connections: null, which undici reads as no limit.
  app.register(httpProxy, {
    upstream: origin,
    websocket: true,
    // By itself it passes cookies only.
    wsClientOptions: { rewriteRequestHeaders: (headers: object, { headers: { authorization } }: FastifyRequest) => ({ ...headers, ...(authorization && { authorization }) }) },
    replyOptions: {
      rewriteRequestHeaders: (_request: FastifyRequest, headers: IncomingHttpHeaders) => without(headers, ['expect', 'te', 'proxy-authorization', 'proxy-connection']),
      rewriteHeaders: (headers: IncomingHttpHeaders) => without(headers, ['proxy-authenticate', 'proxy-connection']),
    },
    undici: { connections: null, headersTimeout: 0, bodyTimeout: 0, maxHeaderSize: 65_536 },
  } as never)
  await app.listen({ host: '127.0.0.1', port: 0 })
  return { port: (app.server.address() as AddressInfo).port, close: () => app.close() }
}
