import type { Result } from './plan-cell.ts'
export function asMarkdown(results: readonly Result[]): string { return JSON.stringify(results) }
