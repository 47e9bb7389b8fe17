// Replaces every word of a captured text by a made-up one: the same word always by the same, a cut word by the
// beginning of the same, so that whatever was equal stays equal and transcripts still align. Labels, words that talk of
// summaries, and an agent's short markers stay.

import { createHash } from 'node:crypto'

/** Words that label segments of transcripts and marks of cuts, and those that an instruction is known by. */
const kept = new Set(('user human assistant ai bot model tool tools result results response output call calls function name id message messages role ' +
  'content type args arguments input text thinking reasoning truncated more characters chars omitted lines tokens system event action observation ' +
  'xml json read').split(' '))
const telling = /^(summar\p{L}*|compact\p{L}*|condens\p{L}*|dialog(?:ue)?s?|transcript|history|checkpoint|titles?|conversations?|previous|prior|snapshot)$/iu

const consonants = 'bdfgklmnprstvz'
const vowels = 'aeiou'
const letters = new Map<string, string>()

/** A letter that depends on the word's beginning up to here, and on nothing else. */
function letterFor(beginning: string): string {
  const known = letters.get(beginning)
  if (known !== undefined) return known
  const from = beginning.length % 2 === 1 ? consonants : vowels
  const letter = from[createHash('sha256').update(beginning).digest()[0]! % from.length]!
  letters.set(beginning, letter)
  return letter
}

function replaced(word: string): string {
  const lower = word.toLowerCase()
  if (kept.has(lower) || telling.test(word)) return word
  return Array.from(word, (character, i) => {
    const letter = letterFor(lower.slice(0, i + 1))
    return character === lower[i] ? letter : letter.toUpperCase()
  }).join('')
}

/** @param markers short stretches that stay as they are */
export function rewrite(text: string, markers: readonly string[]): string {
  const places = markers.flatMap((marker) => occurrences(text, marker)).sort((a, b) => a[0] - b[0])
  let out = ''
  let at = 0
  for (const [start, end] of places) {
    if (start < at) continue
    out += withoutWords(text.slice(at, start)) + text.slice(start, end)
    at = end
  }
  return out + withoutWords(text.slice(at))
}

/** Escapes of JSON inside a text are no letters of a word. */
function withoutWords(text: string): string {
  return text.replace(/\\+[nrtbf"]|[\p{L}\p{M}]+/gu, (found) => (found.startsWith('\\') ? found : replaced(found)))
}

function occurrences(text: string, marker: string): [number, number][] {
  const places: [number, number][] = []
  for (let at = text.indexOf(marker); at >= 0; at = text.indexOf(marker, at + marker.length)) places.push([at, at + marker.length])
  return places
}
