// Text in columns for a terminal. Colours only where a person sees them.

import { styleText } from 'node:util'

export interface Column {
  readonly align: 'left' | 'right'
  /** In characters; a longer cell pushes what follows. */
  readonly width: number
}

export function left(width: number): Column {
  return { align: 'left', width }
}

export function right(width: number): Column {
  return { align: 'right', width }
}

/** One line: the cells, each in its column. */
export function row(columns: readonly Column[], cells: readonly string[]): string {
  const padded = columns.map(({ align, width }, i) => (align === 'left' ? cells[i]!.padEnd(width) : cells[i]!.padStart(width)))
  return `  ${padded.join('  ')}`.trimEnd()
}

/** Lines with columns as wide as their widest cell, under a heading. */
export function table(heading: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const columns = heading.map((name, i) => left(Math.max(name.length, ...rows.map((cells) => cells[i]!.length))))
  return [dim(row(columns, heading)), ...rows.map((cells) => row(columns, cells))]
}

export function bold(text: string): string {
  return styleText('bold', text, { stream: process.stdout })
}

export function dim(text: string): string {
  return styleText('dim', text, { stream: process.stdout })
}

/** A number of tokens, its thousands apart. */
export function count(tokens: number | null | undefined): string {
  return tokens === null || tokens === undefined ? 'not said' : String(tokens).replace(/\B(?=(\d{3})+$)/g, ' ')
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`
}
