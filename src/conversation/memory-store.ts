// Evidence in memory: bounded by bytes, least recently used out first, each entry for a limited time.

import { evidenceBytes, evidenceRequest, type Evidence } from './evidence.ts'
import { opening } from './content.ts'
import { Recency, type Use } from './recency.ts'
import type { Candidates, EvidenceStore, ExpiredEvidence, LineOwner } from './store.ts'

interface Tombstone extends ExpiredEvidence {
  readonly tenant: string
}

interface Entry {
  bytes: number
  /** Its place among all evidence, among the tenant's, and among its conversation's. */
  readonly use: Use<Evidence>
  readonly ofTenant: Membership
  readonly ofConversation: Membership
}

/** A place in an order that an index holds under a key. */
interface Membership {
  readonly key: string
  readonly order: Recency<Evidence>
  readonly use: Use<Evidence>
}

const maxTombstones = 4096
/** About what a tombstone takes in memory. */
const tombstoneBytes = 256

export class MemoryStore implements EvidenceStore {
  readonly #maxBytes: number
  readonly #ttlMs: number
  readonly #now: () => number
  readonly #conversationOf: (evidence: Evidence) => string | null
  readonly #entries = new Map<string, Entry>()
  /** The oldest is the next to go. */
  readonly #all = new Recency<Evidence>()
  readonly #byTenant = new Map<string, Recency<Evidence>>()
  /** By tenant, endpoint and conversation. */
  readonly #lines = new Map<string, Recency<Evidence>>()
  readonly #tombstones: Tombstone[] = []
  #bytes = 0

  /**
   * @param options.maxBytes upper bound of everything kept, in bytes
   * @param options.ttlMs how long after its completion evidence counts, in ms
   * @param options.now ms since the epoch
   * @param options.conversationOf hash of the id that what has expired is remembered by; by default that of its headers
   */
  constructor(options: { maxBytes: number, ttlMs: number, now?: () => number, conversationOf?: (evidence: Evidence) => string | null }) {
    this.#maxBytes = options.maxBytes
    this.#ttlMs = options.ttlMs
    this.#now = options.now ?? Date.now
    this.#conversationOf = options.conversationOf ?? (({ conversation }) => conversation)
  }

  candidates(tenant: string): Candidates {
    this.#expire(true)
    const live = this.#byTenant.get(tenant)?.newest() ?? []
    return { live, expired: this.#tombstones.filter((tombstone) => tombstone.tenant === tenant) }
  }

  lines(owner: LineOwner, limit: number): readonly Evidence[] {
    return this.#lines.get(lineKey(owner))?.newest(limit) ?? []
  }

  has(id: string): boolean {
    return this.#entries.has(id)
  }

  put(evidence: Evidence, supersedes: string = evidence.id): void {
    this.#expire(false)
    const bytes = evidenceBytes(evidence)
    const entry = this.#entries.get(supersedes)
    const goesOn = entry !== undefined && isSameLine(entry.use.value, evidence)
    if (!goesOn || supersedes !== evidence.id) this.#remove(evidence.id)
    if (bytes > this.#maxBytes) {
      if (goesOn) this.#remove(supersedes)
    } else if (goesOn) {
      this.#renew(entry, evidence, bytes)
    } else {
      this.#add(evidence, bytes)
    }
    this.#evict()
  }

  amend(evidence: Evidence): void {
    const kept = this.#entries.get(evidence.id)?.use.value
    if (kept) this.put({ ...kept, ids: evidence.ids ?? kept.ids, forkFailed: kept.forkFailed || evidence.forkFailed })
  }

  size(): { entries: number, bytes: number } {
    return { entries: this.#entries.size, bytes: this.#bytes }
  }

  #evict(): void {
    while (this.#bytes > this.#maxBytes && this.#tombstones.length > 0) this.#dropTombstone()
    while (this.#bytes > this.#maxBytes && this.#all.oldest) this.#remove(this.#all.oldest.value.id)
  }

  /** @param all also behind entries that still count: what was learned of an entry made it younger in use than it is */
  #expire(all: boolean): void {
    const before = this.#now() - this.#ttlMs
    for (let use = this.#all.oldest; use; use = use.newer) {
      const evidence = use.value
      if (evidence.completedAt > before) {
        if (all) continue
        break
      }
      this.#remove(evidence.id)
      const request = evidenceRequest(evidence)
      this.#tombstones.push({ tenant: evidence.tenant, conversation: this.#conversationOf(evidence), opening: request && opening(request.chat) })
      this.#bytes += tombstoneBytes
    }
    while (this.#tombstones.length > maxTombstones) this.#dropTombstone()
  }

  #dropTombstone(): void {
    this.#tombstones.shift()
    this.#bytes -= tombstoneBytes
  }

  #add(evidence: Evidence, bytes: number): void {
    this.#entries.set(evidence.id, {
      bytes,
      use: this.#all.add(evidence),
      ofTenant: join(this.#byTenant, evidence.tenant, evidence),
      ofConversation: join(this.#lines, lineKey(evidence), evidence),
    })
    this.#bytes += bytes
  }

  /** The same line goes on: its places in the orders stay its own. */
  #renew(entry: Entry, evidence: Evidence, bytes: number): void {
    this.#entries.delete(entry.use.value.id)
    this.#entries.set(evidence.id, entry)
    this.#bytes += bytes - entry.bytes
    entry.bytes = bytes
    this.#all.renew(entry.use, evidence)
    entry.ofTenant.order.renew(entry.ofTenant.use, evidence)
    entry.ofConversation.order.renew(entry.ofConversation.use, evidence)
  }

  #remove(id: string): void {
    const entry = this.#entries.get(id)
    if (!entry) return
    this.#entries.delete(id)
    this.#bytes -= entry.bytes
    this.#all.remove(entry.use)
    leave(this.#byTenant, entry.ofTenant)
    leave(this.#lines, entry.ofConversation)
  }
}

function isSameLine(a: LineOwner, b: LineOwner): boolean {
  return a.tenant === b.tenant && a.endpoint === b.endpoint && a.conversation === b.conversation
}

function lineKey({ tenant, endpoint, conversation }: LineOwner): string {
  return `${tenant} ${endpoint.name} ${conversation ?? ''}`
}

function join(index: Map<string, Recency<Evidence>>, key: string, evidence: Evidence): Membership {
  let order = index.get(key)
  if (!order) index.set(key, order = new Recency())
  return { key, order, use: order.add(evidence) }
}

function leave(index: Map<string, Recency<Evidence>>, { key, order, use }: Membership): void {
  order.remove(use)
  if (order.isEmpty) index.delete(key)
}
