// nginx as a peer of the benchmark, set up as in the relay's table, with what it costs its one worker.

import { readFileSync } from 'node:fs'
import { nginxVersion, startNginx } from '../../peers/nginx.ts'

export interface MeasuredNginx {
  readonly url: string
  /** Process id of its one worker. */
  readonly worker: number
  /** CPU time of its worker, in µs. */
  cpu(): number
  close(): Promise<void>
}

/** A load's connections last, and its bodies are held in memory, as by the others. */
const forLoad = 'keepalive_requests 1000000; client_body_buffer_size 2m;'

/** @returns null where no nginx is installed */
export async function startMeasuredNginx(engine: string): Promise<MeasuredNginx | null> {
  if (nginxVersion() === null) return null
  const { port, pid, close } = await startNginx(engine, forLoad)
  const worker = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0])
  return {
    url: `http://127.0.0.1:${port}`,
    worker,
    cpu: () => Number(readFileSync(`/proc/${worker}/schedstat`, 'utf8').split(' ')[0]) / 1000,
    close,
  }
}
