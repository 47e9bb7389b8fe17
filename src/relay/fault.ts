// What a log line may say about a fault of ours. Never the message: JSON.parse and others quote their input in it.

/**
 * @param error whatever was thrown
 * @returns name, code and the innermost places of the code, without the message
 */
export function faultFields(error: unknown): { fault: string; code: string | undefined; at: string[] } {
  if (!(error instanceof Error)) return { fault: typeof error, code: undefined, at: [] }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
  const places = (error.stack ?? '').split('\n').filter((line) => /^ {4}at /.test(line))
  return { fault: error.name, code, at: places.slice(0, 3).map((line) => line.trim()) }
}
