// Searches in long texts that look only as far as they are told.

/** indexOf that gives up behind a limit. @param limit where the text sought must have started */
export function indexWithin(text: string, sought: string, from: number, limit: number): number {
  if (limit < from) return -1
  if (limit >= text.length) return text.indexOf(sought, from)
  const found = text.slice(from, limit + sought.length).indexOf(sought)
  return found < 0 ? -1 : from + found
}

/** How many characters two texts share from two positions on. */
export function sharedLength(text: string, at: number, other: string, from = 0): number {
  let shared = 0
  for (let step = 1 << 12; step >= 1; step >>= 2) {
    while (from + shared + step <= other.length && text.startsWith(other.slice(from + shared, from + shared + step), at + shared)) shared += step
  }
  return shared
}

/** How many characters in front of a position are the end of another text. */
export function sharedEnd(text: string, end: number, other: string): number {
  let shared = 0
  for (let step = 1 << 12; step >= 1; step >>= 2) {
    while (shared + step <= other.length && shared + step <= end &&
      text.startsWith(other.slice(other.length - shared - step, other.length - shared), end - shared - step)) shared += step
  }
  return shared
}

/** Whether a position has a letter or a digit on both sides. The n of an escaped line end is none. */
export function isInsideWord(text: string, at: number): boolean {
  return isWordCharacter(text[at]) && isWordCharacter(text[at - 1]) && !/\\[nrt]$/.test(text.slice(Math.max(0, at - 2), at))
}

function isWordCharacter(character: string | undefined): boolean {
  return character !== undefined && /[\p{L}\p{N}_]/u.test(character)
}

/** The beginning of a text, no pair of surrogates cut in two. */
export function beginningOf(text: string, length: number): string {
  const unit = text.charCodeAt(length - 1)
  return text.slice(0, unit >= 0xd800 && unit < 0xdc00 ? length - 1 : length)
}
