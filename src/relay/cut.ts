// How a reply ends that lacks its rest: so that no client can take it for whole.

import type { ServerResponse } from 'node:http'

/**
 * Ends a started reply; what is written still arrives, its end does not.
 * @param hasLength whether the client knows how many bytes are missing
 */
export function cut(response: ServerResponse, hasLength: boolean): void {
  // Without length or chunks (HTTP/1.0) an orderly close is the end of the body: only a reset tells.
  if (hasLength || response.chunkedEncoding) response.socket?.destroySoon()
  else response.socket?.resetAndDestroy()
}
