// Evidence in memory: bounded by bytes, least recently used out first, each entry for a limited time.

import { evidenceBytes, evidenceRequest, type Evidence } from './evidence.ts'
import { opening } from './content.ts'
import type { Candidates, EvidenceStore, ExpiredEvidence, LineOwner } from './store.ts'

interface Tombstone extends ExpiredEvidence {
  readonly tenant: string
}

interface Entry {
  readonly evidence: Evidence
  readonly bytes: number
  /** Its key among the lines. */
  readonly line: string
}

const maxTombstones = 4096
/** About what a tombstone takes in memory. */
const tombstoneBytes = 256

export class MemoryStore implements EvidenceStore {
  readonly #maxBytes: number
  readonly #ttlMs: number
  readonly #now: () => number
  /** In order of use: the first entry is the next to go. */
  readonly #entries = new Map<string, Entry>()
  readonly #byTenant = new Map<string, Set<Entry>>()
  /** By tenant, endpoint and conversation. */
  readonly #lines = new Map<string, Set<Entry>>()
  readonly #tombstones: Tombstone[] = []
  #bytes = 0

  /**
   * @param options.maxBytes upper bound of everything kept, in bytes
   * @param options.ttlMs how long after its completion evidence counts, in ms
   * @param options.now ms since the epoch
   */
  constructor(options: { maxBytes: number, ttlMs: number, now?: () => number }) {
    this.#maxBytes = options.maxBytes
    this.#ttlMs = options.ttlMs
    this.#now = options.now ?? Date.now
  }

  async candidates(tenant: string): Promise<Candidates> {
    this.#expire(true)
    const live = evidenceOf(this.#byTenant.get(tenant))
    return { live, expired: this.#tombstones.filter((tombstone) => tombstone.tenant === tenant) }
  }

  async lines(owner: LineOwner, limit: number): Promise<readonly Evidence[]> {
    return evidenceOf(this.#lines.get(lineKey(owner)), limit)
  }

  async put(evidence: Evidence, supersedes?: string): Promise<void> {
    this.#expire(false)
    this.#remove(evidence.id)
    const bytes = evidenceBytes(evidence)
    // Before the one that it supersedes goes: an index is not made anew for each request.
    if (bytes <= this.#maxBytes) this.#add({ evidence, bytes, line: lineKey(evidence) })
    if (supersedes !== undefined && supersedes !== evidence.id) this.#remove(supersedes)
    this.#evict()
  }

  async amend(evidence: Evidence): Promise<void> {
    const kept = this.#entries.get(evidence.id)?.evidence
    if (kept) await this.put({ ...kept, ids: evidence.ids ?? kept.ids, forkFailed: kept.forkFailed || evidence.forkFailed })
  }

  async drop(tenant: string, id: string): Promise<void> {
    if (this.#entries.get(id)?.evidence.tenant === tenant) this.#remove(id)
  }

  size(): { entries: number, bytes: number } {
    return { entries: this.#entries.size, bytes: this.#bytes }
  }

  #evict(): void {
    while (this.#bytes > this.#maxBytes && this.#tombstones.length > 0) this.#dropTombstone()
    for (const id of this.#entries.keys()) {
      if (this.#bytes <= this.#maxBytes) return
      this.#remove(id)
    }
  }

  /** @param all also behind entries that still count: what was learned of an entry made it younger in use than it is */
  #expire(all: boolean): void {
    const before = this.#now() - this.#ttlMs
    for (const { evidence } of this.#entries.values()) {
      if (evidence.completedAt > before) {
        if (all) continue
        break
      }
      this.#remove(evidence.id)
      const request = evidenceRequest(evidence)
      this.#tombstones.push({ tenant: evidence.tenant, conversation: evidence.conversation, opening: request && opening(request.chat) })
      this.#bytes += tombstoneBytes
    }
    while (this.#tombstones.length > maxTombstones) this.#dropTombstone()
  }

  #dropTombstone(): void {
    this.#tombstones.shift()
    this.#bytes -= tombstoneBytes
  }

  #add(entry: Entry): void {
    this.#entries.set(entry.evidence.id, entry)
    this.#bytes += entry.bytes
    addTo(this.#byTenant, entry.evidence.tenant, entry)
    addTo(this.#lines, entry.line, entry)
  }

  #remove(id: string): void {
    const entry = this.#entries.get(id)
    if (!entry) return
    this.#entries.delete(id)
    this.#bytes -= entry.bytes
    removeFrom(this.#byTenant, entry.evidence.tenant, entry)
    removeFrom(this.#lines, entry.line, entry)
  }
}

function lineKey({ tenant, endpoint, conversation }: LineOwner): string {
  return `${tenant} ${endpoint.name} ${conversation ?? ''}`
}

/** @returns the most recently used first */
function evidenceOf(entries: ReadonlySet<Entry> | undefined, limit = Infinity): Evidence[] {
  if (entries === undefined) return []
  const all = Array.from(entries, ({ evidence }) => evidence).reverse()
  return all.length > limit ? all.slice(0, limit) : all
}

function addTo(index: Map<string, Set<Entry>>, key: string, entry: Entry): void {
  const entries = index.get(key)
  if (entries) entries.add(entry)
  else index.set(key, new Set([entry]))
}

function removeFrom(index: Map<string, Set<Entry>>, key: string, entry: Entry): void {
  const entries = index.get(key)
  if (entries?.delete(entry) && entries.size === 0) index.delete(key)
}
