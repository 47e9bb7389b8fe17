// Every error that warmfork itself answers with: a stable code, a status and a sentence that says what to do.
// A message holds no address, path, prompt or stack, and no phrase that agents take for a context overflow.
// Codes of a refused fork (`summary_*`) and of a summary by id stand in receipt/reasons.ts and summary/verdict.ts.

interface ErrorDefinition {
  readonly status: number
  readonly type: string
  readonly message: string
}

export const errorDefinitions = {
  route_not_allowed: {
    status: 404,
    type: 'invalid_request_error',
    message: 'warmfork does not pass this route. Add it to routes.allow in the configuration if clients need it.',
  },
  body_too_large: {
    status: 413,
    type: 'invalid_request_error',
    message: 'The request body is larger than warmfork accepts. Raise limits.body_bytes in the configuration.',
  },
  malformed_request: {
    status: 400,
    type: 'invalid_request_error',
    message: 'What arrived is not valid HTTP/1.1. Check the client or the proxy in front of warmfork.',
  },
  expectation_failed: {
    status: 417,
    type: 'invalid_request_error',
    message: 'warmfork meets no expectation but 100-continue. Send the request without the header expect.',
  },
  request_timeout: {
    status: 408,
    type: 'invalid_request_error',
    message: 'The request head did not arrive in time. Send the request again.',
  },
  headers_too_large: {
    status: 431,
    type: 'invalid_request_error',
    message: 'The request headers are larger than warmfork accepts. Raise limits.header_bytes in the configuration.',
  },
  upstream_unreachable: {
    status: 502,
    type: 'upstream_error',
    message: 'The engine behind warmfork could not be reached. Check that it runs and that upstream.url is right.',
  },
  upstream_reset: {
    status: 502,
    type: 'upstream_error',
    message: 'The engine behind warmfork closed the connection before it answered. Check its log, then send the request again.',
  },
  out_of_descriptors: {
    status: 503,
    type: 'server_error',
    message: 'warmfork may open no more connections right now. Send the request again; raise its limit of open files (ulimit -n) if this comes often.',
  },
  too_many_connections: {
    status: 503,
    type: 'server_error',
    message: 'warmfork serves as many connections as it may right now. Send the request again; raise limits.connections in the configuration if this comes often.',
  },
  upstream_timeout: {
    status: 504,
    type: 'upstream_error',
    message: 'The engine behind warmfork did not accept the connection in time. Check its load, or raise upstream.connect_timeout_ms.',
  },
} as const satisfies Record<string, ErrorDefinition>

export type ErrorCode = keyof typeof errorDefinitions

/** How an error of ours looks. Code and type are names of ours, the message is one sentence that says what to do. */
export interface ErrorForm {
  body(code: string, message: string, type: string): Buffer
}

/** OpenAI's form, and vLLM's on all routes but one. */
export const openAiErrors: ErrorForm = {
  body: (code, message, type) => Buffer.from(JSON.stringify({ error: { message, type, param: null, code } })),
}
