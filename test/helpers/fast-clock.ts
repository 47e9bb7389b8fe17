// Loaded before a process's own files: its timers run a hundred times as fast, so that minutes can be waited for.

const wait = globalThis.setTimeout

globalThis.setTimeout = Object.assign(
  ((callback: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => wait(callback, ms / 100, ...args)) as typeof wait,
  { __promisify__: wait.__promisify__ },
)
