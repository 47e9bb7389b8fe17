// Loaded before warmfork's main file by the load runs: SIGUSR2 collects garbage, so that memory can be compared.

process.on('SIGUSR2', () => globalThis.gc!())
