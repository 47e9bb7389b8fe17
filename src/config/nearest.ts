// Finds the name that somebody probably meant.

/**
 * The candidate that is nearest to a mistyped name, case, hyphens and underscores apart.
 * @returns null where none is near enough to be offered
 */
export function nearest(name: string, candidates: readonly string[]): string | null {
  // A name that was only begun: evidence.ttl for evidence.ttl_s.
  const begun = candidates.find((candidate) => name.length > 2 && plain(candidate).startsWith(plain(name)))
  if (begun !== undefined) return begun

  let best: string | null = null
  let bestDistance = Math.max(2, Math.floor(name.length / 3)) + 1
  for (const candidate of candidates) {
    const distance = editDistance(plain(name), plain(candidate))
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance]
  }
  return best
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[-_]/g, '')
}

/** Fewest insertions, deletions and replacements of one character that turn `a` into `b`. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[b.length]!
}
