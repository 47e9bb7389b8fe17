// The flags and environment variables that set a key. One row each; help is made from this table too.

export interface Flag {
  /** Name without its hyphens. */
  readonly flag: string
  /** A letter that stands for it behind one hyphen. */
  readonly short?: string
  /** The environment variable, where there is one. */
  readonly variable?: string
  /** What stands for the value in the help; a flag without it takes none and means true. */
  readonly placeholder?: string
  readonly help: string
}

export interface Setting extends Flag {
  /** Dotted name of the key that it sets. */
  readonly key: string
}

export const settings: readonly Setting[] = [
  { key: 'upstream.url', flag: 'upstream', variable: 'WARMFORK_UPSTREAM', placeholder: 'url', help: 'the engine, as in http://127.0.0.1:8000' },
  { key: 'server.host', flag: 'host', variable: 'WARMFORK_HOST', placeholder: 'host', help: 'where agents connect to' },
  { key: 'server.port', flag: 'port', variable: 'WARMFORK_PORT', placeholder: 'port', help: 'where agents connect to' },
  { key: 'admin.port', flag: 'admin-port', variable: 'WARMFORK_ADMIN_PORT', placeholder: 'port', help: 'health, metrics and receipts' },
  { key: 'fork.mode', flag: 'fork-mode', variable: 'WARMFORK_FORK_MODE', placeholder: 'mode', help: 'on, off, or observe: plan and log, but send no fork' },
  { key: 'log.level', flag: 'log-level', variable: 'WARMFORK_LOG_LEVEL', placeholder: 'level', help: 'trace, debug, info, warn, error, fatal or silent' },
  { key: 'simulator', flag: 'simulator', help: 'put the built-in engine behind warmfork instead of a real one' },
]

/** Commands that stand in front of the flags; without one warmfork runs. */
export const subcommands = [
  { name: 'agents', operand: null, help: 'list the agents whose summary requests are known' },
  { name: 'classify', operand: 'file', help: 'say for a recorded request what it is taken for, and why' },
] as const

/** Flags that set no key. */
export const commands: readonly Flag[] = [
  { flag: 'config', variable: 'WARMFORK_CONFIG', placeholder: 'file', help: 'configuration file (YAML); config/default.yaml documents every key' },
  { flag: 'print-config', help: 'print what is in force and where each value came from' },
  { flag: 'help', short: 'h', help: 'print this' },
  { flag: 'version', help: 'print the version' },
]
