// Where evidence is kept. Nothing outside a store may know which one it is.

import type { Evidence } from './evidence.ts'

/** Where lines are kept apart; those without an id together. */
export type LineOwner = Pick<Evidence, 'tenant' | 'endpoint' | 'conversation'>

/** What is left of evidence that outlived its time: enough to say so. */
export interface ExpiredEvidence {
  readonly conversation: string | null
  /** Hash of the first message behind the system text; null where it could not be read. */
  readonly opening: string | null
}

export interface Candidates {
  /** The tenant's lines, the most recently used first. */
  readonly live: readonly Evidence[]
  readonly expired: readonly ExpiredEvidence[]
}

export interface EvidenceStore {
  candidates(tenant: string): Candidates
  /**
   * The most recently used lines of one conversation, or of those without an id: for every main request, so it must not
   * take longer the more is kept.
   * @param limit how many at most
   */
  lines(owner: LineOwner, limit: number): readonly Evidence[]
  /** Whether an entry is still there: neither superseded nor out of room. */
  has(id: string): boolean
  /**
   * Keeps evidence.
   * @param supersedes id of the entry of the same line that it grew from: it takes its place
   */
  put(evidence: Evidence, supersedes?: string): void
  /**
   * Keeps what was learned of an entry (ids, a failed fork), unless the entry has gone meanwhile. What was learned
   * already stays: two plans of one entry may run at once.
   */
  amend(evidence: Evidence): void
  /** For metrics. */
  size(): { readonly entries: number, readonly bytes: number }
}
