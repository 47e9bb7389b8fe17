// What runs in a container that shares the host's process table (chroot isolation).

import { readdirSync, readFileSync } from 'node:fs'

/** The process below `ancestor` whose command line matches. */
export function descendantRunning(ancestor: number, commandLine: RegExp): number {
  const found = treeOf(ancestor).find(pid => commandLine.test(read(pid, 'cmdline').replaceAll('\0', ' ').trim()))
  if (found === undefined) throw new Error(`nothing runs ${commandLine}`)
  return found
}

/** Ends a process and all below it. */
export function killTree(root: number): void {
  for (const pid of treeOf(root)) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended meanwhile.
    }
  }
}

/** The effective user of a process. */
export function userOf(pid: number): number {
  return Number(/^Uid:\s+\d+\s+(\d+)/m.exec(read(pid, 'status'))?.[1])
}

function treeOf(root: number): number[] {
  return [root, ...childrenOf(root).flatMap(treeOf)]
}

function childrenOf(pid: number): number[] {
  const all = readdirSync('/proc').filter(name => /^\d+$/.test(name)).map(Number)
  return all.filter(candidate => new RegExp(`^PPid:\\s+${pid}$`, 'm').test(read(candidate, 'status')))
}

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return '' // It has ended meanwhile.
  }
}
